"""Seed OSS of ByteDance."""

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
    templates=("ByteDance-Seed-OSS",),
    format=ChatFormat(
        reasoning=Tags(open="<seed:think>", close="</seed:think>"),
        tools=ToolSyntax(
            call=(
                "<seed:tool_call>\n<function=",
                Slot.NAME,
                ">",
                Slot.ARGUMENTS,
                "\n</function>\n</seed:tool_call>",
            ),
            arguments=ArgumentForm.TAGGED,
            tagged=TaggedArguments(
                before_key="\n<parameter=", after_key=">", after_value="</parameter>"
            ),
        ),
        name="learned",
    ),
    outputs=(
        Output(
            "single call",
            (
                "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Paris"
                "</parameter>\n<parameter=days>3</parameter>\n</function>\n"
                "</seed:tool_call>"
            ),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                "Let me look that up.\n\n<seed:tool_call>\n<function=get_weather>\n"
                "<parameter=city>Paris</parameter>\n<parameter=days>3</parameter>\n"
                "</function>\n</seed:tool_call>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Paris"
                "</parameter>\n<parameter=days>3</parameter>\n</function>\n"
                "</seed:tool_call>\n<seed:tool_call>\n<function=list_files>\n"
                "</function>\n</seed:tool_call>"
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                "<seed:tool_call>\n<function=search>\n<parameter=filter>"
                '{"tags": ["a", "b"], "range": {"min": 1.5, "max": null}}</parameter>'
                "\n<parameter=exact>true</parameter>\n</function>\n</seed:tool_call>"
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                "<seed:tool_call>\n<function=write_note>\n<parameter=title>"
                "São Paulo 🌧️</parameter>\n<parameter=text>多云，\xa022 °C"
                "</parameter>\n</function>\n</seed:tool_call>"
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                "<seed:tool_call>\n<function=write_note>\n<parameter=title>"
                'It\'s "quoted" \\ fine</parameter>\n<parameter=text></div>'
                " {x: [1, 2]} ```</parameter>\n</function>\n</seed:tool_call>"
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                "<seed:tool_call>\n<function=write_note>\n<parameter=title>code"
                "</parameter>\n<parameter=text>def f(x):\n\treturn x\n\n\nprint(f(1))"
                "</parameter>\n</function>\n</seed:tool_call>"
            ),
            calls=(NEWLINES,),
        ),
        Output(
            "thinking before a call",
            (
                "<seed:think>The user wants rain.\n\nI call the tool.</seed:think>\n"
                "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Paris"
                "</parameter>\n<parameter=days>3</parameter>\n</function>\n"
                "</seed:tool_call>"
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
        ),
        Output(
            "thinking, then an answer",
            (
                "<seed:think>Two and two.</seed:think>\nThe sum is **4**.\n\nIf a "
                '< b && {"x": [1]}, fine.'
            ),
            reasoning="Two and two.",
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "thinking without an end",
            "<seed:think>The user wants rain.\n\nI call the tool.",
            reasoning="The user wants rain.\n\nI call the tool.",
        ),
        Output(
            "no call",
            'The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "markers in an answer",
            "Say <seed:think> or <seed:tool_call> to begin.",
            content="Say <seed:think> or <seed:tool_call> to begin.",
        ),
        Output(
            "cut off in a call",
            "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Par",
            content="<seed:tool_call>\n<function=get_weather>\n<parameter=city>Par",
        ),
        Output(
            "broken call",
            "<seed:tool_call>\n<function=get\n\nNo, never mind.",
            content="<seed:tool_call>\n<function=get\n\nNo, never mind.",
        ),
        Output(
            "empty thinking",
            (
                "<seed:think></seed:think>\n<seed:tool_call>\n<function=get_weather>"
                "\n<parameter=city>Paris</parameter>\n<parameter=days>3</parameter>\n"
                "</function>\n</seed:tool_call>"
            ),
            calls=(PARIS,),
        ),
        Output(
            "words behind a call",
            (
                "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Paris"
                "</parameter>\n<parameter=days>3</parameter>\n</function>\n"
                "</seed:tool_call>\nDone."
            ),
            content="Done.",
            calls=(PARIS,),
        ),
        Output(
            "Python's spelling of objects",
            (
                "<seed:tool_call>\n<function=search>\n<parameter=filter>"
                "{'tags': ['a', 'b'], 'range': {'min': 1.5, 'max': None}}</parameter>"
                "\n<parameter=exact>True</parameter>\n</function>\n</seed:tool_call>"
            ),
            calls=(SEARCH,),
            only_whole=True,
        ),
    ),
)
