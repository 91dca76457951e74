"""Cohere's mixtures of experts."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, Tags, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("Cohere2MoE",),
    format=ChatFormat(
        reasoning=Tags(open="<|START_THINKING|>", close="<|END_THINKING|>"),
        content=Tags(open="<|START_TEXT|>", close="<|END_TEXT|>"),
        tools=ToolSyntax(
            call=(
                '{"tool_call_id": "',
                Slot.INDEX,
                '", "tool_name": "',
                Slot.NAME,
                '", "parameters": ',
                Slot.ARGUMENTS,
                "}",
            ),
            start="<|START_ACTION|>[",
            end="]<|END_ACTION|>",
            separator=",",
            quotes_names=True,
        ),
        name="learned",
    ),
    outputs=(
        Output(
            "single call",
            (
                "<|END_THINKING|><|START_ACTION|>[\n"
                '    {"tool_call_id": "0", "tool_name": "get_weather", "parameters": '
                '{"city": "Paris", "days": 3}}\n]<|END_ACTION|>'
            ),
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "words before a call",
            (
                "<|END_THINKING|><|START_TEXT|>Let me look that up.<|END_TEXT|>"
                '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": '
                '"get_weather", "parameters": {"city": "Paris", "days": 3}}\n]'
                "<|END_ACTION|>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "parallel calls",
            (
                "<|END_THINKING|><|START_ACTION|>[\n"
                '    {"tool_call_id": "0", "tool_name": "get_weather", "parameters": '
                '{"city": "Paris", "days": 3}},\n    {"tool_call_id": "1", '
                '"tool_name": "list_files", "parameters": {}}\n]<|END_ACTION|>'
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
                "<|END_THINKING|><|START_ACTION|>[\n"
                '    {"tool_call_id": "0", "tool_name": "search", "parameters": '
                '{"filter": {"tags": ["a", "b"], "range": {"min": 1.5, "max": '
                'null}}, "exact": true}}\n]<|END_ACTION|>'
            ),
            calls=(SEARCH,),
            in_reasoning=True,
        ),
        Output(
            "unicode",
            (
                "<|END_THINKING|><|START_ACTION|>[\n"
                '    {"tool_call_id": "0", "tool_name": "write_note", "parameters": '
                '{"title": "São Paulo 🌧️", "text": "多云，\xa022 °C"}}\n]'
                "<|END_ACTION|>"
            ),
            calls=(UNICODE,),
            in_reasoning=True,
        ),
        Output(
            "quotes",
            (
                "<|END_THINKING|><|START_ACTION|>[\n"
                '    {"tool_call_id": "0", "tool_name": "write_note", "parameters": '
                '{"title": "It\'s \\"quoted\\" \\\\ fine", "text": "</div>'
                ' {x: [1, 2]} ```"}}\n]<|END_ACTION|>'
            ),
            calls=(QUOTES,),
            in_reasoning=True,
        ),
        Output(
            "newlines",
            (
                "<|END_THINKING|><|START_ACTION|>[\n"
                '    {"tool_call_id": "0", "tool_name": "write_note", "parameters": '
                '{"title": "code", "text": "def f(x):\\n\\treturn '
                'x\\n\\n\\nprint(f(1))"}}\n]<|END_ACTION|>'
            ),
            calls=(NEWLINES,),
            in_reasoning=True,
        ),
        Output(
            "thinking before a call",
            (
                "The user wants rain.\n\nI call the tool.<|END_THINKING|>"
                '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": '
                '"get_weather", "parameters": {"city": "Paris", "days": 3}}\n]'
                "<|END_ACTION|>"
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "thinking, then an answer",
            (
                "Two and two.<|END_THINKING|><|START_TEXT|>The sum is **4**.\n\nIf a "
                '< b && {"x": [1]}, fine.<|END_TEXT|>'
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
                "<|END_THINKING|><|START_TEXT|>The sum is **4**.\n\nIf a "
                '< b && {"x": [1]}, fine.<|END_TEXT|>'
            ),
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            in_reasoning=True,
        ),
        Output(
            "markers in an answer",
            (
                "<|END_THINKING|><|START_TEXT|>Say <|START_THINKING|> or "
                "<|START_ACTION|> to begin.<|END_TEXT|>"
            ),
            content="Say <|START_THINKING|> or <|START_ACTION|> to begin.",
            in_reasoning=True,
        ),
        Output(
            "cut off in a call",
            (
                "<|END_THINKING|><|START_ACTION|>[\n"
                '    {"tool_call_id": "0", "tool_name": "get_weather", "parameters": '
                '{"city": "Par'
            ),
            content=(
                '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": '
                '"get_weather", "parameters": {"city": "Par'
            ),
            in_reasoning=True,
        ),
        Output(
            "broken call",
            (
                "<|END_THINKING|><|START_ACTION|>[\n"
                '    {"tool_call_id": "0", "tool_name": "get\n\nNo, never mind.'
            ),
            content=(
                '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "get\n\n'
                "No, never mind."
            ),
            in_reasoning=True,
        ),
    ),
)
