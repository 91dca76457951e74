"""DeepSeek V3.2: tags that say whether a value is a text."""

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
    templates=("deepseek-ai-DeepSeek-V3.2",),
    format=ChatFormat(
        reasoning=Tags(open="<think>", close="</think>"),
        tools=ToolSyntax(
            call=(
                '<｜DSML｜invoke name="',
                Slot.NAME,
                '">',
                Slot.ARGUMENTS,
                "\n</｜DSML｜invoke>",
            ),
            arguments=ArgumentForm.TAGGED,
            start="<｜DSML｜function_calls>",
            end="</｜DSML｜function_calls>",
            tagged=TaggedArguments(
                before_key='\n<｜DSML｜parameter name="',
                after_key='" string="true">',
                after_value="</｜DSML｜parameter>",
                after_key_by_type=(
                    (
                        "integer",
                        '" string="false">',
                    ),
                    (
                        "number",
                        '" string="false">',
                    ),
                    (
                        "boolean",
                        '" string="false">',
                    ),
                    (
                        "object",
                        '" string="false">',
                    ),
                    (
                        "array",
                        '" string="false">',
                    ),
                    (
                        "null",
                        '" string="false">',
                    ),
                ),
            ),
        ),
        name="learned",
    ),
    outputs=(
        Output(
            "single call",
            (
                "</think><｜DSML｜function_calls>\n<｜DSML｜invoke "
                'name="get_weather">\n<｜DSML｜parameter name="city" string="true">'
                'Paris</｜DSML｜parameter>\n<｜DSML｜parameter name="days" '
                'string="false">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
                "</｜DSML｜function_calls>"
            ),
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "words before a call",
            (
                "</think>Let me look that up.\n\n<｜DSML｜function_calls>\n"
                '<｜DSML｜invoke name="get_weather">\n'
                '<｜DSML｜parameter name="city" string="true">Paris'
                '</｜DSML｜parameter>\n<｜DSML｜parameter name="days" string="false">'
                "3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "parallel calls",
            (
                "</think><｜DSML｜function_calls>\n<｜DSML｜invoke "
                'name="get_weather">\n<｜DSML｜parameter name="city" string="true">'
                'Paris</｜DSML｜parameter>\n<｜DSML｜parameter name="days" '
                'string="false">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
                '<｜DSML｜invoke name="list_files">\n</｜DSML｜invoke>\n'
                "</｜DSML｜function_calls>"
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
                '</think><｜DSML｜function_calls>\n<｜DSML｜invoke name="search">\n'
                '<｜DSML｜parameter name="filter" string="false">'
                '{"tags": ["a", "b"], "range": {"min": 1.5, "max": null}}'
                '</｜DSML｜parameter>\n<｜DSML｜parameter name="exact" '
                'string="false">true</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
                "</｜DSML｜function_calls>"
            ),
            calls=(SEARCH,),
            in_reasoning=True,
        ),
        Output(
            "unicode",
            (
                '</think><｜DSML｜function_calls>\n<｜DSML｜invoke name="write_note">'
                '\n<｜DSML｜parameter name="title" string="true">São Paulo 🌧️'
                '</｜DSML｜parameter>\n<｜DSML｜parameter name="text" string="true">'
                "多云，\xa022 °C</｜DSML｜parameter>\n</｜DSML｜invoke>\n"
                "</｜DSML｜function_calls>"
            ),
            calls=(UNICODE,),
            in_reasoning=True,
        ),
        Output(
            "quotes",
            (
                '</think><｜DSML｜function_calls>\n<｜DSML｜invoke name="write_note">'
                '\n<｜DSML｜parameter name="title" string="true">'
                'It\'s "quoted" \\ fine</｜DSML｜parameter>\n'
                '<｜DSML｜parameter name="text" string="true"></div> {x: [1, 2]} ```'
                "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"
            ),
            calls=(QUOTES,),
            in_reasoning=True,
        ),
        Output(
            "newlines",
            (
                '</think><｜DSML｜function_calls>\n<｜DSML｜invoke name="write_note">'
                '\n<｜DSML｜parameter name="title" string="true">code'
                '</｜DSML｜parameter>\n<｜DSML｜parameter name="text" string="true">'
                "def f(x):\n\treturn x\n\n\nprint(f(1))</｜DSML｜parameter>\n"
                "</｜DSML｜invoke>\n</｜DSML｜function_calls>"
            ),
            calls=(NEWLINES,),
            in_reasoning=True,
        ),
        Output(
            "thinking before a call",
            (
                "The user wants rain.\n\nI call the tool.</think>"
                '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n'
                '<｜DSML｜parameter name="city" string="true">Paris'
                '</｜DSML｜parameter>\n<｜DSML｜parameter name="days" string="false">'
                "3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "thinking, then an answer",
            ('Two and two.</think>The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.'),
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
            '</think>The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            in_reasoning=True,
        ),
        Output(
            "markers in an answer",
            "</think>Say <think> or <｜DSML｜function_calls> to begin.",
            content="Say <think> or <｜DSML｜function_calls> to begin.",
            in_reasoning=True,
        ),
        Output(
            "cut off in a call",
            (
                "</think><｜DSML｜function_calls>\n<｜DSML｜invoke "
                'name="get_weather">\n<｜DSML｜parameter name="city" string="true">'
                "Par"
            ),
            content=(
                '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n'
                '<｜DSML｜parameter name="city" string="true">Par'
            ),
            in_reasoning=True,
        ),
        Output(
            "broken call",
            (
                '</think><｜DSML｜function_calls>\n<｜DSML｜invoke name="get\n\n'
                "No, never mind."
            ),
            content=(
                '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get\n\nNo, never mind.'
            ),
            in_reasoning=True,
        ),
        Output(
            "words behind a call",
            (
                "</think><｜DSML｜function_calls>\n<｜DSML｜invoke "
                'name="get_weather">\n<｜DSML｜parameter name="city" string="true">'
                'Paris</｜DSML｜parameter>\n<｜DSML｜parameter name="days" '
                'string="false">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
                "</｜DSML｜function_calls>\nDone."
            ),
            content="Done.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
    ),
)
