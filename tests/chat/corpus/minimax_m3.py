"""MiniMax M3: tags within tags, a mark before each."""

from __future__ import annotations

from llamactypes.chat.output.format import (
    ArgumentForm,
    ChatFormat,
    Slot,
    Tags,
    ToolSyntax,
)
from tests.chat.corpus.calls import LIST_FILES, NEWLINES, PARIS, QUOTES, UNICODE, Call
from tests.chat.corpus.corpus import Corpus, Output

NESTED: Call = (
    "search",
    {"filter": {"tags": ["a", "b"], "range": {"min": 1.5}}, "exact": True},
)

CORPUS = Corpus(
    templates=("MiniMax-M3",),
    format=ChatFormat(
        reasoning=Tags(open="<mm:think>", close="</mm:think>"),
        content=Tags(open="</mm:think>", close=""),
        tools=ToolSyntax(
            call=(
                ']<]minimax[>[<invoke name="',
                Slot.NAME,
                '">',
                Slot.ARGUMENTS,
                "]<]minimax[>[</invoke>",
            ),
            arguments=ArgumentForm.NESTED,
            start="]<]minimax[>[<tool_call>",
            end="]<]minimax[>[</tool_call>",
            quote="]<]minimax[>[",
        ),
        name="minimax-m3",
    ),
    outputs=(
        Output(
            "single call",
            (
                "]<]minimax[>[<tool_call>\n"
                ']<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>P'
                "aris]<]minimax[>[</city>]<]minimax[>[<days>3]<]minimax[>[</d"
                "ays>]<]minimax[>[</invoke>\n"
                "]<]minimax[>[</tool_call>"
            ),
            calls=(PARIS,),
        ),
        Output(
            "words before a call",
            (
                "Let me look that up.\n"
                "]<]minimax[>[<tool_call>\n"
                ']<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>P'
                "aris]<]minimax[>[</city>]<]minimax[>[<days>3]<]minimax[>[</d"
                "ays>]<]minimax[>[</invoke>\n"
                "]<]minimax[>[</tool_call>"
            ),
            content="Let me look that up.",
            calls=(PARIS,),
        ),
        Output(
            "parallel calls",
            (
                "]<]minimax[>[<tool_call>\n"
                ']<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>P'
                "aris]<]minimax[>[</city>]<]minimax[>[<days>3]<]minimax[>[</d"
                "ays>]<]minimax[>[</invoke>\n"
                ']<]minimax[>[<invoke name="list_files">]<]minimax[>[</invoke'
                ">\n"
                "]<]minimax[>[</tool_call>"
            ),
            calls=(PARIS, LIST_FILES),
        ),
        Output(
            "no arguments",
            (
                "]<]minimax[>[<tool_call>\n"
                ']<]minimax[>[<invoke name="list_files">]<]minimax[>[</invoke'
                ">\n"
                "]<]minimax[>[</tool_call>"
            ),
            calls=(LIST_FILES,),
        ),
        Output(
            "nested values",
            (
                "]<]minimax[>[<tool_call>\n"
                ']<]minimax[>[<invoke name="search">]<]minimax[>[<filter>]<]m'
                "inimax[>[<tags>]<]minimax[>[<item>a]<]minimax[>[</item>]<]mi"
                "nimax[>[<item>b]<]minimax[>[</item>]<]minimax[>[</tags>]<]mi"
                "nimax[>[<range>]<]minimax[>[<min>1.5]<]minimax[>[</min>]<]mi"
                "nimax[>[</range>]<]minimax[>[</filter>]<]minimax[>[<exact>tr"
                "ue]<]minimax[>[</exact>]<]minimax[>[</invoke>\n"
                "]<]minimax[>[</tool_call>"
            ),
            calls=(NESTED,),
        ),
        Output(
            "unicode",
            (
                "]<]minimax[>[<tool_call>\n"
                ']<]minimax[>[<invoke name="write_note">]<]minimax[>[<title>S'
                "ão Paulo 🌧️]<]minimax[>[</title>]<]minimax[>[<text>多云，\xa022 °C"
                "]<]minimax[>[</text>]<]minimax[>[</invoke>\n"
                "]<]minimax[>[</tool_call>"
            ),
            calls=(UNICODE,),
        ),
        Output(
            "quotes",
            (
                "]<]minimax[>[<tool_call>\n"
                ']<]minimax[>[<invoke name="write_note">]<]minimax[>[<title>I'
                't\'s "quoted" \\ fine]<]minimax[>[</title>]<]minimax[>[<text><'
                "/div> {x: [1, 2]} ```]<]minimax[>[</text>]<]minimax[>[</invo"
                "ke>\n"
                "]<]minimax[>[</tool_call>"
            ),
            calls=(QUOTES,),
        ),
        Output(
            "newlines",
            (
                "]<]minimax[>[<tool_call>\n"
                ']<]minimax[>[<invoke name="write_note">]<]minimax[>[<title>c'
                "ode]<]minimax[>[</title>]<]minimax[>[<text>def f(x):\n"
                "\treturn x\n"
                "\n"
                "\n"
                "print(f(1))]<]minimax[>[</text>]<]minimax[>[</invoke>\n"
                "]<]minimax[>[</tool_call>"
            ),
            calls=(NEWLINES,),
        ),
        Output(
            "thinking before a call",
            (
                "<mm:think>The user wants rain.</mm:think>]<]minimax[>[<tool_"
                "call>\n"
                ']<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>P'
                "aris]<]minimax[>[</city>]<]minimax[>[<days>3]<]minimax[>[</d"
                "ays>]<]minimax[>[</invoke>\n"
                "]<]minimax[>[</tool_call>"
            ),
            reasoning="The user wants rain.",
            calls=(PARIS,),
        ),
        Output(
            "closed thinking before a call",
            (
                "</mm:think>]<]minimax[>[<tool_call>\n"
                ']<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>P'
                "aris]<]minimax[>[</city>]<]minimax[>[<days>3]<]minimax[>[</d"
                "ays>]<]minimax[>[</invoke>\n"
                "]<]minimax[>[</tool_call>"
            ),
            calls=(PARIS,),
        ),
        Output(
            "thinking and an answer",
            ("<mm:think>Hm.\n\nYes.</mm:think>It rains."),
            reasoning="Hm.\n\nYes.",
            content="It rains.",
        ),
        Output(
            "an answer without thinking",
            "</mm:think>It rains.",
            content="It rains.",
        ),
        Output(
            "plain answer",
            "It rains <b>here</b>.",
            content="It rains <b>here</b>.",
        ),
        Output(
            "cut off in a call",
            (
                "]<]minimax[>[<tool_call>\n"
                ']<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>P'
                "ar"
            ),
            content=(
                "]<]minimax[>[<tool_call>\n"
                ']<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>P'
                "ar"
            ),
        ),
        Output(
            "broken tag",
            (
                "]<]minimax[>[<tool_call>\n"
                ']<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>P'
                "aris]<]minimax[>[</town>]<]minimax[>[<days>3]<]minimax[>[</d"
                "ays>]<]minimax[>[</invoke>\n"
                "]<]minimax[>[</tool_call>"
            ),
            content=(
                "]<]minimax[>[<tool_call>\n"
                ']<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>P'
                "aris]<]minimax[>[</town>]<]minimax[>[<days>3]<]minimax[>[</d"
                "ays>]<]minimax[>[</invoke>\n"
                "]<]minimax[>[</tool_call>"
            ),
        ),
    ),
)
