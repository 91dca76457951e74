"""Apriel 1.6: thinking that a sentence of the prompt begins."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, Tags, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("Apriel-1.6-15b-Thinker-fixed",),
    format=ChatFormat(
        reasoning=Tags(
            open="Here are my reasoning steps:", close="[BEGIN FINAL RESPONSE]"
        ),
        tools=ToolSyntax(
            call=(
                '{"name": "',
                Slot.NAME,
                '", "arguments": ',
                Slot.ARGUMENTS,
                "}",
            ),
            start="<tool_calls>[",
            end="]</tool_calls>",
            separator=",",
            quotes_names=True,
        ),
        name="learned",
    ),
    outputs=(
        Output(
            "single call",
            (
                "\n[BEGIN FINAL RESPONSE]\n<tool_calls>"
                '[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]'
                "</tool_calls>"
            ),
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "words before a call",
            (
                "\n[BEGIN FINAL RESPONSE]\nLet me look that up.\n<tool_calls>"
                '[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]'
                "</tool_calls>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "parallel calls",
            (
                "\n[BEGIN FINAL RESPONSE]\n<tool_calls>"
                '[{"name": "get_weather", "arguments": {"city": "Paris", "days": '
                '3}}, {"name": "list_files", "arguments": {}}]</tool_calls>'
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
            in_reasoning=True,
        ),
        Output(
            "nested values",
            (
                "\n[BEGIN FINAL RESPONSE]\n<tool_calls>"
                '[{"name": "search", "arguments": {"filter": {"tags": ["a", "b"], '
                '"range": {"min": 1.5, "max": null}}, "exact": true}}]</tool_calls>'
            ),
            calls=(SEARCH,),
            in_reasoning=True,
        ),
        Output(
            "unicode",
            (
                "\n[BEGIN FINAL RESPONSE]\n<tool_calls>"
                '[{"name": "write_note", "arguments": {"title": "São Paulo 🌧️", '
                '"text": "多云，\xa022 °C"}}]</tool_calls>'
            ),
            calls=(UNICODE,),
            in_reasoning=True,
        ),
        Output(
            "quotes",
            (
                "\n[BEGIN FINAL RESPONSE]\n<tool_calls>"
                '[{"name": "write_note", "arguments": {"title": "It\'s \\"quoted\\" '
                '\\\\ fine", "text": "</div> {x: [1, 2]} ```"}}]</tool_calls>'
            ),
            calls=(QUOTES,),
            in_reasoning=True,
        ),
        Output(
            "newlines",
            (
                "\n[BEGIN FINAL RESPONSE]\n<tool_calls>"
                '[{"name": "write_note", "arguments": {"title": "code", "text": "def '
                'f(x):\\n\\treturn x\\n\\n\\nprint(f(1))"}}]</tool_calls>'
            ),
            calls=(NEWLINES,),
            in_reasoning=True,
        ),
        Output(
            "thinking before a call",
            (
                "The user wants rain.\n\nI call the tool.\n[BEGIN FINAL RESPONSE]\n"
                '<tool_calls>[{"name": "get_weather", "arguments": {"city": "Paris", '
                '"days": 3}}]</tool_calls>'
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "thinking, then an answer",
            (
                "Two and two.\n[BEGIN FINAL RESPONSE]\nThe sum is **4**.\n\nIf a "
                '< b && {"x": [1]}, fine.'
            ),
            reasoning="Two and two.",
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            in_reasoning=True,
        ),
        Output(
            "thinking without an end",
            "The user wants rain.\n\nI call the tool.",
            reasoning="The user wants rain.\n\nI call the tool.",
            in_reasoning=True,
        ),
        Output(
            "no call",
            (
                "\n[BEGIN FINAL RESPONSE]\nThe sum is **4**.\n\nIf a "
                '< b && {"x": [1]}, fine.'
            ),
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            in_reasoning=True,
        ),
        Output(
            "markers in an answer",
            (
                "\n[BEGIN FINAL RESPONSE]\nSay Here are my reasoning steps: or "
                "<tool_calls> to begin."
            ),
            content="Say Here are my reasoning steps: or <tool_calls> to begin.",
            in_reasoning=True,
        ),
        Output(
            "cut off in a call",
            (
                "\n[BEGIN FINAL RESPONSE]\n<tool_calls>"
                '[{"name": "get_weather", "arguments": {"city": "Par'
            ),
            content='<tool_calls>[{"name": "get_weather", "arguments": {"city": "Par',
            in_reasoning=True,
        ),
        Output(
            "broken call",
            ('\n[BEGIN FINAL RESPONSE]\n<tool_calls>[{"name": "get\n\nNo, never mind.'),
            content='<tool_calls>[{"name": "get\n\nNo, never mind.',
            in_reasoning=True,
        ),
        Output(
            "words behind a call",
            (
                "\n[BEGIN FINAL RESPONSE]\n<tool_calls>"
                '[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]'
                "</tool_calls>\nDone."
            ),
            content="Done.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
    ),
)
