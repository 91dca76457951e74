"""GPT-OSS: a turn of several messages, each in a channel."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, Tags, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("openai-gpt-oss-120b",),
    format=ChatFormat(
        reasoning=Tags(
            open="<|start|>assistant<|channel|>analysis<|message|>", close="<|end|>"
        ),
        content=Tags(
            open="<|start|>assistant<|channel|>final<|message|>", close="<|end|>"
        ),
        tools=ToolSyntax(
            call=(
                "<|start|>assistant<|channel|>commentary to=functions.",
                Slot.NAME,
                "<|message|>",
                Slot.ARGUMENTS,
            ),
            separator="<|end|>",
        ),
        prompted="<|start|>assistant",
        aliases=(
            (
                "<|start|>assistant to=functions.",
                "<|start|>assistant<|channel|>commentary to=functions.",
            ),
            (
                "<|start|>assistant<|channel|>analysis to=functions.",
                "<|start|>assistant<|channel|>commentary to=functions.",
            ),
            (
                " <|constrain|>json<|message|>",
                "<|message|>",
            ),
            (
                "<|constrain|>json<|message|>",
                "<|message|>",
            ),
            (
                "<|channel|>commentary json<|message|>",
                "<|message|>",
            ),
            (
                "<|channel|>commentary <|constrain|>json<|message|>",
                "<|message|>",
            ),
            (
                "<|channel|>commentary <|constrain|> json<|message|>",
                "<|message|>",
            ),
            (
                "<|start|>assistant<|channel|>commentary<|message|>",
                "<|start|>assistant<|channel|>final<|message|>",
            ),
        ),
        name="gpt-oss",
    ),
    outputs=(
        Output(
            "single call",
            (
                "<|channel|>commentary to=functions.get_weather <|constrain|>json"
                '<|message|>{"city": "Paris", "days": 3}'
            ),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                "<|channel|>final<|message|>Let me look that up.<|end|><|start|>"
                "assistant<|channel|>commentary to=functions.get_weather "
                '<|constrain|>json<|message|>{"city": "Paris", "days": 3}'
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                "<|channel|>commentary to=functions.get_weather <|constrain|>json"
                '<|message|>{"city": "Paris", "days": 3}<|end|><|start|>assistant'
                "<|channel|>commentary to=functions.list_files <|constrain|>json"
                "<|message|>{}"
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                "<|channel|>commentary to=functions.search <|constrain|>json"
                '<|message|>{"filter": {"tags": ["a", "b"], "range": {"min": 1.5, '
                '"max": null}}, "exact": true}'
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                "<|channel|>commentary to=functions.write_note <|constrain|>json"
                '<|message|>{"title": "São Paulo 🌧️", "text": "多云，\xa022 °C"}'
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                "<|channel|>commentary to=functions.write_note <|constrain|>json"
                '<|message|>{"title": "It\'s \\"quoted\\" \\\\ fine", "text": "</div>'
                ' {x: [1, 2]} ```"}'
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                "<|channel|>commentary to=functions.write_note <|constrain|>json"
                '<|message|>{"title": "code", "text": "def f(x):\\n\\treturn '
                'x\\n\\n\\nprint(f(1))"}'
            ),
            calls=(NEWLINES,),
        ),
        Output(
            "thinking before a call",
            (
                "<|channel|>analysis<|message|>The user wants rain.\n\n"
                "I call the tool.<|end|><|start|>assistant<|channel|>"
                "commentary to=functions.get_weather <|constrain|>json<|message|>"
                '{"city": "Paris", "days": 3}'
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
        ),
        Output(
            "thinking, then an answer",
            (
                "<|channel|>analysis<|message|>Two and two.<|end|><|start|>assistant"
                "<|channel|>final<|message|>The sum is **4**.\n\nIf a "
                '< b && {"x": [1]}, fine.<|end|>'
            ),
            reasoning="Two and two.",
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "thinking without an end",
            ("<|channel|>analysis<|message|>The user wants rain.\n\nI call the tool."),
            reasoning="The user wants rain.\n\nI call the tool.",
        ),
        Output(
            "no call",
            (
                "<|channel|>final<|message|>The sum is **4**.\n\nIf a "
                '< b && {"x": [1]}, fine.<|end|>'
            ),
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "markers in an answer",
            (
                "<|channel|>final<|message|>Say <|start|>assistant<|channel|>analysis"
                "<|message|> or <|start|>assistant<|channel|>commentary to begin."
                "<|end|>"
            ),
            content=(
                "Say <|start|>assistant<|channel|>analysis<|message|> or <|start|>"
                "assistant<|channel|>commentary to begin."
            ),
        ),
        Output(
            "cut off in a call",
            (
                "<|channel|>commentary to=functions.get_weather <|constrain|>json"
                '<|message|>{"city": "Par'
            ),
            content=(
                "<|channel|>commentary to=functions.get_weather <|constrain|>json"
                '<|message|>{"city": "Par'
            ),
        ),
        Output(
            "broken call",
            "<|channel|>commentary to=functions.get\n\nNo, never mind.",
            content="<|channel|>commentary to=functions.get\n\nNo, never mind.",
        ),
        Output(
            "empty thinking",
            (
                "<|channel|>analysis<|message|><|end|><|start|>assistant<|channel|>"
                "commentary to=functions.get_weather <|constrain|>json<|message|>"
                '{"city": "Paris", "days": 3}'
            ),
            calls=(PARIS,),
        ),
        Output(
            "recipient behind the role",
            (
                " to=functions.get_weather<|channel|>commentary json<|message|>"
                '{"city": "Paris", "days": 3}'
            ),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                "<|channel|>analysis<|message|>Rain.<|end|><|start|>assistant"
                "<|channel|>commentary<|message|>I look it up.<|end|><|start|>"
                "assistant<|channel|>commentary to=functions.get_weather<|message|>"
                '{"city": "Paris", "days": 3}'
            ),
            reasoning="Rain.",
            content="I look it up.",
            calls=(PARIS,),
        ),
        Output(
            "thinking in two messages",
            (
                "<|channel|>analysis<|message|>First.<|end|><|start|>assistant"
                "<|channel|>analysis<|message|>Second.<|end|><|start|>assistant"
                "<|channel|>final<|message|>Four."
            ),
            reasoning="First.Second.",
            content="Four.",
        ),
        Output(
            "answer behind a call",
            (
                "<|channel|>commentary to=functions.get_weather <|constrain|>json"
                '<|message|>{"city": "Paris", "days": 3}<|end|><|start|>assistant'
                "<|channel|>final<|message|>Done.<|end|>"
            ),
            content="Done.",
            calls=(PARIS,),
        ),
    ),
)
