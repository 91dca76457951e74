"""Gemma 4: bare keys, and a token for quotes."""

from __future__ import annotations

from llamactypes.chat.output.format import (
    ArgumentForm,
    ChatFormat,
    Slot,
    Tags,
    ToolSyntax,
)
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("google-gemma-4-31B-it", "google-gemma-4-31B-it-interleaved"),
    format=ChatFormat(
        reasoning=Tags(open="<|channel>thought", close="<channel|>"),
        tools=ToolSyntax(
            call=(
                "<|tool_call>call:",
                Slot.NAME,
                "{",
                Slot.ARGUMENTS,
                "}<tool_call|>",
            ),
            arguments=ArgumentForm.UNQUOTED,
            quote='<|"|>',
        ),
        name="gemma-4",
    ),
    outputs=(
        Output(
            "single call",
            ('<|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:3}<tool_call|>'),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                'Let me look that up.<|tool_call>call:get_weather{city:<|"|>Paris'
                '<|"|>,days:3}<tool_call|>'
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                '<|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:3}'
                "<tool_call|><|tool_call>call:list_files{}<tool_call|>"
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                '<|tool_call>call:search{filter:{tags:[<|"|>a<|"|>,<|"|>b<|"|>'
                "],range:{min:1.5,max:null}},exact:true}<tool_call|>"
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                '<|tool_call>call:write_note{title:<|"|>São Paulo 🌧️<|"|>,text:<|"|>'
                '多云，\xa022 °C<|"|>}<tool_call|>'
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                '<|tool_call>call:write_note{title:<|"|>It\'s "quoted" \\ fine<|"|>'
                ',text:<|"|></div> {x: [1, 2]} ```<|"|>}<tool_call|>'
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                '<|tool_call>call:write_note{title:<|"|>code<|"|>,text:<|"|>'
                'def f(x):\n\treturn x\n\n\nprint(f(1))<|"|>}<tool_call|>'
            ),
            calls=(NEWLINES,),
        ),
        Output(
            "thinking before a call",
            (
                "<|channel>thought\nThe user wants rain.\n\nI call the tool.\n"
                '<channel|><|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:3}'
                "<tool_call|>"
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
        ),
        Output(
            "thinking, then an answer",
            (
                "<|channel>thought\nTwo and two.\n<channel|>The sum is **4**.\n\n"
                'If a < b && {"x": [1]}, fine.'
            ),
            reasoning="Two and two.",
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "thinking without an end",
            "<|channel>thought\nThe user wants rain.\n\nI call the tool.",
            reasoning="The user wants rain.\n\nI call the tool.",
        ),
        Output(
            "no call",
            'The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "markers in an answer",
            "Say <|channel>thought or <|tool_call>call: to begin.",
            content="Say <|channel>thought or <|tool_call>call: to begin.",
        ),
        Output(
            "cut off in a call",
            '<|tool_call>call:get_weather{city:<|"|>Par',
            content='<|tool_call>call:get_weather{city:<|"|>Par',
        ),
        Output(
            "broken call",
            "<|tool_call>call:get\n\nNo, never mind.",
            content="<|tool_call>call:get\n\nNo, never mind.",
        ),
        Output(
            "empty thinking",
            (
                "<|channel>thought\n\n<channel|><|tool_call>call:get_weather{city:"
                '<|"|>Paris<|"|>,days:3}<tool_call|>'
            ),
            calls=(PARIS,),
        ),
        Output(
            "words behind a call",
            (
                '<|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:3}'
                "<tool_call|>\nDone."
            ),
            content="Done.",
            calls=(PARIS,),
        ),
        Output(
            "constants as the template writes them",
            (
                "<|tool_call>call:search{exact:true,filter:{range:{max:None,min:1.5},"
                'tags:[<|"|>a<|"|>,<|"|>b<|"|>]}}<tool_call|>'
            ),
            calls=(SEARCH,),
        ),
    ),
)
