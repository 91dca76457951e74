"""DeepSeek R1 and V3."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, Tags, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("llama-cpp-deepseek-r1", "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B"),
    format=ChatFormat(
        reasoning=Tags(open="<think>", close="</think>"),
        tools=ToolSyntax(
            call=(
                "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
                Slot.NAME,
                "\n```json\n",
                Slot.ARGUMENTS,
                "\n```<｜tool▁call▁end｜>",
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
                "\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function"
                '<｜tool▁sep｜>get_weather\n```json\n{"city": "Paris", "days": 3}\n'
                "```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
            ),
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "words before a call",
            (
                "\n</think>\n\nLet me look that up.<｜tool▁calls▁begin｜>"
                "<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
                '{"city": "Paris", "days": 3}\n```<｜tool▁call▁end｜>'
                "<｜tool▁calls▁end｜>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "parallel calls",
            (
                "\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function"
                '<｜tool▁sep｜>get_weather\n```json\n{"city": "Paris", "days": 3}\n'
                "```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>"
                "list_files\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
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
                "\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function"
                '<｜tool▁sep｜>search\n```json\n{"filter": {"tags": ["a", "b"], '
                '"range": {"min": 1.5, "max": null}}, "exact": true}\n```'
                "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
            ),
            calls=(SEARCH,),
            in_reasoning=True,
        ),
        Output(
            "unicode",
            (
                "\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function"
                '<｜tool▁sep｜>write_note\n```json\n{"title": "São Paulo 🌧️", '
                '"text": "多云，\xa022 °C"}\n```<｜tool▁call▁end｜>'
                "<｜tool▁calls▁end｜>"
            ),
            calls=(UNICODE,),
            in_reasoning=True,
        ),
        Output(
            "quotes",
            (
                "\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function"
                "<｜tool▁sep｜>write_note\n```json\n"
                '{"title": "It\'s \\"quoted\\" \\\\ fine", "text": "</div>'
                ' {x: [1, 2]} ```"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
            ),
            calls=(QUOTES,),
            in_reasoning=True,
        ),
        Output(
            "newlines",
            (
                "\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function"
                '<｜tool▁sep｜>write_note\n```json\n{"title": "code", "text": "def '
                'f(x):\\n\\treturn x\\n\\n\\nprint(f(1))"}\n```<｜tool▁call▁end｜>'
                "<｜tool▁calls▁end｜>"
            ),
            calls=(NEWLINES,),
            in_reasoning=True,
        ),
        Output(
            "thinking before a call",
            (
                "The user wants rain.\n\nI call the tool.\n</think>\n\n"
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>"
                'get_weather\n```json\n{"city": "Paris", "days": 3}\n```'
                "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
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
            "\n</think>\n\nSay <think> or <｜tool▁calls▁begin｜> to begin.",
            content="Say <think> or <｜tool▁calls▁begin｜> to begin.",
            in_reasoning=True,
        ),
        Output(
            "cut off in a call",
            (
                "\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function"
                '<｜tool▁sep｜>get_weather\n```json\n{"city": "Par'
            ),
            content=(
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>"
                'get_weather\n```json\n{"city": "Par'
            ),
            in_reasoning=True,
        ),
        Output(
            "broken call",
            (
                "\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function"
                "<｜tool▁sep｜>get\n\nNo, never mind."
            ),
            content=(
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>"
                "get\n\nNo, never mind."
            ),
            in_reasoning=True,
        ),
        Output(
            "words behind a call",
            (
                "\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function"
                '<｜tool▁sep｜>get_weather\n```json\n{"city": "Paris", "days": 3}\n'
                "```<｜tool▁call▁end｜><｜tool▁calls▁end｜>\nDone."
            ),
            content="Done.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "call without thinking before it",
            (
                "\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function"
                '<｜tool▁sep｜>get_weather\n```json\n{"city": "Paris", "days": 3}\n'
                "```<｜tool▁call▁end｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>"
                "list_files\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
            in_reasoning=True,
        ),
    ),
)
