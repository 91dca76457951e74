"""Functionary 3.2: parts of a turn have recipients; the prompt begins the first."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, Tags, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("meetkai-functionary-medium-v3.2",),
    format=ChatFormat(
        content=Tags(open=">>>all\n", close=""),
        tools=ToolSyntax(
            call=(
                ">>>",
                Slot.NAME,
                "\n",
                Slot.ARGUMENTS,
            )
        ),
        prompted=">>>",
        name="functionary-v3.2",
    ),
    outputs=(
        Output(
            "single call",
            'get_weather\n{"city": "Paris", "days": 3}',
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            ('all\nLet me look that up.>>>get_weather\n{"city": "Paris", "days": 3}'),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            'get_weather\n{"city": "Paris", "days": 3}>>>list_files\n{}',
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                'search\n{"filter": {"tags": ["a", "b"], "range": {"min": 1.5, '
                '"max": null}}, "exact": true}'
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            'write_note\n{"title": "São Paulo 🌧️", "text": "多云，\xa022 °C"}',
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                'write_note\n{"title": "It\'s \\"quoted\\" \\\\ fine", "text": "'
                '</div> {x: [1, 2]} ```"}'
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                'write_note\n{"title": "code", "text": "def f(x):\\n\\treturn '
                'x\\n\\n\\nprint(f(1))"}'
            ),
            calls=(NEWLINES,),
        ),
        Output(
            "no call",
            'all\nThe sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "markers in an answer",
            "all\nSay >>> to begin.",
            content="Say >>> to begin.",
        ),
        Output(
            "cut off in a call",
            'get_weather\n{"city": "Par',
            content='get_weather\n{"city": "Par',
        ),
        Output(
            "broken call",
            "get\n\nNo, never mind.",
            content="get\n\nNo, never mind.",
        ),
    ),
)
