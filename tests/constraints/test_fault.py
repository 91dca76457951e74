"""Which part of a schema it is that nothing matches."""

from __future__ import annotations

import pytest

from llamactypes.constraints.json_schema import json_schema_rule
from llamactypes.constraints.schemas.fault import with_path
from llamactypes.errors import ConstraintError
from tests.support.grammar_walks import compiled

IMPOSSIBLE = {"type": "string", "pattern": "^a$", "minLength": 2}


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        (IMPOSSIBLE, "$"),
        ({"items": IMPOSSIBLE, "minItems": 1}, "$.items"),
        ({"properties": {"x": IMPOSSIBLE}, "required": ["x"]}, "$.properties.x"),
        ({"allOf": [{}, {"anyOf": [IMPOSSIBLE]}]}, "$.allOf[1].anyOf[0]"),
        ({"$defs": {"d": IMPOSSIBLE}, "$ref": "#/$defs/d"}, "$.$defs.d"),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, "$"),
        (
            {
                "properties": {"a": {"$ref": "#/$defs/i"}},
                "required": ["a"],
                "$defs": {"i": {"allOf": [{"const": 1}, {"const": 2}]}},
            },
            "$.properties.a",
        ),
    ],
)
def test_the_smallest_part_is_named(schema, path):
    with pytest.raises(ConstraintError) as caught:
        compiled(f"start: {json_schema_rule(schema)}")
    assert caught.value.path == ""
    error = with_path(caught.value, schema, "$", compiled)
    assert error.path == path
    assert str(error).endswith(f"(at {path})")


def test_the_search_ends():
    properties = {f"p{index}": {"type": "null"} for index in range(500)}
    schema = {"properties": {**properties, "x": IMPOSSIBLE}, "required": ["x"]}
    error = with_path(ConstraintError("it is wrong"), schema, "$", compiled)
    assert (error.path, str(error)) == ("$", "it is wrong (at $)")
