"""Apertus: the name is the key of the arguments."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, Tags, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("Apertus-8B-Instruct",),
    format=ChatFormat(
        reasoning=Tags(open="<|inner_prefix|>", close="<|inner_suffix|>"),
        tools=ToolSyntax(
            call=(
                '{"',
                Slot.NAME,
                '": ',
                Slot.ARGUMENTS,
                "}",
            ),
            start="<|tools_prefix|>[",
            end="]<|tools_suffix|>",
            separator=",",
            quotes_names=True,
        ),
        name="apertus",
    ),
    outputs=(
        Output(
            "single call",
            (
                '<|tools_prefix|>[{"get_weather": {"city": "Paris", "days": 3}}]'
                "<|tools_suffix|>"
            ),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                "Let me look that up.<|tools_prefix|>"
                '[{"get_weather": {"city": "Paris", "days": 3}}]<|tools_suffix|>'
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                '<|tools_prefix|>[{"get_weather": {"city": "Paris", "days": 3}}, '
                '{"list_files": {}}]<|tools_suffix|>'
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                '<|tools_prefix|>[{"search": {"filter": {"tags": ["a", "b"], '
                '"range": {"min": 1.5, "max": null}}, "exact": true}}]'
                "<|tools_suffix|>"
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                '<|tools_prefix|>[{"write_note": {"title": "São Paulo 🌧️", "text": '
                '"多云，\xa022 °C"}}]<|tools_suffix|>'
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                '<|tools_prefix|>[{"write_note": {"title": "It\'s \\"quoted\\" \\\\ '
                'fine", "text": "</div> {x: [1, 2]} ```"}}]<|tools_suffix|>'
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                '<|tools_prefix|>[{"write_note": {"title": "code", "text": "def '
                'f(x):\\n\\treturn x\\n\\n\\nprint(f(1))"}}]<|tools_suffix|>'
            ),
            calls=(NEWLINES,),
        ),
        Output(
            "no call",
            'The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "markers in an answer",
            "Say <|inner_prefix|> or <|tools_prefix|> to begin.",
            content="Say <|inner_prefix|> or <|tools_prefix|> to begin.",
        ),
        Output(
            "cut off in a call",
            '<|tools_prefix|>[{"get_weather": {"city": "Par',
            content='<|tools_prefix|>[{"get_weather": {"city": "Par',
        ),
        Output(
            "broken call",
            '<|tools_prefix|>[{"get\n\nNo, never mind.',
            content='<|tools_prefix|>[{"get\n\nNo, never mind.',
        ),
        Output(
            "words behind a call",
            (
                '<|tools_prefix|>[{"get_weather": {"city": "Paris", "days": 3}}]'
                "<|tools_suffix|>\nDone."
            ),
            content="Done.",
            calls=(PARIS,),
        ),
    ),
)
