"""Command R7B of Cohere."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, Tags, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("CohereForAI-c4ai-command-r7b-12-2024-tool_use",),
    format=ChatFormat(
        reasoning=Tags(open="<|START_THINKING|>", close="<|END_THINKING|>"),
        content=Tags(open="<|START_RESPONSE|>", close="<|END_RESPONSE|>"),
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
                '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": '
                '"get_weather", "parameters": {"city": "Paris", "days": 3}}\n]'
                "<|END_ACTION|>"
            ),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                "<|START_RESPONSE|>Let me look that up.<|END_RESPONSE|>"
                '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": '
                '"get_weather", "parameters": {"city": "Paris", "days": 3}}\n]'
                "<|END_ACTION|>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": '
                '"get_weather", "parameters": {"city": "Paris", "days": 3}},\n'
                '    {"tool_call_id": "1", "tool_name": "list_files", "parameters": '
                "{}}\n]<|END_ACTION|>"
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "search", '
                '"parameters": {"filter": {"tags": ["a", "b"], "range": {"min": 1.5, '
                '"max": null}}, "exact": true}}\n]<|END_ACTION|>'
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": '
                '"write_note", "parameters": {"title": "São Paulo 🌧️", "text": '
                '"多云，\xa022 °C"}}\n]<|END_ACTION|>'
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": '
                '"write_note", "parameters": {"title": "It\'s \\"quoted\\" \\\\ '
                'fine", "text": "</div> {x: [1, 2]} ```"}}\n]<|END_ACTION|>'
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": '
                '"write_note", "parameters": {"title": "code", "text": "def '
                'f(x):\\n\\treturn x\\n\\n\\nprint(f(1))"}}\n]<|END_ACTION|>'
            ),
            calls=(NEWLINES,),
        ),
        Output(
            "thinking before a call",
            (
                "<|START_THINKING|>The user wants rain.\n\nI call the tool."
                "<|END_THINKING|><|START_ACTION|>[\n"
                '    {"tool_call_id": "0", "tool_name": "get_weather", "parameters": '
                '{"city": "Paris", "days": 3}}\n]<|END_ACTION|>'
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
        ),
        Output(
            "thinking, then an answer",
            (
                "<|START_THINKING|>Two and two.<|END_THINKING|><|START_RESPONSE|>"
                'The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.<|END_RESPONSE|>'
            ),
            reasoning="Two and two.",
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "thinking without an end",
            "<|START_THINKING|>The user wants rain.\n\nI call the tool.",
            reasoning="The user wants rain.\n\nI call the tool.",
        ),
        Output(
            "no call",
            (
                '<|START_RESPONSE|>The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.'
                "<|END_RESPONSE|>"
            ),
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "markers in an answer",
            (
                "<|START_RESPONSE|>Say <|START_THINKING|> or <|START_ACTION|>"
                " to begin.<|END_RESPONSE|>"
            ),
            content="Say <|START_THINKING|> or <|START_ACTION|> to begin.",
        ),
        Output(
            "cut off in a call",
            (
                '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": '
                '"get_weather", "parameters": {"city": "Par'
            ),
            content=(
                '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": '
                '"get_weather", "parameters": {"city": "Par'
            ),
        ),
        Output(
            "broken call",
            (
                '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "get\n\n'
                "No, never mind."
            ),
            content=(
                '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "get\n\n'
                "No, never mind."
            ),
        ),
        Output(
            "empty thinking",
            (
                "<|START_THINKING|><|END_THINKING|><|START_ACTION|>[\n"
                '    {"tool_call_id": "0", "tool_name": "get_weather", "parameters": '
                '{"city": "Paris", "days": 3}}\n]<|END_ACTION|>'
            ),
            calls=(PARIS,),
        ),
        Output(
            "answer without its marks",
            "The sum is 4.",
            content="The sum is 4.",
        ),
    ),
)
