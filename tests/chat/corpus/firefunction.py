"""FireFunction v2."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("fireworks-ai-llama-3-firefunction-v2",),
    format=ChatFormat(
        tools=ToolSyntax(
            call=(
                '{"name": "',
                Slot.NAME,
                '", "arguments": ',
                Slot.ARGUMENTS,
                "}",
            ),
            start="functools[",
            end="]",
            separator=",",
            quotes_names=True,
        ),
        name="firefunction",
    ),
    outputs=(
        Output(
            "single call",
            (
                ' functools[{"name": "get_weather", "arguments": {"city": "Paris", '
                '"days": 3}}]'
            ),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                'Let me look that up. functools[{"name": "get_weather", "arguments": '
                '{"city": "Paris", "days": 3}}]'
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                ' functools[{"name": "get_weather", "arguments": {"city": "Paris", '
                '"days": 3}}, {"name": "list_files", "arguments": {}}]'
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                ' functools[{"name": "search", "arguments": {"filter": {"tags": '
                '["a", "b"], "range": {"min": 1.5, "max": null}}, "exact": true}}]'
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                ' functools[{"name": "write_note", "arguments": {"title": "São Paulo '
                '🌧️", "text": "多云，\xa022 °C"}}]'
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                ' functools[{"name": "write_note", "arguments": {"title": "It\'s '
                '\\"quoted\\" \\\\ fine", "text": "</div> {x: [1, 2]} ```"}}]'
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                ' functools[{"name": "write_note", "arguments": {"title": "code", '
                '"text": "def f(x):\\n\\treturn x\\n\\n\\nprint(f(1))"}}]'
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
            "Say functools to begin.",
            content="Say functools to begin.",
        ),
        Output(
            "cut off in a call",
            ' functools[{"name": "get_weather", "arguments": {"city": "Par',
            content=' functools[{"name": "get_weather", "arguments": {"city": "Par',
        ),
        Output(
            "broken call",
            ' functools[{"name": "get\n\nNo, never mind.',
            content=' functools[{"name": "get\n\nNo, never mind.',
        ),
        Output(
            "words behind a call",
            (
                ' functools[{"name": "get_weather", "arguments": {"city": "Paris", '
                '"days": 3}}]\nDone.'
            ),
            content="Done.",
            calls=(PARIS,),
        ),
        Output(
            "arguments as a text",
            (
                ' functools[{"name": "get_weather", "arguments": "{\\"city\\": '
                '\\"Paris\\", \\"days\\": 3}"}]'
            ),
            calls=(PARIS,),
            only_whole=True,
        ),
    ),
)
