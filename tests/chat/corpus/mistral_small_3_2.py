"""Mistral Small 3.2: names, ids and arguments behind tokens of their own."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("Mistral-Small-3.2-24B-Instruct-2506",),
    format=ChatFormat(
        tools=ToolSyntax(
            call=(
                "[TOOL_CALLS]",
                Slot.NAME,
                "[CALL_ID]",
                Slot.ID,
                "[ARGS]",
                Slot.ARGUMENTS,
            ),
            id_pattern="[a-zA-Z0-9]{9}",
        ),
        name="mistral",
    ),
    outputs=(
        Output(
            "single call",
            (
                '[TOOL_CALLS]get_weather[CALL_ID]abcdef000[ARGS]{"city": "Paris", '
                '"days": 3}'
            ),
            calls=(PARIS,),
            ids=("abcdef000",),
        ),
        Output(
            "words before a call",
            (
                "Let me look that up.[TOOL_CALLS]get_weather[CALL_ID]abcdef000[ARGS]{"
                '"city": "Paris", "days": 3}'
            ),
            content="Let me look that up.",
            calls=(PARIS,),
            ids=("abcdef000",),
        ),
        Output(
            "parallel calls",
            (
                '[TOOL_CALLS]get_weather[CALL_ID]abcdef000[ARGS]{"city": "Paris", '
                '"days": 3}[TOOL_CALLS]list_files[CALL_ID]abcdef001[ARGS]{}'
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
            ids=("abcdef000", "abcdef001"),
        ),
        Output(
            "nested values",
            (
                '[TOOL_CALLS]search[CALL_ID]abcdef000[ARGS]{"filter": {"tags": ["a", '
                '"b"], "range": {"min": 1.5, "max": null}}, "exact": true}'
            ),
            calls=(SEARCH,),
            ids=("abcdef000",),
        ),
        Output(
            "unicode",
            (
                '[TOOL_CALLS]write_note[CALL_ID]abcdef000[ARGS]{"title": "São Paulo '
                '🌧️", "text": "多云，\xa022 °C"}'
            ),
            calls=(UNICODE,),
            ids=("abcdef000",),
        ),
        Output(
            "quotes",
            (
                '[TOOL_CALLS]write_note[CALL_ID]abcdef000[ARGS]{"title": "It\'s '
                '\\"quoted\\" \\\\ fine", "text": "</div> {x: [1, 2]} ```"}'
            ),
            calls=(QUOTES,),
            ids=("abcdef000",),
        ),
        Output(
            "newlines",
            (
                '[TOOL_CALLS]write_note[CALL_ID]abcdef000[ARGS]{"title": "code", '
                '"text": "def f(x):\\n\\treturn x\\n\\n\\nprint(f(1))"}'
            ),
            calls=(NEWLINES,),
            ids=("abcdef000",),
        ),
        Output(
            "no call",
            'The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "markers in an answer",
            "Say [TOOL_CALLS] to begin.",
            content="Say [TOOL_CALLS] to begin.",
        ),
        Output(
            "cut off in a call",
            '[TOOL_CALLS]get_weather[CALL_ID]abcdef000[ARGS]{"city": "Par',
            content='[TOOL_CALLS]get_weather[CALL_ID]abcdef000[ARGS]{"city": "Par',
        ),
        Output(
            "broken call",
            "[TOOL_CALLS]get\n\nNo, never mind.",
            content="[TOOL_CALLS]get\n\nNo, never mind.",
        ),
        Output(
            "words behind a call",
            (
                '[TOOL_CALLS]get_weather[CALL_ID]abcdef000[ARGS]{"city": "Paris", '
                '"days": 3}\nDone.'
            ),
            content="Done.",
            calls=(PARIS,),
            ids=("abcdef000",),
        ),
    ),
)
