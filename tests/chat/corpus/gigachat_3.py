"""GigaChat 3.1: one call in a turn."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, ToolSyntax
from tests.chat.corpus.calls import NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("GigaChat3.1-10B-A1.8B",),
    format=ChatFormat(
        tools=ToolSyntax(
            call=(
                '<|function_call|>{"name": "',
                Slot.NAME,
                '", "arguments": ',
                Slot.ARGUMENTS,
                "}",
            ),
            is_parallel=False,
            quotes_names=True,
        ),
        name="learned",
    ),
    outputs=(
        Output(
            "single call",
            (
                '<|function_call|>{"name": "get_weather", "arguments": {"city": '
                '"Paris", "days": 3}}'
            ),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                "Let me look that up.<|function_call|>"
                '{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}'
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "nested values",
            (
                '<|function_call|>{"name": "search", "arguments": {"filter": '
                '{"tags": ["a", "b"], "range": {"min": 1.5, "max": null}}, "exact": '
                "true}}"
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                '<|function_call|>{"name": "write_note", "arguments": {"title": "São '
                'Paulo 🌧️", "text": "多云，\xa022 °C"}}'
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                '<|function_call|>{"name": "write_note", "arguments": {"title": '
                '"It\'s \\"quoted\\" \\\\ fine", "text": "</div> {x: [1, 2]} ```"}}'
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                '<|function_call|>{"name": "write_note", "arguments": {"title": '
                '"code", "text": "def f(x):\\n\\treturn x\\n\\n\\nprint(f(1))"}}'
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
            'Say <|function_call|>{"name": to begin.',
            content='Say <|function_call|>{"name": to begin.',
        ),
        Output(
            "cut off in a call",
            '<|function_call|>{"name": "get_weather", "arguments": {"city": "Par',
            content=(
                '<|function_call|>{"name": "get_weather", "arguments": {"city": "Par'
            ),
        ),
        Output(
            "broken call",
            '<|function_call|>{"name": "get\n\nNo, never mind.',
            content='<|function_call|>{"name": "get\n\nNo, never mind.',
        ),
        Output(
            "words behind a call",
            (
                '<|function_call|>{"name": "get_weather", "arguments": {"city": '
                '"Paris", "days": 3}}\nDone.'
            ),
            content="Done.",
            calls=(PARIS,),
        ),
    ),
)
