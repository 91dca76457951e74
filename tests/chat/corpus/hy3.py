"""Hunyuan 3."""

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
    templates=("tencent-Hy3",),
    format=ChatFormat(
        reasoning=Tags(open="<think:opensource>", close="</think:opensource>"),
        tools=ToolSyntax(
            call=(
                "<tool_call:opensource>",
                Slot.NAME,
                "<tool_sep:opensource>",
                Slot.ARGUMENTS,
                "\n</tool_call:opensource>",
            ),
            arguments=ArgumentForm.TAGGED,
            start="<tool_calls:opensource>",
            end="</tool_calls:opensource>",
            tagged=TaggedArguments(
                before_key="\n<arg_key:opensource>",
                after_key="</arg_key:opensource>\n<arg_value:opensource>",
                after_value="</arg_value:opensource>",
            ),
        ),
        name="learned",
    ),
    outputs=(
        Output(
            "single call",
            (
                "<tool_calls:opensource>\n<tool_call:opensource>get_weather"
                "<tool_sep:opensource>\n<arg_key:opensource>city</arg_key:opensource>"
                "\n<arg_value:opensource>Paris</arg_value:opensource>\n"
                "<arg_key:opensource>days</arg_key:opensource>\n"
                "<arg_value:opensource>3</arg_value:opensource>\n"
                "</tool_call:opensource>\n</tool_calls:opensource>"
            ),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                "Let me look that up.<tool_calls:opensource>\n<tool_call:opensource>"
                "get_weather<tool_sep:opensource>\n<arg_key:opensource>city"
                "</arg_key:opensource>\n<arg_value:opensource>Paris"
                "</arg_value:opensource>\n<arg_key:opensource>days"
                "</arg_key:opensource>\n<arg_value:opensource>3"
                "</arg_value:opensource>\n</tool_call:opensource>\n"
                "</tool_calls:opensource>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                "<tool_calls:opensource>\n<tool_call:opensource>get_weather"
                "<tool_sep:opensource>\n<arg_key:opensource>city</arg_key:opensource>"
                "\n<arg_value:opensource>Paris</arg_value:opensource>\n"
                "<arg_key:opensource>days</arg_key:opensource>\n"
                "<arg_value:opensource>3</arg_value:opensource>\n"
                "</tool_call:opensource>\n<tool_call:opensource>list_files"
                "<tool_sep:opensource>\n</tool_call:opensource>\n"
                "</tool_calls:opensource>"
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                "<tool_calls:opensource>\n<tool_call:opensource>search"
                "<tool_sep:opensource>\n<arg_key:opensource>filter"
                "</arg_key:opensource>\n<arg_value:opensource>"
                '{"tags": ["a", "b"], "range": {"min": 1.5, "max": null}}'
                "</arg_value:opensource>\n<arg_key:opensource>exact"
                "</arg_key:opensource>\n<arg_value:opensource>true"
                "</arg_value:opensource>\n</tool_call:opensource>\n"
                "</tool_calls:opensource>"
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                "<tool_calls:opensource>\n<tool_call:opensource>write_note"
                "<tool_sep:opensource>\n<arg_key:opensource>title"
                "</arg_key:opensource>\n<arg_value:opensource>São Paulo 🌧️"
                "</arg_value:opensource>\n<arg_key:opensource>text"
                "</arg_key:opensource>\n<arg_value:opensource>多云，\xa022 °C"
                "</arg_value:opensource>\n</tool_call:opensource>\n"
                "</tool_calls:opensource>"
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                "<tool_calls:opensource>\n<tool_call:opensource>write_note"
                "<tool_sep:opensource>\n<arg_key:opensource>title"
                '</arg_key:opensource>\n<arg_value:opensource>It\'s "quoted" \\ fine'
                "</arg_value:opensource>\n<arg_key:opensource>text"
                "</arg_key:opensource>\n<arg_value:opensource></div> {x: [1, 2]} ```"
                "</arg_value:opensource>\n</tool_call:opensource>\n"
                "</tool_calls:opensource>"
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                "<tool_calls:opensource>\n<tool_call:opensource>write_note"
                "<tool_sep:opensource>\n<arg_key:opensource>title"
                "</arg_key:opensource>\n<arg_value:opensource>code"
                "</arg_value:opensource>\n<arg_key:opensource>text"
                "</arg_key:opensource>\n<arg_value:opensource>def f(x):\n\treturn x\n"
                "\n\nprint(f(1))</arg_value:opensource>\n</tool_call:opensource>\n"
                "</tool_calls:opensource>"
            ),
            calls=(NEWLINES,),
        ),
        Output(
            "thinking before a call",
            (
                "<think:opensource>The user wants rain.\n\nI call the tool."
                "</think:opensource><tool_calls:opensource>\n<tool_call:opensource>"
                "get_weather<tool_sep:opensource>\n<arg_key:opensource>city"
                "</arg_key:opensource>\n<arg_value:opensource>Paris"
                "</arg_value:opensource>\n<arg_key:opensource>days"
                "</arg_key:opensource>\n<arg_value:opensource>3"
                "</arg_value:opensource>\n</tool_call:opensource>\n"
                "</tool_calls:opensource>"
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
        ),
        Output(
            "thinking, then an answer",
            (
                "<think:opensource>Two and two.</think:opensource>The sum is **4**.\n"
                '\nIf a < b && {"x": [1]}, fine.'
            ),
            reasoning="Two and two.",
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "thinking without an end",
            "<think:opensource>The user wants rain.\n\nI call the tool.",
            reasoning="The user wants rain.\n\nI call the tool.",
        ),
        Output(
            "no call",
            'The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "markers in an answer",
            "Say <think:opensource> or <tool_calls:opensource> to begin.",
            content="Say <think:opensource> or <tool_calls:opensource> to begin.",
        ),
        Output(
            "cut off in a call",
            (
                "<tool_calls:opensource>\n<tool_call:opensource>get_weather"
                "<tool_sep:opensource>\n<arg_key:opensource>city</arg_key:opensource>"
                "\n<arg_value:opensource>Par"
            ),
            content=(
                "<tool_calls:opensource>\n<tool_call:opensource>get_weather"
                "<tool_sep:opensource>\n<arg_key:opensource>city</arg_key:opensource>"
                "\n<arg_value:opensource>Par"
            ),
        ),
        Output(
            "broken call",
            ("<tool_calls:opensource>\n<tool_call:opensource>get\n\nNo, never mind."),
            content=(
                "<tool_calls:opensource>\n<tool_call:opensource>get\n\nNo, never mind."
            ),
        ),
        Output(
            "empty thinking",
            (
                "<think:opensource></think:opensource><tool_calls:opensource>\n"
                "<tool_call:opensource>get_weather<tool_sep:opensource>\n"
                "<arg_key:opensource>city</arg_key:opensource>\n"
                "<arg_value:opensource>Paris</arg_value:opensource>\n"
                "<arg_key:opensource>days</arg_key:opensource>\n"
                "<arg_value:opensource>3</arg_value:opensource>\n"
                "</tool_call:opensource>\n</tool_calls:opensource>"
            ),
            calls=(PARIS,),
        ),
        Output(
            "words behind a call",
            (
                "<tool_calls:opensource>\n<tool_call:opensource>get_weather"
                "<tool_sep:opensource>\n<arg_key:opensource>city</arg_key:opensource>"
                "\n<arg_value:opensource>Paris</arg_value:opensource>\n"
                "<arg_key:opensource>days</arg_key:opensource>\n"
                "<arg_value:opensource>3</arg_value:opensource>\n"
                "</tool_call:opensource>\n</tool_calls:opensource>\nDone."
            ),
            content="Done.",
            calls=(PARIS,),
        ),
    ),
)
