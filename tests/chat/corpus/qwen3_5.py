"""Qwen 3.5: as the coder, with thinking that the prompt begins."""

from __future__ import annotations

from llamactypes.chat.output.format import (
    ArgumentForm,
    ChatFormat,
    Slot,
    TaggedArguments,
    Tags,
    ToolSyntax,
)
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, SEARCH, UNICODE
from tests.chat.corpus.corpus import Corpus, Output

CORPUS = Corpus(
    templates=("Qwen3.5-4B", "StepFun3.5-Flash", "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"),
    format=ChatFormat(
        reasoning=Tags(open="<think>", close="</think>"),
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
                "\n</think>\n\n<tool_call>\n<function=get_weather>\n<parameter=city>"
                "\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>\n"
                "</function>\n</tool_call>"
            ),
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "words before a call",
            (
                "\n</think>\n\nLet me look that up.\n\n<tool_call>\n"
                "<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n"
                "<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "parallel calls",
            (
                "\n</think>\n\n<tool_call>\n<function=get_weather>\n<parameter=city>"
                "\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>\n"
                "</function>\n</tool_call>\n<tool_call>\n<function=list_files>\n"
                "</function>\n</tool_call>"
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
                "\n</think>\n\n<tool_call>\n<function=search>\n<parameter=filter>\n"
                '{"tags": ["a", "b"], "range": {"min": 1.5, "max": null}}\n'
                "</parameter>\n<parameter=exact>\ntrue\n</parameter>\n</function>\n"
                "</tool_call>"
            ),
            calls=(SEARCH,),
            in_reasoning=True,
        ),
        Output(
            "unicode",
            (
                "\n</think>\n\n<tool_call>\n<function=write_note>\n<parameter=title>"
                "\nSão Paulo 🌧️\n</parameter>\n<parameter=text>\n多云，\xa022 °C\n"
                "</parameter>\n</function>\n</tool_call>"
            ),
            calls=(UNICODE,),
            in_reasoning=True,
        ),
        Output(
            "quotes",
            (
                "\n</think>\n\n<tool_call>\n<function=write_note>\n<parameter=title>"
                '\nIt\'s "quoted" \\ fine\n</parameter>\n<parameter=text>\n</div>'
                " {x: [1, 2]} ```\n</parameter>\n</function>\n</tool_call>"
            ),
            calls=(QUOTES,),
            in_reasoning=True,
        ),
        Output(
            "newlines",
            (
                "\n</think>\n\n<tool_call>\n<function=write_note>\n<parameter=title>"
                "\ncode\n</parameter>\n<parameter=text>\ndef f(x):\n\treturn x\n\n\n"
                "print(f(1))\n</parameter>\n</function>\n</tool_call>"
            ),
            calls=(NEWLINES,),
            in_reasoning=True,
        ),
        Output(
            "thinking before a call",
            (
                "The user wants rain.\n\nI call the tool.\n</think>\n\n<tool_call>\n"
                "<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n"
                "<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>"
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
            "\n</think>\n\nSay <think> or <tool_call> to begin.",
            content="Say <think> or <tool_call> to begin.",
            in_reasoning=True,
        ),
        Output(
            "cut off in a call",
            (
                "\n</think>\n\n<tool_call>\n<function=get_weather>\n<parameter=city>"
                "\nPar"
            ),
            content="<tool_call>\n<function=get_weather>\n<parameter=city>\nPar",
            in_reasoning=True,
        ),
        Output(
            "broken call",
            "\n</think>\n\n<tool_call>\n<function=get\n\nNo, never mind.",
            content="<tool_call>\n<function=get\n\nNo, never mind.",
            in_reasoning=True,
        ),
        Output(
            "words behind a call",
            (
                "\n</think>\n\n<tool_call>\n<function=get_weather>\n<parameter=city>"
                "\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>\n"
                "</function>\n</tool_call>\nDone."
            ),
            content="Done.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
    ),
)
