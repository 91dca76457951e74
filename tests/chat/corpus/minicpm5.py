"""MiniCPM 5."""

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
    templates=("openbmb-MiniCPM5-1B",),
    format=ChatFormat(
        reasoning=Tags(open="<think>", close="</think>"),
        tools=ToolSyntax(
            call=(
                '<function name="',
                Slot.NAME,
                '">',
                Slot.ARGUMENTS,
                "</function>",
            ),
            arguments=ArgumentForm.TAGGED,
            tagged=TaggedArguments(
                before_key='<param name="', after_key='">', after_value="</param>"
            ),
        ),
        name="learned",
    ),
    outputs=(
        Output(
            "single call",
            (
                '\n</think>\n\n<function name="get_weather"><param name="city">Paris'
                '</param><param name="days">3</param></function>'
            ),
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "words before a call",
            (
                '\n</think>\n\nLet me look that up.\n<function name="get_weather">'
                '<param name="city">Paris</param><param name="days">3</param>'
                "</function>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "parallel calls",
            (
                '\n</think>\n\n<function name="get_weather"><param name="city">Paris'
                '</param><param name="days">3</param></function>\n'
                '<function name="list_files"></function>'
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
                '\n</think>\n\n<function name="search"><param name="filter">'
                '{"tags": ["a", "b"], "range": {"min": 1.5, "max": null}}</param>'
                '<param name="exact">true</param></function>'
            ),
            calls=(SEARCH,),
            in_reasoning=True,
        ),
        Output(
            "unicode",
            (
                '\n</think>\n\n<function name="write_note"><param name="title">'
                'São Paulo 🌧️</param><param name="text">多云，\xa022 °C</param>'
                "</function>"
            ),
            calls=(UNICODE,),
            in_reasoning=True,
        ),
        Output(
            "quotes",
            (
                '\n</think>\n\n<function name="write_note"><param name="title">'
                'It\'s "quoted" \\ fine</param><param name="text"></div>'
                " {x: [1, 2]} ```</param></function>"
            ),
            calls=(QUOTES,),
            in_reasoning=True,
        ),
        Output(
            "newlines",
            (
                '\n</think>\n\n<function name="write_note"><param name="title">code'
                '</param><param name="text">def f(x):\n\treturn x\n\n\nprint(f(1))'
                "</param></function>"
            ),
            calls=(NEWLINES,),
            in_reasoning=True,
        ),
        Output(
            "thinking before a call",
            (
                "The user wants rain.\n\nI call the tool.\n</think>\n\n"
                '<function name="get_weather"><param name="city">Paris</param>'
                '<param name="days">3</param></function>'
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "thinking, then an answer",
            (
                "Two and two.\n</think>\n\nThe sum is **4**.\n\nIf a "
                '< b && {"x": [1]}, fine.'
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
            '\n</think>\n\nThe sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            in_reasoning=True,
        ),
        Output(
            "markers in an answer",
            "\n</think>\n\nSay <think> or <function to begin.",
            content="Say <think> or <function to begin.",
            in_reasoning=True,
        ),
        Output(
            "cut off in a call",
            '\n</think>\n\n<function name="get_weather"><param name="city">Par',
            content='<function name="get_weather"><param name="city">Par',
            in_reasoning=True,
        ),
        Output(
            "broken call",
            '\n</think>\n\n<function name="get\n\nNo, never mind.',
            content='<function name="get\n\nNo, never mind.',
            in_reasoning=True,
        ),
        Output(
            "words behind a call",
            (
                '\n</think>\n\n<function name="get_weather"><param name="city">Paris'
                '</param><param name="days">3</param></function>\nDone.'
            ),
            content="Done.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
    ),
)
