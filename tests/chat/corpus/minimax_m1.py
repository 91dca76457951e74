"""MiniMax M1: objects one below the other."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("MiniMax-M1",),
    format=ChatFormat(
        tools=ToolSyntax(
            call=(
                '{"name": "',
                Slot.NAME,
                '", "arguments": ',
                Slot.ARGUMENTS,
                "}",
            ),
            start="<tool_calls>",
            end="</tool_calls>",
            quotes_names=True,
        ),
        name="learned",
    ),
    outputs=(
        Output(
            "single call",
            (
                '<tool_calls>\n{"name": "get_weather", "arguments": {"city": '
                '"Paris", "days": 3}}\n</tool_calls>'
            ),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                "Let me look that up.\n<tool_calls>\n"
                '{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n'
                "</tool_calls>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                '<tool_calls>\n{"name": "get_weather", "arguments": {"city": '
                '"Paris", "days": 3}}\n{"name": "list_files", "arguments": {}}\n'
                "</tool_calls>"
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                '<tool_calls>\n{"name": "search", "arguments": {"filter": {"tags": '
                '["a", "b"], "range": {"min": 1.5, "max": null}}, "exact": true}}\n'
                "</tool_calls>"
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                '<tool_calls>\n{"name": "write_note", "arguments": {"title": "São '
                'Paulo 🌧️", "text": "多云，\xa022 °C"}}\n</tool_calls>'
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                '<tool_calls>\n{"name": "write_note", "arguments": {"title": "It\'s '
                '\\"quoted\\" \\\\ fine", "text": "</div> {x: [1, 2]} ```"}}\n'
                "</tool_calls>"
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                '<tool_calls>\n{"name": "write_note", "arguments": {"title": "code", '
                '"text": "def f(x):\\n\\treturn x\\n\\n\\nprint(f(1))"}}\n'
                "</tool_calls>"
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
            "Say <tool_calls> to begin.",
            content="Say <tool_calls> to begin.",
        ),
        Output(
            "cut off in a call",
            '<tool_calls>\n{"name": "get_weather", "arguments": {"city": "Par',
            content='<tool_calls>\n{"name": "get_weather", "arguments": {"city": "Par',
        ),
        Output(
            "broken call",
            '<tool_calls>\n{"name": "get\n\nNo, never mind.',
            content='<tool_calls>\n{"name": "get\n\nNo, never mind.',
        ),
        Output(
            "words behind a call",
            (
                '<tool_calls>\n{"name": "get_weather", "arguments": {"city": '
                '"Paris", "days": 3}}\n</tool_calls>\nDone.'
            ),
            content="Done.",
            calls=(PARIS,),
        ),
    ),
)
