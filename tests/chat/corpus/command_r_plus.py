"""Command R+ of Cohere: a list in a fence."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("CohereForAI-c4ai-command-r-plus-tool_use",),
    format=ChatFormat(
        tools=ToolSyntax(
            call=(
                '{\n        "tool_name": "',
                Slot.NAME,
                '",\n        "parameters": ',
                Slot.ARGUMENTS,
                "\n    }",
            ),
            start="Action:\n```json\n[",
            end="]```",
            separator=",",
            quotes_names=True,
        ),
        name="command-r-plus",
    ),
    outputs=(
        Output(
            "single call",
            (
                'Action:\n```json\n[\n    {\n        "tool_name": "get_weather",\n'
                '        "parameters": {"city": "Paris", "days": 3}\n    }\n]```'
            ),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                "Let me look that up.\nAction:\n```json\n[\n    {\n"
                '        "tool_name": "get_weather",\n'
                '        "parameters": {"city": "Paris", "days": 3}\n    }\n]```'
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                'Action:\n```json\n[\n    {\n        "tool_name": "get_weather",\n'
                '        "parameters": {"city": "Paris", "days": 3}\n    },\n    {\n'
                '        "tool_name": "list_files",\n        "parameters": {}\n'
                "    }\n]```"
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                'Action:\n```json\n[\n    {\n        "tool_name": "search",\n'
                '        "parameters": {"filter": {"tags": ["a", "b"], "range": '
                '{"min": 1.5, "max": null}}, "exact": true}\n    }\n]```'
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                'Action:\n```json\n[\n    {\n        "tool_name": "write_note",\n'
                '        "parameters": {"title": "São Paulo 🌧️", "text": '
                '"多云，\xa022 °C"}\n    }\n]```'
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                'Action:\n```json\n[\n    {\n        "tool_name": "write_note",\n'
                '        "parameters": {"title": "It\'s \\"quoted\\" \\\\ fine", '
                '"text": "</div> {x: [1, 2]} ```"}\n    }\n]```'
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                'Action:\n```json\n[\n    {\n        "tool_name": "write_note",\n'
                '        "parameters": {"title": "code", "text": "def '
                'f(x):\\n\\treturn x\\n\\n\\nprint(f(1))"}\n    }\n]```'
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
            "Say Action: to begin.",
            content="Say Action: to begin.",
        ),
        Output(
            "cut off in a call",
            (
                'Action:\n```json\n[\n    {\n        "tool_name": "get_weather",\n'
                '        "parameters": {"city": "Par'
            ),
            content=(
                'Action:\n```json\n[\n    {\n        "tool_name": "get_weather",\n'
                '        "parameters": {"city": "Par'
            ),
        ),
        Output(
            "broken call",
            (
                'Action:\n```json\n[\n    {\n        "tool_name": "get\n\n'
                "No, never mind."
            ),
            content=(
                'Action:\n```json\n[\n    {\n        "tool_name": "get\n\n'
                "No, never mind."
            ),
        ),
        Output(
            "words behind a call",
            (
                'Action:\n```json\n[\n    {\n        "tool_name": "get_weather",\n'
                '        "parameters": {"city": "Paris", "days": 3}\n    }\n]```\n'
                "Done."
            ),
            content="Done.",
            calls=(PARIS,),
        ),
    ),
)
