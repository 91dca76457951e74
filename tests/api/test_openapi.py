"""The OpenAPI document tells what the server does, no more and no less."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from api.app import _ROUTES
from api.openapi.document import openapi_document
from api.openapi.parameters import GENERATION
from api.openapi.replies import REPLIES
from api.openapi.requests import REQUESTS
from api.protocol import options, sampling_fields
from tests.api.test_answers import ROUTES
from tests.support.fake_engine import FakeEngine, make_info
from tests.support.mutations import PLAIN
from tests.support.tool_model import ToolModel, written_call

ROOT = Path(__file__).resolve().parents[2]
METHODS = ("get", "head", "post", "put", "patch", "delete")


@pytest.fixture
def document(api):
    reply = api.get("/openapi.json")
    assert reply.headers["content-type"] == "application/json; charset=utf-8"
    return reply.json


def test_document_is_valid_openapi_3_1(document):
    validator = pytest.importorskip("openapi_spec_validator")
    validator.validate(document)


def test_every_route_and_method_is_in_the_document_and_no_others(document):
    routes = {
        (re.sub(r"\{(\w+):\w+\}", r"{\1}", path), method)
        for kind, paths in _ROUTES
        for path in paths
        for method in METHODS
        if hasattr(kind, f"on_{method}")
    }
    shown = {
        (path, method)
        for path, item in document["paths"].items()
        for method in item
        if method in METHODS
    }
    assert shown == routes


def test_every_route_that_reads_a_body_has_a_schema(document):
    bodiless = {"/props", "/predict"}
    for path, item in document["paths"].items():
        if "post" in item and path not in bodiless and not path.endswith("/cancel"):
            assert "requestBody" in item["post"], path


def test_every_schema_belongs_to_a_route():
    assert set(REQUESTS) <= {kind.__name__ for kind, _ in _ROUTES}


def test_every_error_status_has_the_shape_of_its_route(document):
    for path, item in document["paths"].items():
        name = "AnthropicError" if path.startswith("/v1/messages") else "Error"
        post = item.get("post") or item.get("get")
        content = post["responses"]["400"]["content"]["application/json"]
        assert content["schema"]["$ref"].endswith("/" + name)


def test_every_number_of_the_readers_tables_is_a_parameter():
    tables = (
        *sampling_fields.NUMBERS.values(),
        *sampling_fields.INTEGERS.values(),
        *options.INTEGERS,
    )
    names = {name for each in tables for name in each.names} | set(options.BOOLEANS)
    assert names <= set(GENERATION)
    assert GENERATION["adaptive_decay"]["maximum"] == 0.99
    assert GENERATION["n_keep"]["minimum"] == -1


def test_prefix_and_keys_are_told(make_api):
    shown = make_api(api_prefix="/llm", api_keys=("k",)).get(
        "/llm/openapi.json", headers={"X-Api-Key": "k"}
    )
    assert shown.json["servers"] == [{"url": "/llm"}]
    assert shown.json["security"]
    assert "security" not in openapi_document((), version="1")


# -- the schemas and the readers tell the same ----------------------------------------


def plain_body(name):
    """Return path and body of a right request to a resource."""
    paths = {kind.__name__: paths for kind, paths in _ROUTES}[name]
    for method, path, body in PLAIN:
        if method == "POST" and path.partition("?")[0] in paths:
            return path, body
    raise AssertionError(f"no request for {name}")


# Not possible with the engine of these tests, or translated before it is read.
ELSEWHERE = ("SlotActions", "LoraAdapters", "NativeEmbeddings", "OpenAIEmbeddings")
ALIASES = (
    ("n_predict", "max_completion_tokens", "max_tokens"),
    ("n_probs", "logprobs"),
    ("n_cmpl", "n"),
    ("reasoning", "reasoning_effort"),
)
"""Of several the first counts."""


def accepts_all(schema):
    return not schema or any(accepts_all(each) for each in schema.get("anyOf", ()))


def wrong_value(schema):
    """Return a value of a type that the schema does not allow."""
    text = json.dumps(schema)
    if '"object"' not in text:
        return {"?": 1}
    return 1.5 if '"string"' in text or '"array"' in text else "?"


@pytest.mark.parametrize("name", [name for name in REQUESTS if name not in ELSEWHERE])
def test_documented_fields_of_another_type_are_refused_by_name(api, name):
    path, body = plain_body(name)
    for field, schema in REQUESTS[name].properties.items():
        if accepts_all(schema):
            continue
        group = next((each for each in ALIASES if field in each), ())
        rest = {key: value for key, value in body.items() if key not in group}
        reply = api.post(path, {**rest, field: wrong_value(schema)})
        if reply.status_code != 501:
            assert reply.status_code == 400, (field, reply.text)
            assert field.split("_")[0] in reply.text, field


@pytest.mark.parametrize("name", [name for name in REQUESTS if name not in ELSEWHERE])
def test_null_fields_are_as_good_as_none(api, name):
    path, body = plain_body(name)
    for field in REQUESTS[name].properties:
        without = {key: value for key, value in body.items() if key != field}
        expected = api.post(path, without).status_code
        assert api.post(path, {**without, field: None}).status_code == expected, field


REFUSED = {
    *("grammar_lazy", "grammar_triggers"),
    *("reasoning_budget_tokens", "thinking_budget_tokens"),
    *("reasoning_control", "reasoning_format", "parse_tool_calls"),
    *("conversation", "context_management", "mcp_servers", "container"),
}
"""Read only to be refused; docs/http_api.md lists them."""


@pytest.mark.parametrize("name", [name for name in REQUESTS if name not in ELSEWHERE])
@pytest.mark.parametrize("value", [{"?": 1}, "?", 1.5])
def test_no_field_is_read_that_is_not_in_the_document(make_api, name, value):
    # Tools are described in words, each letter of which is a token here.
    api = make_api(engine=FakeEngine(info=make_info(n_ctx_slot=2048)))
    path, body = plain_body(name)
    sources = (ROOT / "api" / "protocol").rglob("*.py")
    words = {w for s in sources for w in re.findall(r'"([a-z_]+)"', s.read_text())}
    refused = REFUSED | ({"prompt"} if "Response" in name else set())
    unknown = dict.fromkeys(words - set(REQUESTS[name].properties) - refused, value)
    reply = api.post(path, {**unknown, **body})
    assert reply.status_code in (200, 501), reply.text


# -- replies --------------------------------------------------------------------------


def schema_of_reply(document, path, method):
    """Return the schema of a route's JSON reply, with what it refers to; or nothing."""
    item = document["paths"][path][method]["responses"]["200"]["content"]
    schema = item.get("application/json", {}).get("schema")
    return schema and {**schema, "components": document["components"]}


@pytest.mark.parametrize(("method", "path", "body"), PLAIN)
def test_replies_are_as_the_document_says(api, document, method, path, body):
    shape = document["paths"].get(path.partition("?")[0])
    schema = shape and schema_of_reply(document, path.partition("?")[0], method.lower())
    if isinstance(body, dict):
        body = {**body, "stream": False}
    data = None if body is None else json.dumps(body)
    reply = api.client.simulate_request(method, path, body=data)
    if not schema or reply.status_code != 200:
        pytest.skip("no such reply with the engine of these tests")
    jsonschema.validate(reply.json, schema)


@pytest.mark.parametrize("route", ROUTES)
def test_thinking_text_and_calls_are_as_the_document_says(make_api, route):
    path, body, *_ = ROUTES[route]
    call = written_call("send", '{"to": "me"}')
    model = ToolModel([f"<think>\nSo.\n</think>\n\nYes.\n{call}"])
    api = make_api(engine=model)
    reply = api.post(path, body).json
    assert "So." in json.dumps(reply)
    assert "send" in json.dumps(reply)
    document = api.get("/openapi.json").json
    jsonschema.validate(reply, schema_of_reply(document, path, "post"))


def test_every_reply_with_a_schema_belongs_to_a_method_of_a_route():
    kinds = {kind.__name__: kind for kind, _ in _ROUTES}
    for name, replies in REPLIES.items():
        assert all(hasattr(kinds[name], f"on_{method}") for method in replies), name
