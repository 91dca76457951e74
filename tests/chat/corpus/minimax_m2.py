"""MiniMax M2: thinks between its calls."""

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
    templates=("MiniMax-M2",),
    format=ChatFormat(
        reasoning=Tags(open="<think>", close="</think>"),
        tools=ToolSyntax(
            call=(
                '<invoke name="',
                Slot.NAME,
                '">',
                Slot.ARGUMENTS,
                "\n</invoke>",
            ),
            arguments=ArgumentForm.TAGGED,
            start="<minimax:tool_call>",
            end="</minimax:tool_call>",
            tagged=TaggedArguments(
                before_key='\n<parameter name="',
                after_key='">',
                after_value="</parameter>",
            ),
        ),
        name="learned",
    ),
    outputs=(
        Output(
            "single call",
            (
                '\n</think>\n\n<minimax:tool_call>\n<invoke name="get_weather">\n'
                '<parameter name="city">Paris</parameter>\n<parameter name="days">3'
                "</parameter>\n</invoke>\n</minimax:tool_call>"
            ),
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "words before a call",
            (
                "\n</think>\n\nLet me look that up.\n<minimax:tool_call>\n"
                '<invoke name="get_weather">\n<parameter name="city">Paris'
                '</parameter>\n<parameter name="days">3</parameter>\n</invoke>\n'
                "</minimax:tool_call>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "parallel calls",
            (
                '\n</think>\n\n<minimax:tool_call>\n<invoke name="get_weather">\n'
                '<parameter name="city">Paris</parameter>\n<parameter name="days">3'
                '</parameter>\n</invoke>\n<invoke name="list_files">\n</invoke>\n'
                "</minimax:tool_call>"
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
                '\n</think>\n\n<minimax:tool_call>\n<invoke name="search">\n'
                '<parameter name="filter">{"tags": ["a", "b"], "range": {"min": 1.5, '
                '"max": null}}</parameter>\n<parameter name="exact">true</parameter>'
                "\n</invoke>\n</minimax:tool_call>"
            ),
            calls=(SEARCH,),
            in_reasoning=True,
        ),
        Output(
            "unicode",
            (
                '\n</think>\n\n<minimax:tool_call>\n<invoke name="write_note">\n'
                '<parameter name="title">São Paulo 🌧️</parameter>\n'
                '<parameter name="text">多云，\xa022 °C</parameter>\n</invoke>\n'
                "</minimax:tool_call>"
            ),
            calls=(UNICODE,),
            in_reasoning=True,
        ),
        Output(
            "quotes",
            (
                '\n</think>\n\n<minimax:tool_call>\n<invoke name="write_note">\n'
                '<parameter name="title">It\'s "quoted" \\ fine</parameter>\n'
                '<parameter name="text"></div> {x: [1, 2]} ```</parameter>\n</invoke>'
                "\n</minimax:tool_call>"
            ),
            calls=(QUOTES,),
            in_reasoning=True,
        ),
        Output(
            "newlines",
            (
                '\n</think>\n\n<minimax:tool_call>\n<invoke name="write_note">\n'
                '<parameter name="title">code</parameter>\n<parameter name="text">'
                "def f(x):\n\treturn x\n\n\nprint(f(1))</parameter>\n</invoke>\n"
                "</minimax:tool_call>"
            ),
            calls=(NEWLINES,),
            in_reasoning=True,
        ),
        Output(
            "thinking before a call",
            (
                "The user wants rain.\n\nI call the tool.\n</think>\n\n"
                '<minimax:tool_call>\n<invoke name="get_weather">\n'
                '<parameter name="city">Paris</parameter>\n<parameter name="days">3'
                "</parameter>\n</invoke>\n</minimax:tool_call>"
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
            "\n</think>\n\nSay <think> or <minimax:tool_call> to begin.",
            content="Say <think> or <minimax:tool_call> to begin.",
            in_reasoning=True,
        ),
        Output(
            "cut off in a call",
            (
                '\n</think>\n\n<minimax:tool_call>\n<invoke name="get_weather">\n'
                '<parameter name="city">Par'
            ),
            content=(
                '<minimax:tool_call>\n<invoke name="get_weather">\n'
                '<parameter name="city">Par'
            ),
            in_reasoning=True,
        ),
        Output(
            "broken call",
            ('\n</think>\n\n<minimax:tool_call>\n<invoke name="get\n\nNo, never mind.'),
            content='<minimax:tool_call>\n<invoke name="get\n\nNo, never mind.',
            in_reasoning=True,
        ),
        Output(
            "words behind a call",
            (
                '\n</think>\n\n<minimax:tool_call>\n<invoke name="get_weather">\n'
                '<parameter name="city">Paris</parameter>\n<parameter name="days">3'
                "</parameter>\n</invoke>\n</minimax:tool_call>\nDone."
            ),
            content="Done.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "thinking again between calls",
            (
                'First.\n</think>\n\n<minimax:tool_call>\n<invoke name="list_files">'
                "\n</invoke>\n</minimax:tool_call>\n<think>\nSecond.\n</think>\n"
                '<minimax:tool_call>\n<invoke name="get_weather">\n'
                '<parameter name="city">Paris</parameter>\n<parameter name="days">3'
                "</parameter>\n</invoke>\n</minimax:tool_call>"
            ),
            reasoning="First.Second.",
            calls=(
                LIST_FILES,
                PARIS,
            ),
            in_reasoning=True,
        ),
    ),
)
