"""What a tool's schema says about each argument by itself. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llamactypes.chat.output.calls.value_types import Types, types_of
from llamactypes.constraints.json_schema import json_schema_rule
from llamactypes.constraints.patterns import translated_pattern
from llamactypes.constraints.schemas.document import Document
from llamactypes.errors import ConstraintError

__all__ = (
    "Property",
    "bare",
    "check_required",
    "check_shape",
    "check_value",
    "items_of",
    "properties_of",
    "with_object",
)

_DEFINITIONS = ("$defs", "definitions", "$schema", "$id")
_COMBINED = ("$ref", "anyOf", "oneOf", "allOf")
_TOGETHER = (
    *("anyOf", "oneOf", "allOf", "not", "if", "enum", "const"),
    *("minProperties", "maxProperties", "dependentRequired", "dependencies"),
    *("patternProperties", "propertyNames", "dependentSchemas"),
)
"""Keywords that say something of all arguments together."""
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
    choices: Sequence[Any] | None = field(default=None)
    """The only values it may have, when they are few and a text is among them."""
    patterns: Sequence[str] = ()
    """Regular expressions that its text must match, when it is a text."""
    is_any_of_types: bool = False
    """Whether every boolean and null of its `types` is right."""

    def as_json(self, kind: str = "") -> str:
        """Return the expression of its value as JSON; `kind`: only of this type."""
        schema = self.schema
        if kind and isinstance(schema, Mapping):
            schema = {**schema, "type": kind}
        return json_schema_rule(schema, path=self.path)

    @property
    def n_items(self) -> str:
        """How many items an array may have, as a regular expression counts."""
        schema = self.schema if isinstance(self.schema, Mapping) else {}
        most = schema.get("maxItems")
        least = int(schema.get("minItems", 0))
        return f"{{{least},{'' if most is None else int(most)}}}"


def with_object(parameters: Any, path: str = "") -> dict[str, Any]:
    """Return a tool's parameters, at `path`, as the schema of an object.

    Like OpenAI's strict mode, no other arguments than those named, when the schema does
    not say otherwise; with none named, there are none. A name that is only required is
    one of an argument that may be anything.

    Raises:
        ConstraintError: It is the schema of something else.
    """
    schema = dict(parameters) if isinstance(parameters, Mapping) else {}
    try:
        kinds = types_of(schema, schema)
    except ConstraintError:
        kinds = None  # said with its path where the whole is checked
    if kinds is not None and "object" not in kinds:
        message = f"arguments are an object, and not what {path} says"
        raise ConstraintError(message, path)
    schema["type"] = "object"
    if any(keyword in schema for keyword in (*_COMBINED, "enum", "const")):
        return schema
    schema.setdefault("properties", {})
    if "patternProperties" not in schema and "additionalProperties" not in schema:
        schema["properties"] = _with_required(schema)
        schema["additionalProperties"] = False
    return schema


def _with_required(schema: Mapping[str, Any]) -> Any:
    """Return the properties, and those that are required without being described."""
    named, required = schema["properties"], schema.get("required")
    if not isinstance(named, Mapping) or not isinstance(required, list):
        return named  # refused where the whole is checked
    others = [name for name in required if isinstance(name, str) and name not in named]
    return {**named, **{name: {} for name in others}}


def properties_of(schema: Mapping[str, Any], path: str) -> list[Property]:
    """Return the arguments that the object schema at `path` names."""
    shape = _shape(schema, path)
    properties = shape.get("properties")
    if not isinstance(properties, Mapping):
        return []
    required = shape.get("required")
    named = required if isinstance(required, list) else []
    shared = {key: schema[key] for key in _DEFINITIONS if key in schema}
    document = Document(schema, path)
    return [
        Property(
            name,
            {**shared, **part} if isinstance(part, Mapping) else part,
            types_of(part, schema),
            name in named,
            f"{path}.properties.{name}",
            _choices(part, schema),
            _patterns(_resolved(part, document, path)),
            not any(key in _resolved(part, document, path) for key in _TOGETHER),
        )
        for name, part in properties.items()
    ]


def check_required(
    schema: Mapping[str, Any], properties: Sequence[Property], path: str
) -> None:
    """Check that every argument that must be there is one that is named.

    Raises:
        ConstraintError: There is another.
    """
    named = {each.name for each in properties}
    for name in _shape(schema, path).get("required") or ():
        if name not in named:
            message = f"{path} requires {str(name)[:64]!r} and says nothing about it"
            raise ConstraintError(message, f"{path}.required")


def check_shape(schema: Mapping[str, Any], path: str, *, is_strict: bool) -> None:
    """Check that nothing is said of the arguments together, when that is strict.

    Outside of JSON, each argument is constrained by itself.

    Raises:
        ConstraintError: Something is.
    """
    found = next((key for key in _TOGETHER if key in _shape(schema, path)), None)
    if is_strict and found is not None:
        message = (
            f"calls of this model cannot keep {found!r} at {path}, and it is strict"
        )
        raise ConstraintError(message, f"{path}.{found}")


def check_value(one: Property) -> None:
    """Check that an array or an object is not one of some values.

    Raises:
        ConstraintError: It is.
    """
    schema = one.schema if isinstance(one.schema, Mapping) else {}
    found = next((key for key in ("enum", "const") if key in schema), None)
    if found is not None:
        message = f"calls of this model cannot keep {found!r} at {one.path}"
        raise ConstraintError(message, f"{one.path}.{found}")


def bare(value: Any) -> str:
    """Return a value as it is written where texts have no quotes."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def items_of(array: Property, name: str) -> Property:
    """Return the items of an array as if they were an argument called `name`."""
    schema = array.schema if isinstance(array.schema, Mapping) else {}
    shared = {key: schema[key] for key in _DEFINITIONS if key in schema}
    holder = {**shared, "properties": {name: schema.get("items", {})}}
    [items] = properties_of(holder, array.path)
    return items


def _shape(schema: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """Return the object's own schema behind references."""
    return _resolved(schema, Document(schema, path), path)


def _resolved(schema: object, document: Document, path: str) -> Mapping[str, Any]:
    found = schema
    for _ in range(_DEEPEST):
        if not isinstance(found, Mapping) or "$ref" not in found:
            break
        found = document.resolve(found["$ref"], path).schema
    return found if isinstance(found, Mapping) else {}


def _patterns(part: Mapping[str, Any]) -> list[str]:
    found = [f"({translated_pattern(part['pattern'])})"] if "pattern" in part else []
    least, most = part.get("minLength", 0), part.get("maxLength")
    if least or most is not None:
        found.append(f"(?s:.){{{int(least)},{'' if most is None else int(most)}}}")
    return found


def _choices(part: object, root: object) -> list[Any] | None:
    if not isinstance(part, Mapping):
        return None
    values = [part["const"]] if "const" in part else part.get("enum")
    types = types_of(part, root)
    if not isinstance(values, list) or types is None or "string" not in types:
        return None
    rest = {key: part[key] for key in part if key not in ("const", "enum")}
    declared = types_of(rest, root)
    return [each for each in values if _is_of(each, declared)]


def _is_of(value: Any, types: Types) -> bool:
    kinds = types_of({"const": value}, None)
    if types is None or kinds is None:
        return True
    return bool(kinds & types) or ("integer" in kinds and "number" in types)
