"""Solar Open: a turn of several messages."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, Tags, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("upstage-Solar-Open-100B",),
    format=ChatFormat(
        reasoning=Tags(open="<|begin|>assistant<|think|>", close="<|end|>"),
        content=Tags(open="<|begin|>assistant<|content|>", close="<|end|>"),
        tools=ToolSyntax(
            call=(
                "<|tool_call:begin|>",
                Slot.ID,
                "<|tool_call:name|>",
                Slot.NAME,
                "<|tool_call:args|>",
                Slot.ARGUMENTS,
                "<|tool_call:end|>",
            ),
            start="<|begin|>assistant<|tool_calls|>",
        ),
        prompted="<|begin|>assistant",
        name="solar",
    ),
    outputs=(
        Output(
            "single call",
            (
                "<|tool_calls|><|tool_call:begin|>abcdef000<|tool_call:name|>"
                'get_weather<|tool_call:args|>{"city": "Paris", "days": 3}'
                "<|tool_call:end|>"
            ),
            calls=(PARIS,),
            ids=("abcdef000",),
        ),
        Output(
            "words before a call",
            (
                "<|content|>Let me look that up.<|end|><|begin|>assistant"
                "<|tool_calls|><|tool_call:begin|>abcdef000<|tool_call:name|>"
                'get_weather<|tool_call:args|>{"city": "Paris", "days": 3}'
                "<|tool_call:end|>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
            ids=("abcdef000",),
        ),
        Output(
            "parallel calls",
            (
                "<|tool_calls|><|tool_call:begin|>abcdef000<|tool_call:name|>"
                'get_weather<|tool_call:args|>{"city": "Paris", "days": 3}'
                "<|tool_call:end|><|tool_call:begin|>abcdef001<|tool_call:name|>"
                "list_files<|tool_call:args|>{}<|tool_call:end|>"
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
            ids=("abcdef000", "abcdef001"),
        ),
        Output(
            "nested values",
            (
                "<|tool_calls|><|tool_call:begin|>abcdef000<|tool_call:name|>search"
                '<|tool_call:args|>{"filter": {"tags": ["a", "b"], "range": {"min": '
                '1.5, "max": null}}, "exact": true}<|tool_call:end|>'
            ),
            calls=(SEARCH,),
            ids=("abcdef000",),
        ),
        Output(
            "unicode",
            (
                "<|tool_calls|><|tool_call:begin|>abcdef000<|tool_call:name|>"
                'write_note<|tool_call:args|>{"title": "São Paulo 🌧️", "text": '
                '"多云，\xa022 °C"}<|tool_call:end|>'
            ),
            calls=(UNICODE,),
            ids=("abcdef000",),
        ),
        Output(
            "quotes",
            (
                "<|tool_calls|><|tool_call:begin|>abcdef000<|tool_call:name|>"
                'write_note<|tool_call:args|>{"title": "It\'s \\"quoted\\" \\\\ '
                'fine", "text": "</div> {x: [1, 2]} ```"}<|tool_call:end|>'
            ),
            calls=(QUOTES,),
            ids=("abcdef000",),
        ),
        Output(
            "newlines",
            (
                "<|tool_calls|><|tool_call:begin|>abcdef000<|tool_call:name|>"
                'write_note<|tool_call:args|>{"title": "code", "text": "def '
                'f(x):\\n\\treturn x\\n\\n\\nprint(f(1))"}<|tool_call:end|>'
            ),
            calls=(NEWLINES,),
            ids=("abcdef000",),
        ),
        Output(
            "thinking before a call",
            (
                "<|think|>The user wants rain.\n\nI call the tool.<|end|><|begin|>"
                "assistant<|tool_calls|><|tool_call:begin|>abcdef000"
                "<|tool_call:name|>get_weather<|tool_call:args|>"
                '{"city": "Paris", "days": 3}<|tool_call:end|>'
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
            ids=("abcdef000",),
        ),
        Output(
            "thinking, then an answer",
            (
                "<|think|>Two and two.<|end|><|begin|>assistant<|content|>"
                'The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.<|end|>'
            ),
            reasoning="Two and two.",
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "thinking without an end",
            "<|think|>The user wants rain.\n\nI call the tool.",
            reasoning="The user wants rain.\n\nI call the tool.",
        ),
        Output(
            "no call",
            '<|content|>The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.<|end|>',
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "markers in an answer",
            (
                "<|content|>Say <|begin|>assistant<|think|> or <|begin|>assistant"
                "<|tool_calls|> to begin.<|end|>"
            ),
            content=(
                "Say <|begin|>assistant<|think|> or <|begin|>assistant<|tool_calls|>"
                " to begin."
            ),
        ),
        Output(
            "cut off in a call",
            (
                "<|tool_calls|><|tool_call:begin|>abcdef000<|tool_call:name|>"
                'get_weather<|tool_call:args|>{"city": "Par'
            ),
            content=(
                "<|tool_calls|><|tool_call:begin|>abcdef000<|tool_call:name|>"
                'get_weather<|tool_call:args|>{"city": "Par'
            ),
        ),
        Output(
            "broken call",
            (
                "<|tool_calls|><|tool_call:begin|>abcdef000<|tool_call:name|>get\n\n"
                "No, never mind."
            ),
            content=(
                "<|tool_calls|><|tool_call:begin|>abcdef000<|tool_call:name|>get\n\n"
                "No, never mind."
            ),
        ),
        Output(
            "empty thinking",
            (
                "<|think|><|end|><|begin|>assistant<|tool_calls|><|tool_call:begin|>"
                "abcdef000<|tool_call:name|>get_weather<|tool_call:args|>"
                '{"city": "Paris", "days": 3}<|tool_call:end|>'
            ),
            calls=(PARIS,),
            ids=("abcdef000",),
        ),
    ),
)
