"""What is learned from templates, small ones of ours, and that nothing stops it."""

from __future__ import annotations

import json

import pytest

from llamactypes.chat import ChatTemplate
from llamactypes.chat.learning import in_reasoning, learn_format
from llamactypes.chat.output.format import ChatFormat, Tags
from llamactypes.chat.output.parser import ChatParser
from llamactypes.chat.output.pieces import Arguments, CallBegin, Content
from tests.chat.format_summary import summary
from tests.chat.small_templates import TEMPLATES

OBJECT = '{"name": "NAME", "arguments": ARGUMENTS}'
LIST = "<calls>[ CALL (, CALL)* ]</calls>"
EACH = "CALL ( CALL)*"
THINK = "<think> … </think>"

EXPECTED = {
    "plain": {"family": "plain"},
    "objects": {"calls": EACH, "call": f"<call>\n{OBJECT}\n</call>"},
    "list": {"calls": LIST, "call": OBJECT},
    "names": {"calls": EACH, "call": "[CALL]NAME[ARGS]ARGUMENTS"},
    "ids": {"calls": LIST, "call": f'{OBJECT[:-1]}, "id": "ID"}}'},
    "counted": {
        "calls": "<calls> CALL (, CALL)* </calls>",
        "call": "#INDEX: NAME ARGUMENTS",
    },
    "strings": {"calls": LIST, "call": OBJECT, "arguments": "json_string"},
    "tags": {
        "calls": EACH,
        "call": "<call=NAME>ARGUMENTS\n</call>",
        "arguments": "tagged",
        "argument": "\n<arg=KEY>\nVALUE\n</arg>",
    },
    "typed tags": {
        "calls": EACH,
        "call": "<call=NAME>ARGUMENTS</call>",
        "arguments": "tagged",
        "argument": '<arg=KEY text="True">VALUE</arg>',
        "types": ", ".join(
            f'{kind}:  text="False">'
            for kind in ("integer", "number", "boolean", "object", "array", "null")
        ),
    },
    "python": {"calls": LIST, "call": "NAME(ARGUMENTS)", "arguments": "python"},
    "thinking": {
        "thinking": THINK,
        "calls": EACH,
        "call": f"<call>{OBJECT}</call>",
    },
    "thinking in the prompt": {"thinking": THINK},
    "answers in tags": {
        "thinking": "<|START_THINKING|> … <|END_THINKING|>",
        "answer": "<|ANSWER|> … <|END_ANSWER|>",
        "calls": "<|ACTION|>[ CALL (, CALL)* ]<|END_ACTION|>",
        "call": OBJECT,
    },
}

ARGUMENTS = [
    {"city": 'Zürich "Nord"', "n": 7},
    {"flag": True, "deep": {"list": [1, {"a": None}]}, "text": "two\nlines"},
]
PROPERTIES = {"city": "string", "n": "integer", "flag": "boolean", "deep": "object"}
SCHEMA = {
    "type": "object",
    "properties": {
        **{key: {"type": kind} for key, kind in PROPERTIES.items()},
        "text": {"type": "string"},
    },
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_learn_format_finds_what_a_template_shows(name):
    found = summary(learn_format(ChatTemplate(TEMPLATES[name])))
    expected = {"family": "learned", **EXPECTED[name]}
    if "calls" in expected:
        expected = {"arguments": "json", **expected}
    assert found == expected


def _calls() -> list[dict]:
    functions = [
        {"name": f"tool_{index}", "arguments": arguments}
        for index, arguments in enumerate(ARGUMENTS)
    ]
    return [
        {"id": f"abcdefgh{index}", "type": "function", "function": function}
        for index, function in enumerate(functions)
    ]


def _read(parser: ChatParser, chunks: list[str]) -> tuple[list, str]:
    pieces = [piece for chunk in chunks for piece in parser.feed(chunk)]
    pieces += parser.finish()
    names = [piece.name for piece in pieces if isinstance(piece, CallBegin)]
    texts = [
        "".join(p.text for p in pieces if isinstance(p, Arguments) and p.call == i)
        for i in range(len(names))
    ]
    content = "".join(piece.text for piece in pieces if isinstance(piece, Content))
    calls = [(n, json.loads(text)) for n, text in zip(names, texts, strict=True)]
    return calls, content


@pytest.mark.parametrize(
    "name", [name for name in TEMPLATES if "call" in EXPECTED[name]]
)
@pytest.mark.parametrize("streams_arguments", [False, True])
def test_calls_that_a_template_writes_are_read_back(name, streams_arguments):
    template = ChatTemplate(TEMPLATES[name])
    turn = {"role": "assistant", "content": "", "tool_calls": _calls()}
    prompt = template.render(
        [{"role": "user", "content": "Q"}, turn], add_generation_prompt=False
    )
    text = prompt.partition("<|assistant|>")[2].removesuffix("<|end|>")
    parser = ChatParser(
        learn_format(template),
        with_tools=True,
        streams_arguments=streams_arguments,
        schemas={"tool_0": SCHEMA, "tool_1": SCHEMA},
    )
    calls, content = _read(parser, list(text))
    expected = [(f"tool_{i}", arguments) for i, arguments in enumerate(ARGUMENTS)]
    assert (calls, content.strip()) == (expected, "")


@pytest.mark.parametrize(
    "source",
    [
        "",
        "no variables at all",
        "{{ raise_exception('never') }}",
        "{{ messages[7].content.nothing }}",
        "{% for m in messages %}{{ m }}{% endfor %}",
        "{% for m in messages %}{{ m.content }}{{ m.tool_calls }}{% endfor %}",
        "{% for m in messages %}{{ m.content * 9000 }}{{ m.tool_calls }}{% endfor %}",
        "{% for m in messages %}{{ m.content }}{{ '{' * 9000 }}{% endfor %}",
        "{% for m in messages %}{{ m | tojson }}{% endfor %}",
        "{{ messages | tojson(indent=2) }}",
        "{% for m in messages %}{{ m.tool_calls | string | reverse }}{% endfor %}",
        "<think>" * 5000,
    ],
)
def test_learn_format_makes_a_format_of_any_template(source):
    assert isinstance(learn_format(ChatTemplate(source)), ChatFormat)


THINKING = ChatFormat(reasoning=Tags("<think>", "</think>"))


@pytest.mark.parametrize(
    ("prompt", "prefill", "expected"),
    [
        ("<|assistant|>", "", False),
        ("<|assistant|><think>\n", "", True),
        ("<|assistant|><think>\n\n</think>\n\n", "", False),
        ("What is <think>?<|assistant|>", "", False),
        ("<|assistant|><think>\nWell", "Well", True),
        ("<|assistant|><think>\nWell</think>So", "Well</think>So", False),
        ("<|assistant|><think>Well", "<think>Well", True),
        ("<|assistant|>So", "So", False),
    ],
)
def test_in_reasoning_tells_where_a_prompt_ends(prompt, prefill, expected):
    assert in_reasoning(prompt, THINKING, prefill) is expected


def test_in_reasoning_is_false_without_tags():
    assert not in_reasoning("<think>", ChatFormat())
    assert not in_reasoning("<think>", ChatFormat(reasoning=Tags("", "</think>")))


@pytest.mark.parametrize(
    ("extra", "expected"), [({}, True), ({"enable_thinking": False}, False)]
)
def test_in_reasoning_reads_the_prompts_of_a_template(extra, expected):
    template = ChatTemplate(TEMPLATES["thinking in the prompt"])
    prompt = template.render([{"role": "user", "content": "Hi"}], extra=extra)
    assert in_reasoning(prompt, learn_format(template)) is expected
