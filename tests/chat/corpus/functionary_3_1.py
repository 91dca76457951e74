"""Functionary 3.1."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("meetkai-functionary-medium-v3.1",),
    format=ChatFormat(
        tools=ToolSyntax(
            call=(
                "<function=",
                Slot.NAME,
                ">",
                Slot.ARGUMENTS,
                "</function>",
            )
        ),
        name="learned",
    ),
    outputs=(
        Output(
            "single call",
            '<function=get_weather>{"city": "Paris", "days": 3}</function>',
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                "Let me look that up.<function=get_weather>"
                '{"city": "Paris", "days": 3}</function>'
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                '<function=get_weather>{"city": "Paris", "days": 3}</function>'
                "<function=list_files>{}</function>"
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                '<function=search>{"filter": {"tags": ["a", "b"], "range": {"min": '
                '1.5, "max": null}}, "exact": true}</function>'
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                '<function=write_note>{"title": "São Paulo 🌧️", "text": '
                '"多云，\xa022 °C"}</function>'
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                '<function=write_note>{"title": "It\'s \\"quoted\\" \\\\ fine", '
                '"text": "</div> {x: [1, 2]} ```"}</function>'
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                '<function=write_note>{"title": "code", "text": "def '
                'f(x):\\n\\treturn x\\n\\n\\nprint(f(1))"}</function>'
            ),
            calls=(NEWLINES,),
        ),
        Output(
            "no call",
            'The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "markers in an answer",
            "Say <function= to begin.",
            content="Say <function= to begin.",
        ),
        Output(
            "cut off in a call",
            '<function=get_weather>{"city": "Par',
            content='<function=get_weather>{"city": "Par',
        ),
        Output(
            "broken call",
            "<function=get\n\nNo, never mind.",
            content="<function=get\n\nNo, never mind.",
        ),
        Output(
            "words behind a call",
            '<function=get_weather>{"city": "Paris", "days": 3}</function>\nDone.',
            content="Done.",
            calls=(PARIS,),
        ),
    ),
)
