"""DeepSeek V3.1."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, Tags, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("deepseek-ai-DeepSeek-V3.1",),
    format=ChatFormat(
        reasoning=Tags(open="<think>", close="</think>"),
        tools=ToolSyntax(
            call=(
                "<｜tool▁call▁begin｜>",
                Slot.NAME,
                "<｜tool▁sep｜>",
                Slot.ARGUMENTS,
                "<｜tool▁call▁end｜>",
            ),
            start="<｜tool▁calls▁begin｜>",
            end="<｜tool▁calls▁end｜>",
        ),
        name="learned",
    ),
    outputs=(
        Output(
            "single call",
            (
                "</think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather"
                '<｜tool▁sep｜>{"city": "Paris", "days": 3}<｜tool▁call▁end｜>'
                "<｜tool▁calls▁end｜>"
            ),
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "words before a call",
            (
                "</think>Let me look that up.<｜tool▁calls▁begin｜>"
                "<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
                '{"city": "Paris", "days": 3}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
            ),
            content="Let me look that up.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "parallel calls",
            (
                "</think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather"
                '<｜tool▁sep｜>{"city": "Paris", "days": 3}<｜tool▁call▁end｜>'
                "<｜tool▁call▁begin｜>list_files<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
                "<｜tool▁calls▁end｜>"
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
                "</think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search"
                '<｜tool▁sep｜>{"filter": {"tags": ["a", "b"], "range": {"min": 1.5, '
                '"max": null}}, "exact": true}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
            ),
            calls=(SEARCH,),
            in_reasoning=True,
        ),
        Output(
            "unicode",
            (
                "</think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>write_note"
                '<｜tool▁sep｜>{"title": "São Paulo 🌧️", "text": "多云，\xa022 °C"}'
                "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
            ),
            calls=(UNICODE,),
            in_reasoning=True,
        ),
        Output(
            "quotes",
            (
                "</think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>write_note"
                '<｜tool▁sep｜>{"title": "It\'s \\"quoted\\" \\\\ fine", "text": "'
                '</div> {x: [1, 2]} ```"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
            ),
            calls=(QUOTES,),
            in_reasoning=True,
        ),
        Output(
            "newlines",
            (
                "</think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>write_note"
                '<｜tool▁sep｜>{"title": "code", "text": "def f(x):\\n\\treturn '
                'x\\n\\n\\nprint(f(1))"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
            ),
            calls=(NEWLINES,),
            in_reasoning=True,
        ),
        Output(
            "thinking before a call",
            (
                "The user wants rain.\n\nI call the tool.</think>"
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
                '{"city": "Paris", "days": 3}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "thinking, then an answer",
            ('Two and two.</think>The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.'),
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
            '</think>The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            in_reasoning=True,
        ),
        Output(
            "markers in an answer",
            "</think>Say <think> or <｜tool▁calls▁begin｜> to begin.",
            content="Say <think> or <｜tool▁calls▁begin｜> to begin.",
            in_reasoning=True,
        ),
        Output(
            "cut off in a call",
            (
                "</think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather"
                '<｜tool▁sep｜>{"city": "Par'
            ),
            content=(
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
                '{"city": "Par'
            ),
            in_reasoning=True,
        ),
        Output(
            "broken call",
            (
                "</think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get\n\n"
                "No, never mind."
            ),
            content="<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get\n\nNo, never mind.",
            in_reasoning=True,
        ),
        Output(
            "words behind a call",
            (
                "</think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather"
                '<｜tool▁sep｜>{"city": "Paris", "days": 3}<｜tool▁call▁end｜>'
                "<｜tool▁calls▁end｜>\nDone."
            ),
            content="Done.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
    ),
)
