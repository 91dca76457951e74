"""What a tool's schema says about each argument by itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llamactypes.chat.output.calls.value_types import TEXT_ONLY, Types, types_of
from llamactypes.constraints.json_schema import json_schema_rule
from llamactypes.constraints.schemas.document import Document

__all__ = ("Property", "items_of", "properties_of", "with_object")

_DEFINITIONS = ("$defs", "definitions", "$schema", "$id")
_COMBINED = ("$ref", "anyOf", "oneOf", "allOf")
_DEEPEST = 16


@dataclass(frozen=True, slots=True)
class Property:
    """One argument of a tool."""

    name: str
    schema: Any
    """With the definitions of the whole, so that its references lead somewhere."""
    types: Types
    is_required: bool
    path: str
    choices: Sequence[str] | None = field(default=None)
    """The only texts it may be, when it can be nothing but one of a few texts."""

    def as_json(self) -> str:
        """Return the expression of its value as JSON."""
        return json_schema_rule(self.schema, path=self.path)


def with_object(parameters: Any) -> dict[str, Any]:
    """Return a tool's parameters as the schema of an object.

    Like OpenAI's strict mode, no other arguments than those named, when the schema does
    not say otherwise; with none named, there are none.
    """
    schema = dict(parameters) if isinstance(parameters, Mapping) else {}
    if any(keyword in schema for keyword in _COMBINED):
        return schema
    schema.setdefault("type", "object")
    schema.setdefault("properties", {})
    if "patternProperties" not in schema:
        schema.setdefault("additionalProperties", False)
    return schema


def properties_of(schema: Mapping[str, Any], path: str) -> list[Property]:
    """Return the arguments that the object schema at `path` names."""
    shape = _shape(schema, path)
    properties = shape.get("properties")
    if not isinstance(properties, Mapping):
        return []
    required = shape.get("required")
    named = required if isinstance(required, list) else []
    shared = {key: schema[key] for key in _DEFINITIONS if key in schema}
    return [
        Property(
            name,
            {**shared, **part} if isinstance(part, Mapping) else part,
            types_of(part, schema),
            name in named,
            f"{path}.properties.{name}",
            _choices(part, schema),
        )
        for name, part in properties.items()
    ]


def items_of(array: Property, name: str) -> Property:
    """Return the items of an array as if they were an argument called `name`."""
    schema = array.schema if isinstance(array.schema, Mapping) else {}
    shared = {key: schema[key] for key in _DEFINITIONS if key in schema}
    holder = {**shared, "properties": {name: schema.get("items", {})}}
    [items] = properties_of(holder, array.path)
    return items


def _shape(schema: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """Return the object's own schema behind references."""
    document = Document(schema, path)
    found: object = schema
    for _ in range(_DEEPEST):
        if not isinstance(found, Mapping) or "$ref" not in found:
            break
        found = document.resolve(found["$ref"], path).schema
    return found if isinstance(found, Mapping) else {}


def _choices(part: object, root: object) -> list[str] | None:
    if not isinstance(part, Mapping):
        return None
    values = [part["const"]] if "const" in part else part.get("enum")
    if not isinstance(values, list) or types_of(part, root) != TEXT_ONLY:
        return None
    return [value for value in values if isinstance(value, str)]
