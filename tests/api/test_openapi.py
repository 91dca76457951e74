"""The OpenAPI document tells what the server does, no more and no less."""

import json
import re

import pytest

from api.app import _ROUTES
from api.openapi.document import openapi_document
from api.openapi.parameters import GENERATION
from api.openapi.requests import REQUESTS
from api.protocol import options, sampling_fields
from tests.support.mutations import PLAIN

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


def is_refused(api, path, body, name):
    reply = api.post(path, body)
    if reply.status_code == 501:
        pytest.skip("not possible with this engine")
    assert reply.status_code in (200, 400), reply.text
    return reply.status_code == 400 and name in reply.text


def accepts_all(schema):
    return not schema or any(accepts_all(each) for each in schema.get("anyOf", ()))


# Translated for another protocol before they are read, or read only beside others.
LENIENT = {("SlotActions", "filename")}

ALIASES = (
    ("n_predict", "max_completion_tokens", "max_tokens"),
    ("n_probs", "logprobs"),
    ("n_cmpl", "n"),
)
"""Of several the first counts."""

DOCUMENTED = [
    (name, field, schema)
    for name, request in REQUESTS.items()
    for field, schema in request.properties.items()
    if not accepts_all(schema) and (name, field) not in LENIENT
]


@pytest.mark.parametrize(("name", "field", "schema"), DOCUMENTED)
def test_a_documented_field_of_another_type_is_refused(api, name, field, schema):
    path, body = plain_body(name)
    group = next((each for each in ALIASES if field in each), ())
    body = {key: value for key, value in body.items() if key not in group}
    text = json.dumps(schema)
    if '"object"' not in text:
        wrong = {"?": 1}
    elif '"string"' not in text and '"array"' not in text:
        wrong = "?"
    else:
        wrong = 1.5
    assert is_refused(api, path, {**body, field: wrong}, field.split("_")[0])
