"""JSON Schema: what is written matches it, says an independent validator."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from llamactypes.constraints.json_schema import json_schema_rule
from llamactypes.errors import ConstraintError
from tests.support.grammar_walks import allows, is_valid, walk
from tests.support.random_schemas import RandomSchemas

N_RANDOM = 150
"""`python -m tests.constraints.test_json_schema 5000` tries more."""
N_TEXTS = 3

TREE = {
    "type": "object",
    "properties": {
        "value": {"type": "integer"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
    },
    "required": ["value", "children"],
    "additionalProperties": False,
}
CAT = {
    "type": "object",
    "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}},
    "required": ["kind"],
}
DOG = {
    "type": "object",
    "properties": {"kind": {"enum": ["dog", "wolf"]}, "name": {"type": "string"}},
    "required": ["kind", "name"],
}
MOOD = {"enum": ["happy", "sad"]}


def grammar_of(schema: Any) -> str:
    return f"start: {json_schema_rule(schema)}"


def errors(schema: Any, seed: int = 0) -> list[str]:
    """Return the texts of some walks that do not match the schema."""
    draw = random.Random(seed)
    texts = [walk(grammar_of(schema), draw) for _ in range(N_TEXTS)]
    done = [text.decode() for text in texts if text is not None]
    return [text for text in done if not is_valid(schema, json.loads(text))]


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        # -- types and fixed values
        ({"type": "null"}, ["null"], ["nul", "0"]),
        ({"type": ["integer", "null"]}, ["1", "null"], ["1.5", '"x"']),
        ({"type": "boolean"}, ["true", "false"], ["1"]),
        ({"const": "42"}, ['"42"'], ["42"]),
        ({"const": {"a": [1, None]}}, ['{"a":[1,null]}'], ['{"a":[1]}']),
        ({"enum": ["a", 1, None, True, 2.0]}, ['"a"', "1", "true", "2"], ['"b"']),
        ({"type": "string", "enum": ["a", 1]}, ['"a"'], ["1"]),
        (True, ["1", '{"a":[]}'], ["x"]),
        ({}, ["null", "[1]"], [""]),
        # -- texts
        ({"type": "string"}, ['"é\\n🏋"', '""'], ['"\n"', "'a'", '"\\u0061"']),
        ({"minLength": 2, "maxLength": 3}, ['"ab"', '"🏋🏋🏋"'], ['"a"', '"abcd"']),
        ({"type": "string", "maxLength": 5000}, ['"' + "a" * 300 + '"'], ["1"]),
        ({"type": "string", "maxLength": 0}, ['""'], ['"a"']),
        ({"type": "string", "pattern": r"^\d+$"}, ['"12"'], ['"1a"', '""']),
        ({"type": "string", "pattern": r"^a\!$"}, ['"a!"'], ['"a"']),
        ({"type": "string", "pattern": "b"}, ['"abc"'], ['"ac"']),
        ({"type": "string", "format": "date"}, ['"2024-02-29"'], ['"2024-02-30"']),
        ({"type": "string", "format": "password"}, ['"x"'], ["1"]),
        # -- numbers
        ({"type": "integer"}, ["0", "-12"], ["1.0", "01", "+1"]),
        ({"type": "number"}, ["0", "-1.5", "1e3"], ["01", ".5"]),
        ({"type": "integer", "minimum": 3, "maximum": 12}, ["3", "12"], ["2", "13"]),
        ({"exclusiveMaximum": 1, "type": "number"}, ["0.9", "-5"], ["1", "1.0"]),
        ({"type": "integer", "multipleOf": 5}, ["10", "0"], ["7"]),
        ({"type": "integer", "maximum": 2**53 + 1}, [str(2**53)], [str(2**53 + 4)]),
        ({"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}, ["7"], ["x"]),
        # -- arrays
        ({"type": "array", "maxItems": 0}, ["[]"], ["[1]"]),
        ({"items": {"type": "string"}, "maxItems": 0}, ["[]"], ['["a"]']),
        ({"type": "array", "minItems": 2}, ["[1,2]"], ["[1]"]),
        ({"items": {"type": "null"}, "minItems": 1}, ["[null]"], ["[]", "[1]"]),
        ({"prefixItems": [{"type": "null"}], "items": False}, ["[null]"], ["[null,1]"]),
        ({"type": "array", "uniqueItems": True, "maxItems": 1}, ["[1]"], ["[1,1]"]),
        (
            {"items": {"$ref": "#/$defs/M"}, "uniqueItems": True, "$defs": {"M": MOOD}},
            ["[]", '["happy", "sad"]'],
            ['["sad","sad"]', '["happy","x"]'],
        ),
        (
            {"items": {"type": "boolean"}, "uniqueItems": True, "minItems": 1},
            ["[true]", "[false,true]"],
            ["[]", "[true,true]"],
        ),
        # -- objects
        ({"type": "object"}, ["{}", '{"any":{"thing":1}}'], ["[]"]),
        ({"type": "object", "properties": {}}, ["{}"], ['{"a":1}']),
        ({"properties": {"a": {"type": "null"}}}, ["{}", '{"a":null}'], ['{"b":1}']),
        ({"properties": {"a": {}}, "required": ["z"]}, ['{"z":1}'], ["{}", '{"a":1}']),
        ({"required": ["z"]}, ['{"z":1,"y":2}'], ["{}"]),
        ({"additionalProperties": {"type": "null"}}, ['{"x":null}'], ['{"x":1}']),
        (
            {"properties": {"a": {"type": "null"}}, "additionalProperties": True},
            ['{"a":null,"b":1}'],
            ['{"a":1}', '{"a":null,"\\u0061":1}', '{"a":null,"a":1}'],
        ),
        (
            {"patternProperties": {"^n_": {"type": "null"}}},
            ['{"n_a":null}'],
            ['{"n_a":1}', '{"x":1}'],
        ),
        ({"propertyNames": {"enum": ["a", "b"]}}, ['{"b":1}'], ['{"c":1}']),
        ({"propertyNames": {"pattern": "^[ab]$"}}, ['{"b":1}'], ['{"c":1}']),
        ({"type": "object", "minProperties": 1}, ['{"a":1}'], ["{}"]),
        (
            {"properties": {"a": {}, "b": {}}, "minProperties": 2},
            ['{"a":1,"b":2}'],
            ["{}"],
        ),
        ({"type": "object", "maxProperties": 1}, ['{"a":1}'], ['{"a":1,"b":1}']),
        ({"type": "object", "maxProperties": 0}, ["{}"], ['{"a":1}']),
        # -- combined
        ({"anyOf": [{"const": 1}, {"type": "null"}]}, ["1", "null"], ["2"]),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, ["1", '"a"'], ["null"]),
        ({"oneOf": [CAT, DOG]}, ['{"kind":"cat"}'], ['{"kind":"dog"}']),
        (
            {
                "oneOf": [
                    {"properties": {"a": {}}, "required": ["a"], "type": "object"},
                    {"properties": {"b": {}}, "required": ["b"], "type": "object"},
                ]
            },
            ['{"a":1}', '{"b":1}'],
            ['{"a":1,"b":1}', "{}"],
        ),
        ({"allOf": [{"minimum": 3}, {"type": "integer"}]}, ["3"], ["2", "3.5"]),
        (
            {
                "allOf": [
                    {"type": "object", "properties": {"a": {}}, "required": ["a"]},
                    {"type": "object", "properties": {"b": {"type": "null"}}},
                ]
            },
            ['{"a":1}', '{"a":1,"b":null}'],
            ['{"b":null}', '{"a":1,"b":1}', '{"a":1,"c":1}'],
        ),
        (
            {
                "type": "object",
                "properties": {"a": {}, "b": {}},
                "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            },
            ['{"a":1}', '{"b":1}'],
            ["{}", '{"c":1}'],
        ),
        (
            {"anyOf": [{"type": "number"}, {"type": "string", "pattern": "^(?!-)"}]},
            ["1.5"],
            ['"a"'],
        ),
        ({"anyOf": [{"enum": []}, {"type": "null"}]}, ["null"], ["1"]),
        # -- references
        (
            {"$defs": {"M": MOOD}, "items": {"$ref": "#/$defs/M"}},
            ['["sad"]'],
            ['["x"]'],
        ),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": MOOD}},
            ['"sad"'],
            ['"x"'],
        ),
        (
            {"definitions": {"a/b%": MOOD}, "$ref": "#/definitions/a~1b%25"},
            ['"sad"'],
            ['"x"'],
        ),
        (
            {"anyOf": [{"type": "null"}, {"items": {"$ref": "#/anyOf/0"}}]},
            ["[null]"],
            ["[1]"],
        ),
        (
            {"$defs": {"m": {"$anchor": "mood", **MOOD}}, "$ref": "#mood"},
            ['"sad"'],
            ["1"],
        ),
        (
            {"$id": "http://s/", "$ref": "http://s/#/$defs/m", "$defs": {"m": MOOD}},
            ['"sad"'],
            ["1"],
        ),
        (
            {"$ref": "#/$defs/s", "maxLength": 2, "$defs": {"s": {"type": "string"}}},
            ['"ab"'],
            ['"abc"'],
        ),
        (
            {"$defs": {"node": TREE}, "$ref": "#/$defs/node"},
            ['{"value":1,"children":[{"value":2,"children":[]}]}'],
            ['{"value":1}', '{"value":1,"children":[1]}'],
        ),
        (
            {"properties": {"next": {"$ref": "#"}, "v": {"type": "null"}}},
            ['{"next":{"next":{"v":null}}}'],
            ['{"next":1}'],
        ),
    ],
)
def test_texts_match_or_not(schema, right, wrong):
    grammar = grammar_of(schema)
    assert [text for text in right if not allows(grammar, text)] == []
    assert [text for text in wrong if allows(grammar, text)] == []
    assert all(is_valid(schema, json.loads(text)) for text in right)


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"minimum": 0, "exclusiveMinimum": True}, ["1"], ["0", "-1"]),
        ({"maximum": 0, "exclusiveMaximum": False}, ["0"], ["1"]),
        ({"items": [{"type": "null"}], "additionalItems": False}, ["[]"], ["[1]"]),
        ({"items": [{"type": "null"}]}, ["[null, 1]"], ["[1]"]),
        ({"type": "string", "nullable": True}, ['"a"', "null"], ["1"]),
        (
            {"id": "x", "$ref": "x#/definitions/m", "definitions": {"m": MOOD}},
            ['"sad"'],
            ["1"],
        ),
    ],
)
def test_old_spellings_mean_what_they_meant(schema, right, wrong):
    grammar = grammar_of(schema)
    assert [text for text in right if not allows(grammar, text)] == []
    assert [text for text in wrong if allows(grammar, text)] == []


@pytest.mark.parametrize(
    "annotations",
    [
        {"title": "t", "description": "d", "default": 1, "examples": [1]},
        {"$comment": "c", "x-order": 1, "discriminator": {}, "deprecated": True},
        {"$schema": "http://json-schema.org/draft-07/schema#", "readOnly": True},
        {"if": {"type": "null"}, "not": False, "contains": True, "minContains": 0},
        {"uniqueItems": False, "dependentRequired": {}, "unevaluatedProperties": True},
        {"format": "odd", "contentEncoding": "base64", "strict": True},
    ],
)
def test_annotations_change_nothing(annotations):
    plain = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert json_schema_rule({**plain, **annotations}) == json_schema_rule(plain)


def test_white_space_is_llama_servers():
    grammar = grammar_of({"type": "object", "properties": {"a": {"type": "null"}}})
    assert allows(grammar, '{ "a" :\n\n  \tnull\n}')
    assert not allows(grammar, '{  "a":null}')
    assert not allows(grammar, ' {"a":null}')
    assert not allows(grammar, '{"a":null} ')


def test_properties_keep_their_order():
    grammar = grammar_of({"properties": {"b": {}, "a": {}}, "required": ["a", "b"]})
    assert allows(grammar, '{"b":1,"a":2}')
    assert not allows(grammar, '{"a":2,"b":1}')


def test_a_property_that_nothing_ends_is_left_out():
    endless = {
        "type": "object",
        "required": ["x"],
        "properties": {"x": {"$ref": "#/$defs/e"}},
    }
    schema = {"properties": {"a": {"$ref": "#/$defs/e"}}, "$defs": {"e": endless}}
    assert allows(grammar_of(schema), "{}")
    assert not allows(grammar_of(schema), '{"a":{"x":')


@pytest.mark.parametrize(
    "schema",
    [
        TREE | {"$defs": {"node": TREE}},
        {"type": "array", "items": {"anyOf": [CAT, DOG]}, "minItems": 1},
        {
            "type": "object",
            "properties": {
                "id": {"type": "string", "format": "uuid"},
                "when": {"type": "string", "format": "date-time"},
                "mail": {"type": "string", "format": "email"},
                "tags": {"type": "array", "items": MOOD, "maxItems": 3},
                "size": {"type": "number", "minimum": 0.5, "maximum": 99.5},
            },
            "required": ["id", "when", "mail", "tags", "size"],
        },
        {"type": "object", "additionalProperties": {"type": "array", "items": DOG}},
    ],
)
def test_walks_match_the_schema(schema):
    assert [errors(schema, seed) for seed in range(5)] == [[]] * 5


def check_random(seeds: range) -> tuple[int, int]:
    """Return how many random schemas are honoured and refused; the rest is wrong."""
    n_honoured = n_refused = 0
    for seed in seeds:
        schema = RandomSchemas(seed).schema()
        try:
            wrong = errors(schema, seed)
        except ConstraintError:
            n_refused += 1
            continue
        assert wrong == [], (seed, schema)
        n_honoured += 1
    return n_honoured, n_refused


def test_random_schemas_are_honoured_or_refused():
    n_honoured, n_refused = check_random(range(N_RANDOM))
    assert n_honoured > n_refused > 0


if __name__ == "__main__":
    import sys

    print(check_random(range(int(sys.argv[1]))))
