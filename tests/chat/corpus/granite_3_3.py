"""Granite 3.3: calls and answers behind tokens of their own."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, Tags, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("ibm-granite-granite-3.3-2B-Instruct",),
    format=ChatFormat(
        reasoning=Tags(open="<think>", close="</think>"),
        content=Tags(open="<response>", close="</response>"),
        tools=ToolSyntax(
            call=(
                '{"name": "',
                Slot.NAME,
                '", "arguments": ',
                Slot.ARGUMENTS,
                "}",
            ),
            start="<|tool_call|>[",
            end="]",
            separator=",",
            quotes_names=True,
        ),
        name="granite-3.3",
    ),
    outputs=(
        Output(
            "single call",
            (
                '<|tool_call|>[{"name": "get_weather", "arguments": {"city": '
                '"Paris", "days": 3}}]'
            ),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                "<response>Let me look that up.</response><|tool_call|>"
                '[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]'
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                '<|tool_call|>[{"name": "get_weather", "arguments": {"city": '
                '"Paris", "days": 3}}, {"name": "list_files", "arguments": {}}]'
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                '<|tool_call|>[{"name": "search", "arguments": {"filter": {"tags": '
                '["a", "b"], "range": {"min": 1.5, "max": null}}, "exact": true}}]'
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                '<|tool_call|>[{"name": "write_note", "arguments": {"title": "São '
                'Paulo 🌧️", "text": "多云，\xa022 °C"}}]'
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                '<|tool_call|>[{"name": "write_note", "arguments": {"title": "It\'s '
                '\\"quoted\\" \\\\ fine", "text": "</div> {x: [1, 2]} ```"}}]'
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                '<|tool_call|>[{"name": "write_note", "arguments": {"title": "code", '
                '"text": "def f(x):\\n\\treturn x\\n\\n\\nprint(f(1))"}}]'
            ),
            calls=(NEWLINES,),
        ),
        Output(
            "thinking before a call",
            (
                "<think>The user wants rain.\n\nI call the tool.</think>\n"
                '<|tool_call|>[{"name": "get_weather", "arguments": {"city": '
                '"Paris", "days": 3}}]'
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
        ),
        Output(
            "thinking, then an answer",
            (
                "<think>Two and two.</think>\n<response>The sum is **4**.\n\nIf a "
                '< b && {"x": [1]}, fine.</response>'
            ),
            reasoning="Two and two.",
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "thinking without an end",
            "<think>The user wants rain.\n\nI call the tool.",
            reasoning="The user wants rain.\n\nI call the tool.",
        ),
        Output(
            "no call",
            ('<response>The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.</response>'),
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "markers in an answer",
            "<response>Say <think> or <|tool_call|> to begin.</response>",
            content="Say <think> or <|tool_call|> to begin.",
        ),
        Output(
            "cut off in a call",
            '<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Par',
            content='<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Par',
        ),
        Output(
            "broken call",
            '<|tool_call|>[{"name": "get\n\nNo, never mind.',
            content='<|tool_call|>[{"name": "get\n\nNo, never mind.',
        ),
        Output(
            "empty thinking",
            (
                '<think></think>\n<|tool_call|>[{"name": "get_weather", "arguments": '
                '{"city": "Paris", "days": 3}}]'
            ),
            calls=(PARIS,),
        ),
    ),
)
