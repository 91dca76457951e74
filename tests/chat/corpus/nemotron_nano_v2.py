"""Nemotron Nano v2."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, Tags, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("NVIDIA-Nemotron-Nano-v2",),
    format=ChatFormat(
        reasoning=Tags(open="<think>", close="</think>"),
        tools=ToolSyntax(
            call=(
                '{"name": "',
                Slot.NAME,
                '", "arguments": ',
                Slot.ARGUMENTS,
                "}",
            ),
            start="<TOOLCALL>[",
            end="]</TOOLCALL>",
            separator=",",
            quotes_names=True,
        ),
        name="learned",
    ),
    outputs=(
        Output(
            "single call",
            (
                '\n</think>\n\n<TOOLCALL>[{"name": "get_weather", "arguments": '
                '{"city": "Paris", "days": 3}}]</TOOLCALL>'
            ),
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "words before a call",
            (
                "\n</think>\n\nLet me look that up.\n<TOOLCALL>"
                '[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]'
                "</TOOLCALL>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "parallel calls",
            (
                '\n</think>\n\n<TOOLCALL>[{"name": "get_weather", "arguments": '
                '{"city": "Paris", "days": 3}}, {"name": "list_files", "arguments": '
                "{}}]</TOOLCALL>"
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
                '\n</think>\n\n<TOOLCALL>[{"name": "search", "arguments": {"filter": '
                '{"tags": ["a", "b"], "range": {"min": 1.5, "max": null}}, "exact": '
                "true}}]</TOOLCALL>"
            ),
            calls=(SEARCH,),
            in_reasoning=True,
        ),
        Output(
            "unicode",
            (
                '\n</think>\n\n<TOOLCALL>[{"name": "write_note", "arguments": '
                '{"title": "São Paulo 🌧️", "text": "多云，\xa022 °C"}}]</TOOLCALL>'
            ),
            calls=(UNICODE,),
            in_reasoning=True,
        ),
        Output(
            "quotes",
            (
                '\n</think>\n\n<TOOLCALL>[{"name": "write_note", "arguments": '
                '{"title": "It\'s \\"quoted\\" \\\\ fine", "text": "</div>'
                ' {x: [1, 2]} ```"}}]</TOOLCALL>'
            ),
            calls=(QUOTES,),
            in_reasoning=True,
        ),
        Output(
            "newlines",
            (
                '\n</think>\n\n<TOOLCALL>[{"name": "write_note", "arguments": '
                '{"title": "code", "text": "def f(x):\\n\\treturn '
                'x\\n\\n\\nprint(f(1))"}}]</TOOLCALL>'
            ),
            calls=(NEWLINES,),
            in_reasoning=True,
        ),
        Output(
            "thinking before a call",
            (
                "The user wants rain.\n\nI call the tool.\n</think>\n\n<TOOLCALL>"
                '[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]'
                "</TOOLCALL>"
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "thinking, then an answer",
            (
                "Two and two.\n</think>\n\nThe sum is **4**.\n\nIf a "
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
            '\n</think>\n\nThe sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            in_reasoning=True,
        ),
        Output(
            "markers in an answer",
            "\n</think>\n\nSay <think> or <TOOLCALL> to begin.",
            content="Say <think> or <TOOLCALL> to begin.",
            in_reasoning=True,
        ),
        Output(
            "cut off in a call",
            (
                '\n</think>\n\n<TOOLCALL>[{"name": "get_weather", "arguments": '
                '{"city": "Par'
            ),
            content='<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Par',
            in_reasoning=True,
        ),
        Output(
            "broken call",
            '\n</think>\n\n<TOOLCALL>[{"name": "get\n\nNo, never mind.',
            content='<TOOLCALL>[{"name": "get\n\nNo, never mind.',
            in_reasoning=True,
        ),
        Output(
            "words behind a call",
            (
                '\n</think>\n\n<TOOLCALL>[{"name": "get_weather", "arguments": '
                '{"city": "Paris", "days": 3}}]</TOOLCALL>\nDone.'
            ),
            content="Done.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
    ),
)
