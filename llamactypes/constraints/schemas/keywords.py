"""The keywords of JSON Schema: what is honoured, what says nothing, what is refused.

Drafts 4 to 2020-12, and OpenAPI's ``nullable``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from llamactypes.constraints.schemas.places import refusal, unsupported

__all__ = (
    "APPLICATORS",
    "ARRAY",
    "FORMATS",
    "NUMBER",
    "OBJECT",
    "STRING",
    "TYPES",
    "check_keywords",
)

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
STRING = ("minLength", "maxLength", "pattern", "format")
NUMBER = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
)
ARRAY = ("prefixItems", "items", "minItems", "maxItems", "uniqueItems")
OBJECT = (
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "required",
    "minProperties",
    "maxProperties",
)
APPLICATORS = ("$ref", "allOf", "anyOf", "oneOf", "const", "enum")

FORMATS = frozenset(
    (
        "date-time",
        "time",
        "date",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "uuid",
        "uri",
    )
)
"""What is honoured. Other formats are annotations, as draft 2020-12 has them."""

_OLD = ("additionalItems", "nullable", "unevaluatedProperties", "unevaluatedItems")
_KNOWN = frozenset(("type", *STRING, *NUMBER, *ARRAY, *OBJECT, *APPLICATORS, *_OLD))

_REFUSED = frozenset(
    (
        "not",
        "if",
        "contains",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "$dynamicRef",
        "$recursiveRef",
        "extends",
        "disallow",
        "divisibleBy",
    )
)
_WITHOUT_EFFECT: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "not": lambda schema: schema["not"] is False,
    "if": lambda schema: "then" not in schema and "else" not in schema,
    "contains": lambda schema: (
        schema.get("minContains") == 0 and "maxContains" not in schema
    ),
    "dependentRequired": lambda schema: schema["dependentRequired"] == {},
    "dependentSchemas": lambda schema: schema["dependentSchemas"] == {},
    "dependencies": lambda schema: schema["dependencies"] == {},
}

_LIKE = {name.lower(): name for name in (*_KNOWN, *_REFUSED)}


def _is_count(value: object) -> bool:
    if not isinstance(value, int | float) or not _is_number(value):
        return False
    return value >= 0 and value == int(value)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value)


def _is_schema(value: object) -> bool:
    return isinstance(value, bool | dict)


def _are_schemas(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_schema, value))


def _is_type(value: object) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) for name in names)


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_map(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_schema, value.values()))


_Check = tuple[Callable[[object], bool], str]
_COUNT: _Check = (_is_count, "a whole number, 0 or more")
_A_NUMBER: _Check = (_is_number, "a number")
_A_SCHEMA: _Check = (_is_schema, "a schema: an object, true or false")
_SCHEMAS: _Check = (_are_schemas, "a list of schemas")
_A_MAP: _Check = (_is_map, "an object whose values are schemas")
_TEXT: _Check = (_is_text, "a string")
_FLAG: _Check = (_is_flag, "true or false")
_BOUND: _Check = (lambda value: _is_number(value) or _is_flag(value), "a number")

_CHECKS: Mapping[str, _Check] = {
    "type": (_is_type, "a type's name or a list of them"),
    "minLength": _COUNT,
    "maxLength": _COUNT,
    "pattern": _TEXT,
    "format": _TEXT,
    "minimum": _A_NUMBER,
    "maximum": _A_NUMBER,
    "exclusiveMinimum": _BOUND,
    "exclusiveMaximum": _BOUND,
    "multipleOf": (lambda value: _is_number(value) and value != 0, "a number, not 0"),
    "prefixItems": _SCHEMAS,
    "items": (lambda value: _is_schema(value) or _are_schemas(value), _A_SCHEMA[1]),
    "additionalItems": _A_SCHEMA,
    "minItems": _COUNT,
    "maxItems": _COUNT,
    "uniqueItems": _FLAG,
    "properties": _A_MAP,
    "patternProperties": _A_MAP,
    "additionalProperties": _A_SCHEMA,
    "propertyNames": _A_SCHEMA,
    "unevaluatedProperties": _A_SCHEMA,
    "unevaluatedItems": _A_SCHEMA,
    "required": (_are_names, "a list of strings"),
    "minProperties": _COUNT,
    "maxProperties": _COUNT,
    "nullable": _FLAG,
    "$ref": _TEXT,
    "allOf": _SCHEMAS,
    "anyOf": _SCHEMAS,
    "oneOf": _SCHEMAS,
    "enum": (_is_list, "a list"),
}


def check_keywords(schema: Mapping[str, Any], path: str) -> None:
    """Check the keywords of one schema and the kinds of their values.

    Keywords that no draft defines are annotations, unless they look like a slip of the
    pen.

    Raises:
        ConstraintError: One cannot be honoured, has a wrong value or is misspelt.
    """
    for keyword, value in schema.items():
        if keyword in _KNOWN:
            _check_value(keyword, value, path)
        elif keyword in _REFUSED:
            if not _has_no_effect(keyword, schema):
                raise unsupported(path, keyword)
        elif likely := _misspelt(keyword):
            raise refusal(path, keyword, f"is no keyword; did you mean {likely!r}?")
    _check_types(schema, path)


def _check_value(keyword: str, value: object, path: str) -> None:
    check = _CHECKS.get(keyword)
    if check is not None and not check[0](value):
        raise refusal(path, keyword, f"must be {check[1]}")


def _check_types(schema: Mapping[str, Any], path: str) -> None:
    named = schema.get("type", [])
    for name in named if isinstance(named, list) else [named]:
        if name not in TYPES:
            known = ", ".join(TYPES)
            raise refusal(path, "type", f"knows no {name!r}, only {known}")


def _has_no_effect(keyword: str, schema: Mapping[str, Any]) -> bool:
    check = _WITHOUT_EFFECT.get(keyword)
    return check is not None and check(schema)


def _misspelt(keyword: str) -> str | None:
    plain = keyword.replace("_", "").replace("-", "").lower()
    likely = _LIKE.get(plain)
    return likely if likely != keyword else None
