"""Mistral models of 2024: a list, with ids of nine characters behind the arguments."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("mistralai-Mistral-Nemo-Instruct-2407",),
    format=ChatFormat(
        tools=ToolSyntax(
            call=(
                '{"name": "',
                Slot.NAME,
                '", "arguments": ',
                Slot.ARGUMENTS,
                ', "id": "',
                Slot.ID,
                '"}',
            ),
            start="[TOOL_CALLS][",
            end="]",
            separator=",",
            id_pattern="[a-zA-Z0-9]{9}",
            quotes_names=True,
        ),
        name="mistral",
    ),
    outputs=(
        Output(
            "single call",
            (
                '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Paris", '
                '"days": 3}, "id": "abcdef000"}]'
            ),
            calls=(PARIS,),
            ids=("abcdef000",),
        ),
        Output(
            "words before a call",
            (
                'Let me look that up.[TOOL_CALLS][{"name": "get_weather", '
                '"arguments": {"city": "Paris", "days": 3}, "id": "abcdef000"}]'
            ),
            content="Let me look that up.",
            calls=(PARIS,),
            ids=("abcdef000",),
        ),
        Output(
            "parallel calls",
            (
                '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Paris", '
                '"days": 3}, "id": "abcdef000"}, {"name": "list_files", "arguments": '
                '{}, "id": "abcdef001"}]'
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
                '[TOOL_CALLS][{"name": "search", "arguments": {"filter": {"tags": '
                '["a", "b"], "range": {"min": 1.5, "max": null}}, "exact": true}, '
                '"id": "abcdef000"}]'
            ),
            calls=(SEARCH,),
            ids=("abcdef000",),
        ),
        Output(
            "unicode",
            (
                '[TOOL_CALLS][{"name": "write_note", "arguments": {"title": "São '
                'Paulo 🌧️", "text": "多云，\xa022 °C"}, "id": "abcdef000"}]'
            ),
            calls=(UNICODE,),
            ids=("abcdef000",),
        ),
        Output(
            "quotes",
            (
                '[TOOL_CALLS][{"name": "write_note", "arguments": {"title": "It\'s '
                '\\"quoted\\" \\\\ fine", "text": "</div>'
                ' {x: [1, 2]} ```"}, "id": "abcdef000"}]'
            ),
            calls=(QUOTES,),
            ids=("abcdef000",),
        ),
        Output(
            "newlines",
            (
                '[TOOL_CALLS][{"name": "write_note", "arguments": {"title": "code", '
                '"text": "def f(x):\\n\\treturn x\\n\\n\\nprint(f(1))"}, "id": '
                '"abcdef000"}]'
            ),
            calls=(NEWLINES,),
            ids=("abcdef000",),
        ),
        Output(
            "no call",
            'The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "markers in an answer",
            "Say [TOOL_CALLS] to begin.",
            content="Say [TOOL_CALLS] to begin.",
        ),
        Output(
            "cut off in a call",
            '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Par',
            content='[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Par',
        ),
        Output(
            "broken call",
            '[TOOL_CALLS][{"name": "get\n\nNo, never mind.',
            content='[TOOL_CALLS][{"name": "get\n\nNo, never mind.',
        ),
        Output(
            "words behind a call",
            (
                '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Paris", '
                '"days": 3}, "id": "abcdef000"}]\nDone.'
            ),
            content="Done.",
            calls=(PARIS,),
            ids=("abcdef000",),
        ),
        Output(
            "an object instead of a list",
            (
                '[TOOL_CALLS]{"name": "get_weather", "arguments": {"city": "Paris", '
                '"days": 3}, "id": "abcdef000"}'
            ),
            calls=(PARIS,),
            only_whole=True,
            ids=("abcdef000",),
        ),
        Output(
            "cut off behind a call",
            (
                '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Paris", '
                '"days": 3}, "id": "abcdef000"}, '
            ),
            calls=(PARIS,),
            ids=("abcdef000",),
        ),
    ),
)
