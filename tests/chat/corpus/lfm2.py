"""LFM 2 of Liquid: Python calls."""

from __future__ import annotations

from llamactypes.chat.output.format import ArgumentForm, ChatFormat, Slot, ToolSyntax
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("LFM2-8B-A1B", "LFM2.5-Instruct"),
    format=ChatFormat(
        tools=ToolSyntax(
            call=(
                Slot.NAME,
                "(",
                Slot.ARGUMENTS,
                ")",
            ),
            arguments=ArgumentForm.PYTHON,
            start="<|tool_call_start|>[",
            end="]<|tool_call_end|>",
            separator=",",
        ),
        name="lfm2",
    ),
    outputs=(
        Output(
            "single call",
            ('<|tool_call_start|>[get_weather(city="Paris", days=3)]<|tool_call_end|>'),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                "Let me look that up.<|tool_call_start|>"
                '[get_weather(city="Paris", days=3)]<|tool_call_end|>'
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                '<|tool_call_start|>[get_weather(city="Paris", days=3), list_files()]'
                "<|tool_call_end|>"
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                '<|tool_call_start|>[search(filter={"tags": ["a", "b"], "range": '
                '{"min": 1.5, "max": None}}, exact=True)]<|tool_call_end|>'
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                '<|tool_call_start|>[write_note(title="São Paulo 🌧️", '
                'text="多云，\xa022 °C")]<|tool_call_end|>'
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                '<|tool_call_start|>[write_note(title="It\'s \\"quoted\\" \\\\ '
                'fine", text="</div> {x: [1, 2]} ```")]<|tool_call_end|>'
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                '<|tool_call_start|>[write_note(title="code", text="def '
                'f(x):\\n\\treturn x\\n\\n\\nprint(f(1))")]<|tool_call_end|>'
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
            "Say <|tool_call_start|> to begin.",
            content="Say <|tool_call_start|> to begin.",
        ),
        Output(
            "cut off in a call",
            '<|tool_call_start|>[get_weather(city="Par',
            content='<|tool_call_start|>[get_weather(city="Par',
        ),
        Output(
            "broken call",
            "<|tool_call_start|>[get\n\nNo, never mind.",
            content="<|tool_call_start|>[get\n\nNo, never mind.",
        ),
        Output(
            "words behind a call",
            (
                '<|tool_call_start|>[get_weather(city="Paris", days=3)]'
                "<|tool_call_end|>\nDone."
            ),
            content="Done.",
            calls=(PARIS,),
        ),
        Output(
            "single quotes and numbers",
            (
                "<|tool_call_start|>[search(filter={'tags': ('a', 'b'), 'range': "
                "{'min': 1.5, 'max': None}}, exact=True)]<|tool_call_end|>"
            ),
            calls=(SEARCH,),
        ),
        Output(
            "a value that is an expression",
            ("<|tool_call_start|>[get_weather(city=here(), days=3)]<|tool_call_end|>"),
            content=(
                "<|tool_call_start|>[get_weather(city=here(), days=3)]<|tool_call_end|>"
            ),
            only_whole=True,
        ),
    ),
)
