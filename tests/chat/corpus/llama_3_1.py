"""Llama 3.1: a bare object, recognised only where an answer begins."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, ToolSyntax
from tests.chat.corpus.calls import NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=(
        "meta-llama-Llama-3.1-8B-Instruct",
        "meta-llama-Llama-3.2-3B-Instruct",
        "meta-llama-Llama-3.3-70B-Instruct",
    ),
    format=ChatFormat(
        tools=ToolSyntax(
            call=(
                '{"name": "',
                Slot.NAME,
                '", "parameters": ',
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
            '{"name": "get_weather", "parameters": {"city": "Paris", "days": 3}}',
            calls=(PARIS,),
        ),
        Output(
            "nested values",
            (
                '{"name": "search", "parameters": {"filter": {"tags": ["a", "b"], '
                '"range": {"min": 1.5, "max": null}}, "exact": true}}'
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                '{"name": "write_note", "parameters": {"title": "São Paulo 🌧️", '
                '"text": "多云，\xa022 °C"}}'
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                '{"name": "write_note", "parameters": {"title": "It\'s \\"quoted\\" '
                '\\\\ fine", "text": "</div> {x: [1, 2]} ```"}}'
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                '{"name": "write_note", "parameters": {"title": "code", "text": "def '
                'f(x):\\n\\treturn x\\n\\n\\nprint(f(1))"}}'
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
            'Say {"name": to begin.',
            content='Say {"name": to begin.',
        ),
        Output(
            "cut off in a call",
            '{"name": "get_weather", "parameters": {"city": "Par',
            content='{"name": "get_weather", "parameters": {"city": "Par',
        ),
        Output(
            "broken call",
            '{"name": "get\n\nNo, never mind.',
            content='{"name": "get\n\nNo, never mind.',
        ),
        Output(
            "an answer that is an object",
            '{"name": "Ada", "born": 1815}',
            content='{"name": "Ada", "born": 1815}',
        ),
        Output(
            "an object in an answer",
            'Like this: {"name": "get_weather", "parameters": {}}',
            content='Like this: {"name": "get_weather", "parameters": {}}',
        ),
    ),
)
