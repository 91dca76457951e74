"""Kimi K3: markers are a word between two tokens; tags say the types."""

from __future__ import annotations

from llamactypes.chat.output.format import (
    ArgumentForm,
    ChatFormat,
    Slot,
    TaggedArguments,
    Tags,
    ToolSyntax,
)
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("Kimi-K3",),
    format=ChatFormat(
        reasoning=Tags(open="<|open|>think<|sep|>", close="<|close|>think<|sep|>"),
        content=Tags(open="<|open|>response<|sep|>", close="<|close|>response<|sep|>"),
        tools=ToolSyntax(
            call=(
                '<|open|>call tool="',
                Slot.NAME,
                '" index="',
                Slot.INDEX,
                '"<|sep|>',
                Slot.ARGUMENTS,
                "<|close|>call<|sep|>",
            ),
            arguments=ArgumentForm.TAGGED,
            start="<|open|>tools<|sep|>",
            end="<|close|>tools<|sep|>",
            tagged=TaggedArguments(
                before_key='<|open|>argument key="',
                after_key='" type="string"<|sep|>',
                after_value="<|close|>argument<|sep|>",
                after_key_by_type=(
                    (
                        "integer",
                        '" type="number"<|sep|>',
                    ),
                    (
                        "number",
                        '" type="number"<|sep|>',
                    ),
                    (
                        "boolean",
                        '" type="boolean"<|sep|>',
                    ),
                    (
                        "object",
                        '" type="object"<|sep|>',
                    ),
                    (
                        "array",
                        '" type="array"<|sep|>',
                    ),
                    (
                        "null",
                        '" type="null"<|sep|>',
                    ),
                ),
            ),
        ),
        name="kimi-k3",
    ),
    outputs=(
        Output(
            "single call",
            (
                "<|close|>think<|sep|><|open|>tools<|sep|><|open|>"
                'call tool="get_weather" index="1"<|sep|><|open|>'
                'argument key="city" type="string"<|sep|>Paris<|close|>argument'
                '<|sep|><|open|>argument key="days" type="number"<|sep|>3<|close|>'
                "argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
            ),
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "words before a call",
            (
                "<|close|>think<|sep|><|open|>response<|sep|>Let me look that up."
                "<|close|>response<|sep|><|open|>tools<|sep|><|open|>"
                'call tool="get_weather" index="1"<|sep|><|open|>'
                'argument key="city" type="string"<|sep|>Paris<|close|>argument'
                '<|sep|><|open|>argument key="days" type="number"<|sep|>3<|close|>'
                "argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "parallel calls",
            (
                "<|close|>think<|sep|><|open|>tools<|sep|><|open|>"
                'call tool="get_weather" index="1"<|sep|><|open|>'
                'argument key="city" type="string"<|sep|>Paris<|close|>argument'
                '<|sep|><|open|>argument key="days" type="number"<|sep|>3<|close|>'
                "argument<|sep|><|close|>call<|sep|><|open|>"
                'call tool="list_files" index="2"<|sep|><|close|>call<|sep|><|close|>'
                "tools<|sep|>"
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
            in_reasoning=True,
        ),
        Output(
            "nested values",
            (
                "<|close|>think<|sep|><|open|>tools<|sep|><|open|>"
                'call tool="search" index="1"<|sep|><|open|>'
                'argument key="filter" type="object"<|sep|>'
                '{"tags": ["a", "b"], "range": {"min": 1.5, "max": null}}<|close|>'
                'argument<|sep|><|open|>argument key="exact" type="boolean"<|sep|>'
                "true<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools"
                "<|sep|>"
            ),
            calls=(SEARCH,),
            in_reasoning=True,
        ),
        Output(
            "unicode",
            (
                "<|close|>think<|sep|><|open|>tools<|sep|><|open|>"
                'call tool="write_note" index="1"<|sep|><|open|>'
                'argument key="title" type="string"<|sep|>São Paulo 🌧️<|close|>'
                'argument<|sep|><|open|>argument key="text" type="string"<|sep|>'
                "多云，\xa022 °C<|close|>argument<|sep|><|close|>call<|sep|><|close|>"
                "tools<|sep|>"
            ),
            calls=(UNICODE,),
            in_reasoning=True,
        ),
        Output(
            "quotes",
            (
                "<|close|>think<|sep|><|open|>tools<|sep|><|open|>"
                'call tool="write_note" index="1"<|sep|><|open|>'
                'argument key="title" type="string"<|sep|>It\'s "quoted" \\ fine'
                '<|close|>argument<|sep|><|open|>argument key="text" type="string"'
                "<|sep|></div> {x: [1, 2]} ```<|close|>argument<|sep|><|close|>call"
                "<|sep|><|close|>tools<|sep|>"
            ),
            calls=(QUOTES,),
            in_reasoning=True,
        ),
        Output(
            "newlines",
            (
                "<|close|>think<|sep|><|open|>tools<|sep|><|open|>"
                'call tool="write_note" index="1"<|sep|><|open|>'
                'argument key="title" type="string"<|sep|>code<|close|>argument'
                '<|sep|><|open|>argument key="text" type="string"<|sep|>def f(x):\n'
                "\treturn x\n\n\nprint(f(1))<|close|>argument<|sep|><|close|>call"
                "<|sep|><|close|>tools<|sep|>"
            ),
            calls=(NEWLINES,),
            in_reasoning=True,
        ),
        Output(
            "thinking before a call",
            (
                "The user wants rain.\n\nI call the tool.<|close|>think<|sep|>"
                '<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|>'
                '<|open|>argument key="city" type="string"<|sep|>Paris<|close|>'
                'argument<|sep|><|open|>argument key="days" type="number"<|sep|>3'
                "<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "thinking, then an answer",
            (
                "Two and two.<|close|>think<|sep|><|open|>response<|sep|>"
                'The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.<|close|>response'
                "<|sep|>"
            ),
            reasoning="Two and two.",
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            in_reasoning=True,
        ),
        Output(
            "thinking without an end",
            "The user wants rain.\n\nI call the tool.",
            reasoning="The user wants rain.\n\nI call the tool.",
            in_reasoning=True,
        ),
        Output(
            "no call",
            (
                "<|close|>think<|sep|><|open|>response<|sep|>The sum is **4**.\n\n"
                'If a < b && {"x": [1]}, fine.<|close|>response<|sep|>'
            ),
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            in_reasoning=True,
        ),
        Output(
            "markers in an answer",
            (
                "<|close|>think<|sep|><|open|>response<|sep|>Say <|open|>think<|sep|>"
                " or <|open|>tools<|sep|> to begin.<|close|>response<|sep|>"
            ),
            content="Say <|open|>think<|sep|> or <|open|>tools<|sep|> to begin.",
            in_reasoning=True,
        ),
        Output(
            "cut off in a call",
            (
                "<|close|>think<|sep|><|open|>tools<|sep|><|open|>"
                'call tool="get_weather" index="1"<|sep|><|open|>'
                'argument key="city" type="string"<|sep|>Par'
            ),
            content=(
                '<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|>'
                '<|open|>argument key="city" type="string"<|sep|>Par'
            ),
            in_reasoning=True,
        ),
        Output(
            "broken call",
            (
                '<|close|>think<|sep|><|open|>tools<|sep|><|open|>call tool="get\n\n'
                "No, never mind."
            ),
            content='<|open|>tools<|sep|><|open|>call tool="get\n\nNo, never mind.',
            in_reasoning=True,
        ),
        Output(
            "empty answer",
            (
                "Look.<|close|>think<|sep|><|open|>response<|sep|><|close|>response"
                '<|sep|><|open|>tools<|sep|><|open|>call tool="list_files" index="1"'
                "<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
            ),
            reasoning="Look.",
            calls=(LIST_FILES,),
            in_reasoning=True,
        ),
    ),
)
