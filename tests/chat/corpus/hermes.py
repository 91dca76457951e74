"""Qwen 3 and the many that write calls as Hermes does."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, Tags, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=(
        "Qwen-Qwen3-0.6B",
        "Qwen-QwQ-32B",
        "Bielik-11B-v3.0-Instruct",
        "Reka-Edge",
    ),
    format=ChatFormat(
        reasoning=Tags(open="<think>", close="</think>"),
        tools=ToolSyntax(
            call=(
                '<tool_call>\n{"name": "',
                Slot.NAME,
                '", "arguments": ',
                Slot.ARGUMENTS,
                "}\n</tool_call>",
            ),
            quotes_names=True,
        ),
        name="learned",
    ),
    outputs=(
        Output(
            "single call",
            (
                '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", '
                '"days": 3}}\n</tool_call>'
            ),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                'Let me look that up.\n<tool_call>\n{"name": "get_weather", '
                '"arguments": {"city": "Paris", "days": 3}}\n</tool_call>'
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", '
                '"days": 3}}\n</tool_call>\n<tool_call>\n'
                '{"name": "list_files", "arguments": {}}\n</tool_call>'
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                '<tool_call>\n{"name": "search", "arguments": {"filter": {"tags": '
                '["a", "b"], "range": {"min": 1.5, "max": null}}, "exact": true}}\n'
                "</tool_call>"
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                '<tool_call>\n{"name": "write_note", "arguments": {"title": "São '
                'Paulo 🌧️", "text": "多云，\xa022 °C"}}\n</tool_call>'
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                '<tool_call>\n{"name": "write_note", "arguments": {"title": "It\'s '
                '\\"quoted\\" \\\\ fine", "text": "</div> {x: [1, 2]} ```"}}\n'
                "</tool_call>"
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                '<tool_call>\n{"name": "write_note", "arguments": {"title": "code", '
                '"text": "def f(x):\\n\\treturn x\\n\\n\\nprint(f(1))"}}\n'
                "</tool_call>"
            ),
            calls=(NEWLINES,),
        ),
        Output(
            "thinking before a call",
            (
                "<think>\nThe user wants rain.\n\nI call the tool.\n</think>\n\n"
                '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", '
                '"days": 3}}\n</tool_call>'
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
        ),
        Output(
            "thinking, then an answer",
            (
                "<think>\nTwo and two.\n</think>\n\nThe sum is **4**.\n\nIf a "
                '< b && {"x": [1]}, fine.'
            ),
            reasoning="Two and two.",
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "thinking without an end",
            "<think>\nThe user wants rain.\n\nI call the tool.",
            reasoning="The user wants rain.\n\nI call the tool.",
        ),
        Output(
            "no call",
            'The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "markers in an answer",
            "Say <think> or <tool_call> to begin.",
            content="Say <think> or <tool_call> to begin.",
        ),
        Output(
            "cut off in a call",
            '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Par',
            content='<tool_call>\n{"name": "get_weather", "arguments": {"city": "Par',
        ),
        Output(
            "broken call",
            '<tool_call>\n{"name": "get\n\nNo, never mind.',
            content='<tool_call>\n{"name": "get\n\nNo, never mind.',
        ),
        Output(
            "empty thinking",
            (
                '<think>\n\n</think>\n\n<tool_call>\n{"name": "get_weather", '
                '"arguments": {"city": "Paris", "days": 3}}\n</tool_call>'
            ),
            calls=(PARIS,),
        ),
        Output(
            "words behind a call",
            (
                '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", '
                '"days": 3}}\n</tool_call>\nDone.'
            ),
            content="Done.",
            calls=(PARIS,),
        ),
        Output(
            "thinking again between calls",
            (
                "<think>\nFirst.\n</think>\n\n<tool_call>\n"
                '{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n'
                "</tool_call>\n<think>\nSecond.\n</think>\n<tool_call>\n"
                '{"name": "list_files", "arguments": {}}\n</tool_call>'
            ),
            reasoning="First.Second.",
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "tight spelling",
            (
                '<tool_call>{"name":"get_weather","arguments":{"city":"Paris","days":'
                "3}}</tool_call>"
            ),
            calls=(PARIS,),
        ),
        Output(
            "keys in another order",
            (
                '<tool_call>\n{"arguments": {"city": "Paris", "days": 3}, "name": '
                '"get_weather"}\n</tool_call>'
            ),
            calls=(PARIS,),
            only_whole=True,
        ),
        Output(
            "arguments as a text",
            (
                '<tool_call>\n{"name": "get_weather", "arguments": "{\\"city\\": '
                '\\"Paris\\", \\"days\\": 3}"}\n</tool_call>'
            ),
            calls=(PARIS,),
            only_whole=True,
        ),
        Output(
            "no arguments",
            '<tool_call>\n{"name": "list_files"}\n</tool_call>',
            calls=(LIST_FILES,),
            only_whole=True,
        ),
        Output(
            "a key that no call has",
            (
                '<tool_call>\n{"name": "list_files", "arguments": {}, "why": "To '
                'see."}\n</tool_call>'
            ),
            content=(
                '<tool_call>\n{"name": "list_files", "arguments": {}, "why": "To '
                'see."}\n</tool_call>'
            ),
            only_whole=True,
        ),
        Output(
            "no end marker",
            (
                '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", '
                '"days": 3}}'
            ),
            calls=(PARIS,),
        ),
        Output(
            "newline in a JSON string",
            (
                '<tool_call>\n{"name": "write_note", "arguments": {"title": "code", '
                '"text": "def f(x):\n\treturn x\n\n\nprint(f(1))"}}\n</tool_call>'
            ),
            calls=(NEWLINES,),
        ),
        Output(
            "broken, then right",
            (
                '<tool_call>\n{"name": 5}\n</tool_call>\n<tool_call>\n'
                '{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n'
                "</tool_call>"
            ),
            content='<tool_call>\n{"name": 5}\n</tool_call>',
            calls=(PARIS,),
        ),
        Output(
            "not a number",
            (
                '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", '
                '"days": NaN}}\n</tool_call>'
            ),
            content=(
                '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", '
                '"days": NaN}}\n</tool_call>'
            ),
            only_whole=True,
        ),
        Output(
            "thinking tags late",
            "I know.\n<think> is a tag.</think>",
            content="I know.\n<think> is a tag.</think>",
        ),
    ),
)
