"""The form of an answer over HTTP: where it is asked for, and what it holds to."""

from __future__ import annotations

import pytest

from api.settings.flags import SettingsError
from llamactypes.constraints.output_form import FormKind, OutputForm
from tests.api.conftest import Api
from tests.api.test_answers import TOOLS
from tests.api.test_settings import settings
from tests.support.fake_engine import FakeEngine, FakeVocab
from tests.support.random_schemas import RandomSchemas
from tests.support.tool_model import ToolModel, written_call

NATIVE, TEXT, CHAT = "/completion", "/v1/completions", "/v1/chat/completions"
RESPONSES, MESSAGES = "/v1/responses", "/v1/messages"
ROUTES = {
    NATIVE: {"prompt": "Hi"},
    TEXT: {"prompt": "Hi"},
    CHAT: {"messages": [{"role": "user", "content": "Hi"}]},
    RESPONSES: {"input": "Hi"},
    MESSAGES: {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9},
}
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
}
YES, NO = '{"a": 1}', '{"b": 1}'
END = 257


def accepts(engine, text):
    """Return whether the one request may write `text` and end."""
    (request,) = engine.requests
    assert request.constraint is not None
    matcher = request.constraint.matcher()
    for token in text.encode():
        if not matcher.allows(token):
            return False
        matcher.consume(token)
    return matcher.allows(END)


def asked(path, engine=None, **body):
    """Send a request that must be accepted; return the engine that has it."""
    engine = engine or FakeEngine()
    reply = Api(engine).post(path, {**ROUTES[path], **body})
    assert reply.status_code == 200, reply.text
    return engine


def refused(path, **body):
    api = Api(FakeEngine())
    reply = api.post(path, {**ROUTES[path], **body})
    assert reply.status_code == 400, reply.text
    assert api.engine.requests == []
    return reply.json["error"]


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize(
    ("body", "right", "wrong"),
    [
        ({"json_schema": SCHEMA}, YES, NO),
        ({"json_schema": {}}, "{}", "1"),
        ({"grammar": 'root ::= "a" root | "b"'}, "aab", "a"),
        ({"regex": r"\d+[ab]"}, "12a", "12"),
        ({"lark": 'start: "a" "b"'}, "ab", "a"),
        ({"response_format": {"type": "json_object"}}, '{"any":[1]}', "[1]"),
        ({"response_format": {"type": "json_object", "schema": SCHEMA}}, YES, NO),
        (
            {"response_format": {"type": "json_schema", "json_schema": {
                "name": "n", "strict": True, "schema": SCHEMA}}},
            YES,
            NO,
        ),
        ({"response_format": {"type": "grammar", "grammar": 'root ::= "x"'}}, "x", ""),
        ({"response_format": {"type": "regex", "regex": "a|b"}}, "b", "ab"),
        ({"response_format": {"type": "lark", "lark": 'start: "x"'}}, "x", "y"),
    ],
)  # fmt: skip
def test_every_route_holds_answers_to_their_form(path, body, right, wrong):
    engine = asked(path, **body)
    assert accepts(engine, right)
    assert not accepts(engine, wrong)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (RESPONSES, {"text": {"format": {"type": "json_schema", "name": "n",
                                         "strict": True, "schema": SCHEMA}}}),
        (MESSAGES, {"output_format": {"type": "json_schema", "schema": SCHEMA}}),
        (MESSAGES, {"output_config": {"format": {"type": "json_schema",
                                                 "schema": SCHEMA}}}),
    ],
)  # fmt: skip
def test_protocols_have_fields_of_their_own(path, body):
    engine = asked(path, **body)
    assert accepts(engine, YES)
    assert not accepts(engine, NO)


def test_infill_is_held_to_a_form_too():
    vocab = FakeVocab()
    vocab.fim_pre, vocab.fim_suf, vocab.fim_mid = 1, 2, 3
    engine = FakeEngine(vocab=vocab)
    body = {"input_prefix": "a", "input_suffix": "b", "grammar": 'root ::= "x"'}
    assert Api(engine).post("/infill", body).status_code == 200
    assert accepts(engine, "x")


@pytest.mark.parametrize(
    "body",
    [
        {"grammar": None, "json_schema": None, "response_format": None},
        {"grammar": "", "regex": "", "lark": ""},
        {"response_format": {"type": "text"}},
        {"response_format": {}},
    ],
)
def test_nothing_is_constrained_unless_asked(body):
    (request,) = asked(CHAT, **body).requests
    assert request.constraint is None


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", [NATIVE, TEXT, CHAT])
@pytest.mark.parametrize(
    ("body", "param", "words"),
    [
        ({"grammar": 'root :== "x"'}, "grammar", "line 1, in rule 'root'"),
        ({"grammar": 'a ::= "x"'}, "grammar", "does not contain a 'root' rule"),
        ({"grammar": 'root ::= root "a"'}, "grammar", "left recursion"),
        ({"grammar": 5}, "grammar", "Value must be a string"),
        ({"lark": "start: nothing"}, "lark", "nothing"),
        ({"regex": "(?=x)y"}, "regex", "look-around"),
        ({"json_schema": 123}, "json_schema", "JSON Schema, but got number"),
        (
            {"json_schema": {"properties": {"a": {"pattern": "^+[a-z]$"}}}},
            "json_schema.properties.a.pattern",
            "cannot be repeated",
        ),
        (
            {"json_schema": {"type": "string", "pattern": "^a$", "minLength": 2}},
            "json_schema",
            "Unsatisfiable",
        ),
        ({"response_format": "json"}, "response_format", "must be an object"),
        (
            {"response_format": {"type": "sound"}},
            "response_format",
            'response_format type must be one of "text" or "json_object"',
        ),
        (
            {"response_format": {"type": "json_object", "schema": 123}},
            "response_format.schema",
            "got number",
        ),
        (
            {"response_format": {"type": "json_object", "schema": {"type": 123}}},
            "response_format.schema.type",
            "a type's name",
        ),
        (
            {"response_format": {"type": "json_object", "schema": {"type": "hiccup"}}},
            "response_format.schema.type",
            "knows no 'hiccup'",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": 1}},
            "response_format.json_schema",
            "got number",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"strict": 1}}},
            "response_format.json_schema.strict",
            "a boolean",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": 1}}},
            "response_format.json_schema.name",
            "a string",
        ),
        (
            {"response_format": {"type": "json_schema", "schema": SCHEMA}},
            "response_format.json_schema",
            "an object, but got null",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": SCHEMA}},
            "response_format.json_schema.schema",
            "a JSON Schema, but got null",
        ),
        ({"response_format": {"type": "regex"}}, "response_format.regex", "not empty"),
        (
            {"json_schema": {}, "grammar": 'root ::= "x"'},
            "grammar",
            "Cannot use both json_schema and grammar",
        ),
        (
            {"regex": "a", "response_format": {"type": "json_object"}},
            "response_format.schema",
            "Cannot use both regex and response_format",
        ),
        ({"grammar_lazy": True}, "grammar_lazy", "from the first token on"),
        ({"grammar_triggers": [{}]}, "grammar_triggers", "use tools"),
    ],
)
def test_what_cannot_be_honoured_is_refused_before_the_first_byte(
    path, stream, body, param, words
):
    error = refused(path, stream=stream, **body)
    assert error["param"] == param
    assert words in error["message"]


@pytest.mark.parametrize(
    ("path", "field", "place"),
    [
        (RESPONSES, "text", {"format": {"type": "json_schema", "name": "n"}}),
        (MESSAGES, "output_config", {"format": {"type": "json_schema"}}),
        (MESSAGES, "output_format", {"type": "json_schema", "json_schema": SCHEMA}),
    ],
)
def test_a_schema_in_the_wrong_place_is_refused(path, field, place):
    error = refused(path, **{field: place})
    assert ".schema': Value must be a JSON Schema, but got null" in error["message"]


def test_two_forms_in_two_places_are_one_too_many():
    format = {"format": {"type": "json_object"}}
    error = refused(RESPONSES, text=format, grammar='root ::= "x"')
    assert error["message"] == "Cannot use both text and grammar"


def test_preserved_tokens_are_shown():
    (request,) = asked(NATIVE, preserved_tokens=["</s>", "no token"]).requests
    assert request.preserved_tokens == {END}


def test_the_echo_of_settings_has_the_grammar():
    reply = Api(FakeEngine()).post(NATIVE, {"prompt": "a", "grammar": 'root ::= "x"'})
    assert reply.json["generation_settings"]["grammar"] == 'root ::= "x"'
    reply = Api(FakeEngine()).post(NATIVE, {"prompt": "a", "json_schema": {"a": 1}})
    assert reply.json["generation_settings"]["grammar"] == '{"a": 1}'


# -- thinking and tools ----------------------------------------------------------------


def test_thinking_comes_before_the_form():
    engine = asked(CHAT, ToolModel([""]), json_schema=SCHEMA)
    assert accepts(engine, YES)
    assert accepts(engine, f"<think>free {{ text</think>\n\n{YES}")
    assert not accepts(engine, "<think>free")
    assert not accepts(engine, f"<think>free</think>{NO}")


def test_a_grammar_of_thinking_holds_from_the_first_token():
    grammar = 'root ::= "<think>" [a-z]+ "</think>" "yes"'
    engine = asked(CHAT, ToolModel([""]), grammar=grammar)
    assert accepts(engine, "<think>so</think>yes")
    assert not accepts(engine, "<think>1</think>yes")
    assert not accepts(engine, "<think>1</think><think>so</think>yes")


def test_an_answer_beside_tools_is_a_call_or_has_the_form():
    engine = asked(CHAT, ToolModel([""]), tools=TOOLS, json_schema=SCHEMA)
    assert accepts(engine, YES)
    assert accepts(engine, written_call("send", '{"to": "me"}'))
    assert not accepts(engine, "free text")
    assert not accepts(engine, NO)


def test_a_grammar_beside_tools_is_refused():
    api = Api(ToolModel([""]))
    body = {**ROUTES[CHAT], "tools": TOOLS, "grammar": 'root ::= "x"'}
    reply = api.post(CHAT, body)
    assert reply.status_code == 400
    message = "Cannot use custom grammar constraints with tools."
    assert reply.json["error"]["message"] == message
    assert api.post(CHAT, {**body, "tool_choice": "none"}).status_code == 200


# -- the server's own form ------------------------------------------------------------


def served(form, **body):
    engine = FakeEngine()
    reply = Api(engine, form=form).post(NATIVE, {"prompt": "a", **body})
    assert reply.status_code == 200, reply.text
    return engine


def test_flags_are_the_form_of_requests_without_one():
    form = OutputForm(FormKind.GBNF, 'root ::= "x"', "--grammar")
    assert accepts(served(form), "x")
    assert accepts(served(form, grammar='root ::= "y"'), "y")


def test_tools_come_before_a_grammar_of_the_flags():
    form = OutputForm(FormKind.GBNF, 'root ::= "x"', "--grammar")
    engine = ToolModel([""])
    body = {**ROUTES[CHAT], "tools": TOOLS}
    assert Api(engine, form=form).post(CHAT, body).status_code == 200
    assert accepts(engine, written_call("send", '{"to": "me"}'))


def test_flags_are_read_from_files(tmp_path):
    (tmp_path / "g").write_text('root ::= "x"')
    (tmp_path / "s").write_text('{"type": "null"}')
    assert settings(f"--grammar-file {tmp_path}/g").form.value == 'root ::= "x"'
    assert settings(f"-jf {tmp_path}/s").form.value == {"type": "null"}
    assert settings("--json-schema {}").form.kind is FormKind.SCHEMA
    assert settings("--grammar root::=<think>").form.kind is FormKind.GBNF


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ("--grammar root", "expected '::='"),
        ('-j {"not":{}}', "'not' at --json-schema.not is not supported"),
        ("-j {", "expected a JSON Schema"),
        ("--grammar-file /nowhere/at/all", "cannot read"),
    ],
)
def test_flags_that_cannot_be_honoured_are_refused_at_the_start(flags, why):
    with pytest.raises(SettingsError) as caught:
        settings(flags)
    assert why in str(caught.value)


def tool(name, **parameters):
    parameters = {"type": "object", **parameters}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


ODD_TOOLS = [
    tool("none", properties={}),
    tool("long", properties={"text": {"type": "string", "maxLength": 5000}}),
    tool("digits", properties={"code": {"type": "string", "pattern": "^\\d+$"}}),
    tool("plain", properties={"city": {"type": "string"}}, required=["city"]),
]


def test_odd_tools_leave_the_others_alone():
    choice = {"type": "function", "function": {"name": "plain"}}
    engine = asked(CHAT, ToolModel([""]), tools=ODD_TOOLS, tool_choice=choice)
    assert accepts(engine, written_call("plain", '{"city": "Rome"}'))
    assert not accepts(engine, written_call("none", "{}"))


def test_odd_tools_can_be_called():
    engine = asked(CHAT, ToolModel([""]), tools=ODD_TOOLS, tool_choice="required")
    assert accepts(engine, written_call("none", "{}"))
    assert accepts(engine, written_call("long", '{"text": "…"}'))
    assert accepts(engine, written_call("digits", '{"code": "42"}'))
    assert not accepts(engine, written_call("digits", '{"code": "x"}'))


def test_one_tool_that_cannot_be_honoured_is_named():
    bad = tool("bad", properties={"a": {"type": "string", "pattern": "(?=x)y"}})
    reply = Api(ToolModel([""])).post(
        CHAT, {**ROUTES[CHAT], "tools": [*ODD_TOOLS, bad]}
    )
    error = reply.json["error"]
    assert reply.status_code == 400
    assert error["param"] == "tools[4].function.parameters.properties.a.pattern"
    assert "'bad'" in error["message"]


def test_random_schemas_are_accepted_or_refused_by_their_path():
    api = Api(FakeEngine())
    statuses = []
    for seed in range(60):
        schema = RandomSchemas(seed).schema()
        reply = api.post(TEXT, {"prompt": "a", "json_schema": schema})
        statuses.append(reply.status_code)
        if reply.status_code == 400:
            assert reply.json["error"]["param"].startswith("json_schema")
    assert set(statuses) == {200, 400}
