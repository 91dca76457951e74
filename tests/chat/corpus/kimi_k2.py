"""Kimi K2: ids made of the name and a number."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, Tags, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("Kimi-K2-Thinking",),
    format=ChatFormat(
        reasoning=Tags(open="<think>", close="</think>"),
        tools=ToolSyntax(
            call=(
                "<|tool_call_begin|>functions.",
                Slot.NAME,
                ":",
                Slot.INDEX,
                "<|tool_call_argument_begin|>",
                Slot.ARGUMENTS,
                "<|tool_call_end|>",
            ),
            start="<|tool_calls_section_begin|>",
            end="<|tool_calls_section_end|>",
        ),
        name="kimi-k2",
    ),
    outputs=(
        Output(
            "single call",
            (
                "<|tool_calls_section_begin|><|tool_call_begin|>"
                "functions.get_weather:0<|tool_call_argument_begin|>"
                '{"city": "Paris", "days": 3}<|tool_call_end|>'
                "<|tool_calls_section_end|>"
            ),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                "Let me look that up.<|tool_calls_section_begin|><|tool_call_begin|>"
                "functions.get_weather:0<|tool_call_argument_begin|>"
                '{"city": "Paris", "days": 3}<|tool_call_end|>'
                "<|tool_calls_section_end|>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                "<|tool_calls_section_begin|><|tool_call_begin|>"
                "functions.get_weather:0<|tool_call_argument_begin|>"
                '{"city": "Paris", "days": 3}<|tool_call_end|><|tool_call_begin|>'
                "functions.list_files:1<|tool_call_argument_begin|>{}"
                "<|tool_call_end|><|tool_calls_section_end|>"
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                "<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0"
                '<|tool_call_argument_begin|>{"filter": {"tags": ["a", "b"], '
                '"range": {"min": 1.5, "max": null}}, "exact": true}<|tool_call_end|>'
                "<|tool_calls_section_end|>"
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                "<|tool_calls_section_begin|><|tool_call_begin|>"
                "functions.write_note:0<|tool_call_argument_begin|>"
                '{"title": "São Paulo 🌧️", "text": "多云，\xa022 °C"}'
                "<|tool_call_end|><|tool_calls_section_end|>"
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                "<|tool_calls_section_begin|><|tool_call_begin|>"
                "functions.write_note:0<|tool_call_argument_begin|>"
                '{"title": "It\'s \\"quoted\\" \\\\ fine", "text": "</div>'
                ' {x: [1, 2]} ```"}<|tool_call_end|><|tool_calls_section_end|>'
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                "<|tool_calls_section_begin|><|tool_call_begin|>"
                "functions.write_note:0<|tool_call_argument_begin|>"
                '{"title": "code", "text": "def f(x):\\n\\treturn '
                'x\\n\\n\\nprint(f(1))"}<|tool_call_end|><|tool_calls_section_end|>'
            ),
            calls=(NEWLINES,),
        ),
        Output(
            "thinking before a call",
            (
                "<think>The user wants rain.\n\nI call the tool.</think>"
                "<|tool_calls_section_begin|><|tool_call_begin|>"
                "functions.get_weather:0<|tool_call_argument_begin|>"
                '{"city": "Paris", "days": 3}<|tool_call_end|>'
                "<|tool_calls_section_end|>"
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
        ),
        Output(
            "thinking, then an answer",
            (
                "<think>Two and two.</think>The sum is **4**.\n\nIf a "
                '< b && {"x": [1]}, fine.'
            ),
            reasoning="Two and two.",
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "thinking without an end",
            "<think>The user wants rain.\n\nI call the tool.",
            reasoning="The user wants rain.\n\nI call the tool.",
        ),
        Output(
            "no call",
            'The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "markers in an answer",
            "Say <think> or <|tool_calls_section_begin|> to begin.",
            content="Say <think> or <|tool_calls_section_begin|> to begin.",
        ),
        Output(
            "cut off in a call",
            (
                "<|tool_calls_section_begin|><|tool_call_begin|>"
                'functions.get_weather:0<|tool_call_argument_begin|>{"city": "Par'
            ),
            content=(
                "<|tool_calls_section_begin|><|tool_call_begin|>"
                'functions.get_weather:0<|tool_call_argument_begin|>{"city": "Par'
            ),
        ),
        Output(
            "broken call",
            (
                "<|tool_calls_section_begin|><|tool_call_begin|>functions.get\n\n"
                "No, never mind."
            ),
            content=(
                "<|tool_calls_section_begin|><|tool_call_begin|>functions.get\n\n"
                "No, never mind."
            ),
        ),
        Output(
            "empty thinking",
            (
                "<think></think><|tool_calls_section_begin|><|tool_call_begin|>"
                "functions.get_weather:0<|tool_call_argument_begin|>"
                '{"city": "Paris", "days": 3}<|tool_call_end|>'
                "<|tool_calls_section_end|>"
            ),
            calls=(PARIS,),
        ),
        Output(
            "words behind a call",
            (
                "<|tool_calls_section_begin|><|tool_call_begin|>"
                "functions.get_weather:0<|tool_call_argument_begin|>"
                '{"city": "Paris", "days": 3}<|tool_call_end|>'
                "<|tool_calls_section_end|>\nDone."
            ),
            content="Done.",
            calls=(PARIS,),
        ),
    ),
)
