"""Muse Glimmer: messages to the user, to itself, or to a tool."""

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
    templates=("muse-glimmer",),
    format=ChatFormat(
        reasoning=Tags(open="<|start|>assistant to=self<|message|>", close="<|eom|>"),
        content=Tags(open="<|start|>assistant to=user<|message|>", close="<|eom|>"),
        tools=ToolSyntax(
            call=(
                "<|start|>assistant to=",
                Slot.NAME,
                '<|message|><atem:function_calls>\n<atem:invoke name="',
                Slot.NAME,
                '">',
                Slot.ARGUMENTS,
                "\n</atem:invoke>\n</atem:function_calls>",
            ),
            arguments=ArgumentForm.TAGGED,
            separator="<|eom|>",
            tagged=TaggedArguments(
                before_key='\n<atem:parameter name="',
                after_key='">',
                after_value="</atem:parameter>",
            ),
        ),
        prompted="<|start|>assistant",
        name="muse-glimmer",
    ),
    outputs=(
        Output(
            "single call",
            (
                " to=get_weather<|message|><atem:function_calls>\n"
                '<atem:invoke name="get_weather">\n<atem:parameter name="city">Paris'
                '</atem:parameter>\n<atem:parameter name="days">3</atem:parameter>\n'
                "</atem:invoke>\n</atem:function_calls>"
            ),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                " to=user<|message|>Let me look that up.<|eom|><|start|>"
                "assistant to=get_weather<|message|><atem:function_calls>\n"
                '<atem:invoke name="get_weather">\n<atem:parameter name="city">Paris'
                '</atem:parameter>\n<atem:parameter name="days">3</atem:parameter>\n'
                "</atem:invoke>\n</atem:function_calls>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                " to=get_weather<|message|><atem:function_calls>\n"
                '<atem:invoke name="get_weather">\n<atem:parameter name="city">Paris'
                '</atem:parameter>\n<atem:parameter name="days">3</atem:parameter>\n'
                "</atem:invoke>\n</atem:function_calls><|eom|><|start|>"
                "assistant to=list_files<|message|><atem:function_calls>\n"
                '<atem:invoke name="list_files">\n</atem:invoke>\n'
                "</atem:function_calls>"
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                " to=search<|message|><atem:function_calls>\n"
                '<atem:invoke name="search">\n<atem:parameter name="filter">'
                '{"tags": ["a", "b"], "range": {"min": 1.5, "max": null}}'
                '</atem:parameter>\n<atem:parameter name="exact">true'
                "</atem:parameter>\n</atem:invoke>\n</atem:function_calls>"
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                " to=write_note<|message|><atem:function_calls>\n"
                '<atem:invoke name="write_note">\n<atem:parameter name="title">'
                'São Paulo 🌧️</atem:parameter>\n<atem:parameter name="text">'
                "多云，\xa022 °C</atem:parameter>\n</atem:invoke>\n"
                "</atem:function_calls>"
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                " to=write_note<|message|><atem:function_calls>\n"
                '<atem:invoke name="write_note">\n<atem:parameter name="title">'
                'It\'s "quoted" \\ fine</atem:parameter>\n'
                '<atem:parameter name="text"></div> {x: [1, 2]} ```</atem:parameter>'
                "\n</atem:invoke>\n</atem:function_calls>"
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                " to=write_note<|message|><atem:function_calls>\n"
                '<atem:invoke name="write_note">\n<atem:parameter name="title">code'
                '</atem:parameter>\n<atem:parameter name="text">def f(x):\n'
                "\treturn x\n\n\nprint(f(1))</atem:parameter>\n</atem:invoke>\n"
                "</atem:function_calls>"
            ),
            calls=(NEWLINES,),
        ),
        Output(
            "thinking before a call",
            (
                " to=self<|message|>The user wants rain.\n\nI call the tool.<|eom|>"
                "<|start|>assistant to=get_weather<|message|><atem:function_calls>\n"
                '<atem:invoke name="get_weather">\n<atem:parameter name="city">Paris'
                '</atem:parameter>\n<atem:parameter name="days">3</atem:parameter>\n'
                "</atem:invoke>\n</atem:function_calls>"
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
        ),
        Output(
            "thinking, then an answer",
            (
                " to=self<|message|>Two and two.<|eom|><|start|>assistant to=user"
                '<|message|>The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.<|eom|>'
            ),
            reasoning="Two and two.",
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "thinking without an end",
            " to=self<|message|>The user wants rain.\n\nI call the tool.",
            reasoning="The user wants rain.\n\nI call the tool.",
        ),
        Output(
            "no call",
            (
                " to=user<|message|>The sum is **4**.\n\nIf a "
                '< b && {"x": [1]}, fine.<|eom|>'
            ),
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "markers in an answer",
            (
                " to=user<|message|>Say <|start|>assistant to=self<|message|> or "
                "<|start|>assistant to begin.<|eom|>"
            ),
            content=(
                "Say <|start|>assistant to=self<|message|> or <|start|>"
                "assistant to begin."
            ),
        ),
        Output(
            "cut off in a call",
            (
                " to=get_weather<|message|><atem:function_calls>\n"
                '<atem:invoke name="get_weather">\n<atem:parameter name="city">Par'
            ),
            content=(
                " to=get_weather<|message|><atem:function_calls>\n"
                '<atem:invoke name="get_weather">\n<atem:parameter name="city">Par'
            ),
        ),
        Output(
            "broken call",
            " to=get\n\nNo, never mind.",
            content=" to=get\n\nNo, never mind.",
        ),
        Output(
            "empty thinking",
            (
                " to=self<|message|><|eom|><|start|>assistant to=get_weather"
                '<|message|><atem:function_calls>\n<atem:invoke name="get_weather">\n'
                '<atem:parameter name="city">Paris</atem:parameter>\n'
                '<atem:parameter name="days">3</atem:parameter>\n</atem:invoke>\n'
                "</atem:function_calls>"
            ),
            calls=(PARIS,),
        ),
    ),
)
