"""Ministral 3: names and arguments behind tokens of their own, thinking in brackets."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, Tags, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("mistralai-Ministral-3-14B-Reasoning-2512",),
    format=ChatFormat(
        reasoning=Tags(open="[THINK]", close="[/THINK]"),
        tools=ToolSyntax(
            call=(
                "[TOOL_CALLS]",
                Slot.NAME,
                "[ARGS]",
                Slot.ARGUMENTS,
            )
        ),
        name="learned",
    ),
    outputs=(
        Output(
            "single call",
            '[TOOL_CALLS]get_weather[ARGS]{"city": "Paris", "days": 3}',
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                'Let me look that up.[TOOL_CALLS]get_weather[ARGS]{"city": "Paris", '
                '"days": 3}'
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                '[TOOL_CALLS]get_weather[ARGS]{"city": "Paris", "days": '
                "3}[TOOL_CALLS]list_files[ARGS]{}"
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                '[TOOL_CALLS]search[ARGS]{"filter": {"tags": ["a", "b"], "range": '
                '{"min": 1.5, "max": null}}, "exact": true}'
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                '[TOOL_CALLS]write_note[ARGS]{"title": "São Paulo 🌧️", "text": '
                '"多云，\xa022 °C"}'
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                '[TOOL_CALLS]write_note[ARGS]{"title": "It\'s \\"quoted\\" \\\\ '
                'fine", "text": "</div> {x: [1, 2]} ```"}'
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                '[TOOL_CALLS]write_note[ARGS]{"title": "code", "text": "def '
                'f(x):\\n\\treturn x\\n\\n\\nprint(f(1))"}'
            ),
            calls=(NEWLINES,),
        ),
        Output(
            "thinking before a call",
            (
                "[THINK]The user wants rain.\n\nI call the "
                'tool.[/THINK][TOOL_CALLS]get_weather[ARGS]{"city": "Paris", "days": '
                "3}"
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
        ),
        Output(
            "thinking, then an answer",
            (
                "[THINK]Two and two.[/THINK]The sum is **4**.\n\nIf a "
                '< b && {"x": [1]}, fine.'
            ),
            reasoning="Two and two.",
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "thinking without an end",
            "[THINK]The user wants rain.\n\nI call the tool.",
            reasoning="The user wants rain.\n\nI call the tool.",
        ),
        Output(
            "no call",
            'The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "markers in an answer",
            "Say [THINK] or [TOOL_CALLS] to begin.",
            content="Say [THINK] or [TOOL_CALLS] to begin.",
        ),
        Output(
            "cut off in a call",
            '[TOOL_CALLS]get_weather[ARGS]{"city": "Par',
            content='[TOOL_CALLS]get_weather[ARGS]{"city": "Par',
        ),
        Output(
            "broken call",
            "[TOOL_CALLS]get\n\nNo, never mind.",
            content="[TOOL_CALLS]get\n\nNo, never mind.",
        ),
        Output(
            "empty thinking",
            (
                '[THINK][/THINK][TOOL_CALLS]get_weather[ARGS]{"city": "Paris", '
                '"days": 3}'
            ),
            calls=(PARIS,),
        ),
        Output(
            "words behind a call",
            '[TOOL_CALLS]get_weather[ARGS]{"city": "Paris", "days": 3}\nDone.',
            content="Done.",
            calls=(PARIS,),
        ),
    ),
)
