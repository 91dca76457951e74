"""K2 Horizon."""

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
    templates=("IFM-K2-Horizon",),
    format=ChatFormat(
        reasoning=Tags(open="<ifm|think>", close="</ifm|think>"),
        tools=ToolSyntax(
            call=(
                "<ifm|tool_call>",
                Slot.NAME,
                Slot.ARGUMENTS,
                "\n</ifm|tool_call>",
            ),
            arguments=ArgumentForm.TAGGED,
            start="<ifm|tool_calls>",
            end="</ifm|tool_calls>",
            tagged=TaggedArguments(
                before_key="\n<ifm|arg_key>",
                after_key="</ifm|arg_key>\n<ifm|arg_value>",
                after_value="</ifm|arg_value>",
            ),
        ),
        name="learned",
    ),
    outputs=(
        Output(
            "single call",
            (
                "</ifm|think><ifm|tool_calls>\n<ifm|tool_call>get_weather\n"
                "<ifm|arg_key>city</ifm|arg_key>\n<ifm|arg_value>Paris"
                "</ifm|arg_value>\n<ifm|arg_key>days</ifm|arg_key>\n<ifm|arg_value>3"
                "</ifm|arg_value>\n</ifm|tool_call>\n</ifm|tool_calls>"
            ),
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "words before a call",
            (
                "</ifm|think>Let me look that up.<ifm|tool_calls>\n<ifm|tool_call>"
                "get_weather\n<ifm|arg_key>city</ifm|arg_key>\n<ifm|arg_value>Paris"
                "</ifm|arg_value>\n<ifm|arg_key>days</ifm|arg_key>\n<ifm|arg_value>3"
                "</ifm|arg_value>\n</ifm|tool_call>\n</ifm|tool_calls>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "parallel calls",
            (
                "</ifm|think><ifm|tool_calls>\n<ifm|tool_call>get_weather\n"
                "<ifm|arg_key>city</ifm|arg_key>\n<ifm|arg_value>Paris"
                "</ifm|arg_value>\n<ifm|arg_key>days</ifm|arg_key>\n<ifm|arg_value>3"
                "</ifm|arg_value>\n</ifm|tool_call>\n<ifm|tool_call>list_files\n"
                "</ifm|tool_call>\n</ifm|tool_calls>"
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
                "</ifm|think><ifm|tool_calls>\n<ifm|tool_call>search\n<ifm|arg_key>"
                "filter</ifm|arg_key>\n<ifm|arg_value>"
                '{"tags": ["a", "b"], "range": {"min": 1.5, "max": null}}'
                "</ifm|arg_value>\n<ifm|arg_key>exact</ifm|arg_key>\n<ifm|arg_value>"
                "true</ifm|arg_value>\n</ifm|tool_call>\n</ifm|tool_calls>"
            ),
            calls=(SEARCH,),
            in_reasoning=True,
        ),
        Output(
            "unicode",
            (
                "</ifm|think><ifm|tool_calls>\n<ifm|tool_call>write_note\n"
                "<ifm|arg_key>title</ifm|arg_key>\n<ifm|arg_value>São Paulo 🌧️"
                "</ifm|arg_value>\n<ifm|arg_key>text</ifm|arg_key>\n<ifm|arg_value>"
                "多云，\xa022 °C</ifm|arg_value>\n</ifm|tool_call>\n</ifm|tool_calls>"
            ),
            calls=(UNICODE,),
            in_reasoning=True,
        ),
        Output(
            "quotes",
            (
                "</ifm|think><ifm|tool_calls>\n<ifm|tool_call>write_note\n"
                "<ifm|arg_key>title</ifm|arg_key>\n<ifm|arg_value>"
                'It\'s "quoted" \\ fine</ifm|arg_value>\n<ifm|arg_key>text'
                "</ifm|arg_key>\n<ifm|arg_value></div> {x: [1, 2]} ```"
                "</ifm|arg_value>\n</ifm|tool_call>\n</ifm|tool_calls>"
            ),
            calls=(QUOTES,),
            in_reasoning=True,
        ),
        Output(
            "newlines",
            (
                "</ifm|think><ifm|tool_calls>\n<ifm|tool_call>write_note\n"
                "<ifm|arg_key>title</ifm|arg_key>\n<ifm|arg_value>code"
                "</ifm|arg_value>\n<ifm|arg_key>text</ifm|arg_key>\n<ifm|arg_value>"
                "def f(x):\n\treturn x\n\n\nprint(f(1))</ifm|arg_value>\n"
                "</ifm|tool_call>\n</ifm|tool_calls>"
            ),
            calls=(NEWLINES,),
            in_reasoning=True,
        ),
        Output(
            "thinking before a call",
            (
                "The user wants rain.\n\nI call the tool.</ifm|think><ifm|tool_calls>"
                "\n<ifm|tool_call>get_weather\n<ifm|arg_key>city</ifm|arg_key>\n"
                "<ifm|arg_value>Paris</ifm|arg_value>\n<ifm|arg_key>days"
                "</ifm|arg_key>\n<ifm|arg_value>3</ifm|arg_value>\n</ifm|tool_call>\n"
                "</ifm|tool_calls>"
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
        Output(
            "thinking, then an answer",
            (
                "Two and two.</ifm|think>The sum is **4**.\n\nIf a "
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
            '</ifm|think>The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            in_reasoning=True,
        ),
        Output(
            "markers in an answer",
            "</ifm|think>Say <ifm|think> or <ifm|tool_calls> to begin.",
            content="Say <ifm|think> or <ifm|tool_calls> to begin.",
            in_reasoning=True,
        ),
        Output(
            "cut off in a call",
            (
                "</ifm|think><ifm|tool_calls>\n<ifm|tool_call>get_weather\n"
                "<ifm|arg_key>city</ifm|arg_key>\n<ifm|arg_value>Par"
            ),
            content=(
                "<ifm|tool_calls>\n<ifm|tool_call>get_weather\n<ifm|arg_key>city"
                "</ifm|arg_key>\n<ifm|arg_value>Par"
            ),
            in_reasoning=True,
        ),
        Output(
            "broken call",
            "</ifm|think><ifm|tool_calls>\n<ifm|tool_call>get\n\nNo, never mind.",
            content="<ifm|tool_calls>\n<ifm|tool_call>get\n\nNo, never mind.",
            in_reasoning=True,
        ),
        Output(
            "words behind a call",
            (
                "</ifm|think><ifm|tool_calls>\n<ifm|tool_call>get_weather\n"
                "<ifm|arg_key>city</ifm|arg_key>\n<ifm|arg_value>Paris"
                "</ifm|arg_value>\n<ifm|arg_key>days</ifm|arg_key>\n<ifm|arg_value>3"
                "</ifm|arg_value>\n</ifm|tool_call>\n</ifm|tool_calls>\nDone."
            ),
            content="Done.",
            calls=(PARIS,),
            in_reasoning=True,
        ),
    ),
)
