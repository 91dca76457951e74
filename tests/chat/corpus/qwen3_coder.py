"""Qwen 3 Coder: no thinking."""

from __future__ import annotations

from llamactypes.chat.output.format import (
    ArgumentForm,
    ChatFormat,
    Slot,
    TaggedArguments,
    ToolSyntax,
)
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("Qwen3-Coder",),
    format=ChatFormat(
        tools=ToolSyntax(
            call=(
                "<tool_call>\n<function=",
                Slot.NAME,
                ">",
                Slot.ARGUMENTS,
                "\n</function>\n</tool_call>",
            ),
            arguments=ArgumentForm.TAGGED,
            tagged=TaggedArguments(
                before_key="\n<parameter=",
                after_key=">\n",
                after_value="\n</parameter>",
            ),
        ),
        name="learned",
    ),
    outputs=(
        Output(
            "single call",
            (
                "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n"
                "</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n"
                "</tool_call>"
            ),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                "Let me look that up.\n\n<tool_call>\n<function=get_weather>\n"
                "<parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n"
                "</parameter>\n</function>\n</tool_call>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n"
                "</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n"
                "</tool_call>\n<tool_call>\n<function=list_files>\n</function>\n"
                "</tool_call>"
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                "<tool_call>\n<function=search>\n<parameter=filter>\n"
                '{"tags": ["a", "b"], "range": {"min": 1.5, "max": null}}\n'
                "</parameter>\n<parameter=exact>\ntrue\n</parameter>\n</function>\n"
                "</tool_call>"
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                "<tool_call>\n<function=write_note>\n<parameter=title>\n"
                "São Paulo 🌧️\n</parameter>\n<parameter=text>\n多云，\xa022 °C\n"
                "</parameter>\n</function>\n</tool_call>"
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                "<tool_call>\n<function=write_note>\n<parameter=title>\n"
                'It\'s "quoted" \\ fine\n</parameter>\n<parameter=text>\n</div>'
                " {x: [1, 2]} ```\n</parameter>\n</function>\n</tool_call>"
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                "<tool_call>\n<function=write_note>\n<parameter=title>\ncode\n"
                "</parameter>\n<parameter=text>\ndef f(x):\n\treturn x\n\n\n"
                "print(f(1))\n</parameter>\n</function>\n</tool_call>"
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
            "Say <tool_call> to begin.",
            content="Say <tool_call> to begin.",
        ),
        Output(
            "cut off in a call",
            "<tool_call>\n<function=get_weather>\n<parameter=city>\nPar",
            content="<tool_call>\n<function=get_weather>\n<parameter=city>\nPar",
        ),
        Output(
            "broken call",
            "<tool_call>\n<function=get\n\nNo, never mind.",
            content="<tool_call>\n<function=get\n\nNo, never mind.",
        ),
        Output(
            "words behind a call",
            (
                "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n"
                "</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n"
                "</tool_call>\nDone."
            ),
            content="Done.",
            calls=(PARIS,),
        ),
        Output(
            "Python's spelling of constants",
            (
                "<tool_call>\n<function=search>\n<parameter=filter>\n"
                '{"tags": ["a", "b"], "range": {"min": 1.5, "max": null}}\n'
                "</parameter>\n<parameter=exact>\nTrue\n</parameter>\n</function>\n"
                "</tool_call>"
            ),
            calls=(SEARCH,),
        ),
        Output(
            "tight spelling",
            (
                "<tool_call><function=get_weather><parameter=city>Paris</parameter>"
                "<parameter=days>3</parameter></function></tool_call>"
            ),
            calls=(PARIS,),
        ),
    ),
)
