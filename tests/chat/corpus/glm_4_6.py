"""GLM 4.6."""

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
    templates=("GLM-4.6",),
    format=ChatFormat(
        reasoning=Tags(open="<think>", close="</think>"),
        tools=ToolSyntax(
            call=(
                "<tool_call>",
                Slot.NAME,
                Slot.ARGUMENTS,
                "\n</tool_call>",
            ),
            arguments=ArgumentForm.TAGGED,
            tagged=TaggedArguments(
                before_key="\n<arg_key>",
                after_key="</arg_key>\n<arg_value>",
                after_value="</arg_value>",
            ),
        ),
        name="learned",
    ),
    outputs=(
        Output(
            "single call",
            (
                "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris"
                "</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n"
                "</tool_call>"
            ),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                "Let me look that up.\n<tool_call>get_weather\n<arg_key>city"
                "</arg_key>\n<arg_value>Paris</arg_value>\n<arg_key>days</arg_key>\n"
                "<arg_value>3</arg_value>\n</tool_call>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris"
                "</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n"
                "</tool_call>\n<tool_call>list_files\n</tool_call>"
            ),
            calls=(
                PARIS,
                LIST_FILES,
            ),
        ),
        Output(
            "nested values",
            (
                "<tool_call>search\n<arg_key>filter</arg_key>\n<arg_value>"
                '{"tags": ["a", "b"], "range": {"min": 1.5, "max": null}}</arg_value>'
                "\n<arg_key>exact</arg_key>\n<arg_value>true</arg_value>\n"
                "</tool_call>"
            ),
            calls=(SEARCH,),
        ),
        Output(
            "unicode",
            (
                "<tool_call>write_note\n<arg_key>title</arg_key>\n<arg_value>"
                "São Paulo 🌧️</arg_value>\n<arg_key>text</arg_key>\n<arg_value>"
                "多云，\xa022 °C</arg_value>\n</tool_call>"
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                "<tool_call>write_note\n<arg_key>title</arg_key>\n<arg_value>"
                'It\'s "quoted" \\ fine</arg_value>\n<arg_key>text</arg_key>\n'
                "<arg_value></div> {x: [1, 2]} ```</arg_value>\n</tool_call>"
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                "<tool_call>write_note\n<arg_key>title</arg_key>\n<arg_value>code"
                "</arg_value>\n<arg_key>text</arg_key>\n<arg_value>def f(x):\n"
                "\treturn x\n\n\nprint(f(1))</arg_value>\n</tool_call>"
            ),
            calls=(NEWLINES,),
        ),
        Output(
            "thinking before a call",
            (
                "\n<think>The user wants rain.\n\nI call the tool.</think>\n"
                "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris"
                "</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n"
                "</tool_call>"
            ),
            reasoning="The user wants rain.\n\nI call the tool.",
            calls=(PARIS,),
        ),
        Output(
            "thinking, then an answer",
            (
                "\n<think>Two and two.</think>\nThe sum is **4**.\n\nIf a "
                '< b && {"x": [1]}, fine.'
            ),
            reasoning="Two and two.",
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "thinking without an end",
            "\n<think>The user wants rain.\n\nI call the tool.",
            reasoning="The user wants rain.\n\nI call the tool.",
        ),
        Output(
            "no call",
            'The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
            content='The sum is **4**.\n\nIf a < b && {"x": [1]}, fine.',
        ),
        Output(
            "markers in an answer",
            "Say <think> or <tool_call> to begin.",
            content="Say <think> or <tool_call> to begin.",
        ),
        Output(
            "cut off in a call",
            "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Par",
            content="<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Par",
        ),
        Output(
            "broken call",
            "<tool_call>get\n\nNo, never mind.",
            content="<tool_call>get\n\nNo, never mind.",
        ),
        Output(
            "empty thinking",
            (
                "\n<think></think>\n<tool_call>get_weather\n<arg_key>city</arg_key>\n"
                "<arg_value>Paris</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3"
                "</arg_value>\n</tool_call>"
            ),
            calls=(PARIS,),
        ),
        Output(
            "words behind a call",
            (
                "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris"
                "</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n"
                "</tool_call>\nDone."
            ),
            content="Done.",
            calls=(PARIS,),
        ),
    ),
)
