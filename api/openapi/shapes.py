"""JSON Schemas of single fields. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from api.protocol.fields import Integer, Number

__all__ = (
    "ANY",
    "BOOLEAN",
    "INTEGER",
    "NUMBER",
    "OBJECT",
    "Schema",
    "STRING",
    "STRINGS",
    "TOKENS",
    "array",
    "either",
    "integers",
    "nullable",
    "numbers",
    "one_of",
)

Schema = dict[str, Any]

_UNBOUNDED = 1e38

ANY: Schema = {}
BOOLEAN: Schema = {"type": "boolean"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
STRING: Schema = {"type": "string"}
OBJECT: Schema = {"type": "object"}


def array(items: Schema, **more: Any) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items, **more}


STRINGS = array(STRING)
TOKENS = array({"type": "integer", "minimum": 0})


def either(*schemas: Schema) -> Schema:
    """Return the schema of what fits any of `schemas`."""
    return {"anyOf": list(schemas)}


def one_of(*words: str) -> Schema:
    """Return the schema of one of several words."""
    return {"type": "string", "enum": list(words)}


def nullable(schema: Schema) -> Schema:
    """Return `schema` with null, which means the same as leaving a field out."""
    if not schema:
        return schema
    return {"anyOf": [schema, {"type": "null"}]}


def numbers(fields: Iterable[Number]) -> dict[str, Schema]:
    """Return a property for each name of each field."""
    return {
        name: _bounded("number", each.minimum, each.maximum, is_hard=each.hard)
        for each in fields
        for name in each.names
    }


def integers(fields: Iterable[Integer]) -> dict[str, Schema]:
    """Return a property for each name of each field."""
    return {
        name: _bounded("integer", each.minimum, each.maximum, is_hard=each.hard)
        for each in fields
        for name in each.names
    }


def _bounded(kind: str, minimum: float, maximum: float, *, is_hard: bool) -> Schema:
    limits: Mapping[str, float] = {"minimum": minimum, "maximum": maximum}
    shown = {k: v for k, v in limits.items() if abs(v) < _UNBOUNDED}
    if is_hard:
        return {"type": kind, **shown}
    if not shown:
        return {"type": kind}
    words = " and ".join(f"{name} {value:g}" for name, value in shown.items())
    return {"type": kind, "description": f"Forced to {words}."}
