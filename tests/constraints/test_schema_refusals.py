"""What a schema cannot have: refused, with the keyword and its JSON path."""

from __future__ import annotations

import time
from typing import Any

import pytest

from llamactypes.constraints.json_schema import json_schema_rule
from llamactypes.errors import ConstraintError
from tests.support.grammar_walks import compiled


def refusal(schema: Any, path: str = "$") -> ConstraintError:
    with pytest.raises(ConstraintError) as caught:
        json_schema_rule(schema, path=path)
    return caught.value


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "null"}
    for _ in range(depth):
        schema = {"properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(
    ("schema", "path", "why"),
    [
        # -- keywords
        ({"not": {"type": "null"}}, "$.not", "not supported"),
        ({"if": {}, "else": False}, "$.if", "not supported"),
        ({"contains": {"type": "null"}}, "$.contains", "not supported"),
        ({"type": "array", "uniqueItems": True}, "$.uniqueItems", "7 fixed values"),
        (
            {"anyOf": [{"pattern": r"\bx"}, {"type": "null"}]},
            "$.anyOf[0].pattern",
            "cannot be honoured",
        ),
        ({"anyOf": [{"type": "x"}, {"type": "null"}]}, "$.anyOf[0].type", "knows no"),
        ({"dependentRequired": {"a": ["b"]}}, "$.dependentRequired", "not supported"),
        (
            {"anyOf": [{}], "unevaluatedProperties": False},
            "$.unevaluatedProperties",
            "be",
        ),
        ({"minlength": 3}, "$.minlength", "did you mean 'minLength'"),
        ({"additional_properties": False}, "$.additional_properties", "did you mean"),
        ({"properties": {"a b": {"not": {}}}}, "$.properties['a b'].not", "supported"),
        (
            {"$defs": {"a": {"not": {}}}, "$ref": "#/$defs/a"},
            "$.$defs.a.not",
            "supported",
        ),
        # -- values
        (123, "$", "neither an object"),
        ({"type": "hiccup"}, "$.type", "knows no 'hiccup'"),
        ({"type": 123}, "$.type", "a type's name"),
        ({"type": []}, "$.type", "a type's name"),
        ({"properties": [1]}, "$.properties", "must be an object"),
        ({"properties": {"a": 1}}, "$.properties", "values are schemas"),
        ({"items": 5}, "$.items", "must be a schema"),
        ({"items": {"required": True}}, "$.items.required", "a list of strings"),
        ({"minLength": -1}, "$.minLength", "whole number"),
        ({"minLength": 1.5}, "$.minLength", "whole number"),
        ({"maximum": "3"}, "$.maximum", "must be a number"),
        ({"maximum": float("inf")}, "$.maximum", "must be a number"),
        ({"multipleOf": 0}, "$.multipleOf", "not 0"),
        ({"enum": "a"}, "$.enum", "must be a list"),
        ({"anyOf": {}}, "$.anyOf", "list of schemas"),
        ({"pattern": 5}, "$.pattern", "must be a string"),
        # -- patterns
        ({"pattern": "(?=x)y"}, "$.pattern", "look-around"),
        (
            {"properties": {"a": {"pattern": "^+a"}}},
            "$.properties.a.pattern",
            "repeated",
        ),
        ({"patternProperties": {"[": {}}}, "$.patternProperties['[']", "not closed"),
        # -- references
        ({"$ref": "http://x/y"}, "$.$ref", "only local references"),
        ({"$ref": "other.json#/a"}, "$.$ref", "only local references"),
        ({"$ref": "#/$defs/none"}, "$.$ref", "leads to nothing"),
        ({"$ref": "#none"}, "$.$ref", "leads to nothing"),
        ({"$ref": "#/anyOf/7", "anyOf": [{}]}, "$.$ref", "leads to nothing"),
        ({"$ref": "#/title", "title": "t"}, "$.$ref", "leads to no schema"),
        # -- what nothing matches
        (False, "$", "cannot be satisfied"),
        ({"$ref": "#"}, "$", "cannot be satisfied"),
        ({"enum": []}, "$", "cannot be satisfied"),
        ({"type": "string", "enum": [1]}, "$", "no value of 'enum' has the type"),
        (
            {"items": {"enum": [1, 2, 2]}, "uniqueItems": True, "minItems": 3},
            "$",
            "cannot differ",
        ),
        ({"minItems": 3, "maxItems": 2}, "$", "minItems (3) is above maxItems (2)"),
        ({"minimum": 3, "maximum": 2}, "$", "nothing is between"),
        ({"minProperties": 2, "maxProperties": 1}, "$", "above maxProperties"),
        ({"required": ["a", "b"], "maxProperties": 1}, "$", "are required"),
        ({"properties": {"a": {}}, "minProperties": 2}, "$", "fewer than"),
        ({"propertyNames": {"type": "integer"}}, "$", "are strings"),
        (
            {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
            "$",
            "cannot be satisfied",
        ),
        ({"type": "array", "minItems": 1, "items": {"$ref": "#"}}, "$", "satisfied"),
        # -- what cannot be said exactly
        (
            {"oneOf": [{"type": "integer"}, {"type": "number"}]},
            "$.oneOf",
            "options 0 and 1 may both match",
        ),
        ({"minProperties": 2}, "$.minProperties", "above 1"),
        (
            {
                "properties": {"a": {}, "b": {}},
                "additionalProperties": True,
                "maxProperties": 1,
            },
            "$.maxProperties",
            "all listed",
        ),
        ({"propertyNames": {"minLength": 2}}, "$.propertyNames", "'enum', 'const' or"),
        (
            {"properties": {"a": {}}, "propertyNames": {"enum": ["a"]}},
            "$.propertyNames",
            "beside",
        ),
        ({"multipleOf": 1e-12}, "$.multipleOf", "digits"),
        ({"minimum": 10**20}, "$", "too far from 0"),
        ({"const": 2**60}, "$.const", "beyond 2**53"),
        ({"enum": ["a", {"b": "\ud83d"}]}, "$.enum[1].b", "surrogate"),
        ({"const": "\x01"}, "$.const", "control character"),
        # -- sizes
        (nested(60), "$" + ".properties.a" * 41, "nested deeper"),
        ({"items": {"enum": ["x" * 1_100_000]}}, "$", "longer than"),
        ({"properties": {f"p{i}": {} for i in range(3000)}}, "$.properties", "2000"),
        ({"oneOf": [{"const": i} for i in range(300)]}, "$.oneOf", "200 options"),
    ],
)
def test_refusals_name_the_keyword_and_its_path(schema, path, why):
    error = refusal(schema)
    assert (error.path, why in str(error)) == (path, True), str(error)


def test_paths_begin_where_the_request_has_the_schema():
    error = refusal({"items": {"pattern": "("}}, "response_format.json_schema.schema")
    assert error.path == "response_format.json_schema.schema.items.pattern"
    assert error.path in str(error)


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"const": f"value {i}"} for i in range(20_000)]},
        {"properties": {f"p{i}": {"type": "string"} for i in range(30_000)}},
        {"allOf": [{"anyOf": [{"const": i} for i in range(90)]}] * 90},
        {
            "$defs": {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(9_000)},
            "$ref": "#/$defs/d0",
        },
        {
            "$defs": {
                f"d{i}": {"oneOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 9}
                for i in range(30)
            },
            "$ref": "#/$defs/d0",
        },
        {"oneOf": [{"anyOf": [{"type": "object"}] * 9}] * 150},
    ],
)
def test_schemas_that_explode_are_refused_in_time(schema):
    started = time.monotonic()
    with pytest.raises(ConstraintError):
        compiled(f"start: {json_schema_rule(schema)}")
    assert time.monotonic() - started < 3


def test_what_is_not_referred_to_is_not_looked_at():
    assert json_schema_rule({"type": "null", "$defs": {"a": {"not": 5, "type": 1}}})
