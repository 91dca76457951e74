"""Old spellings of JSON Schema, written as draft 2020-12 has them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llamactypes.constraints.schemas.keywords import APPLICATORS
from llamactypes.constraints.schemas.places import unsupported

__all__ = ("modern",)


def modern(schema: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return a checked schema without the spellings of older drafts and OpenAPI.

    Raises:
        ConstraintError: A keyword cannot be said in another way.
    """
    found = dict(schema)
    _lists_of_items(found)
    _exclusive_flags(found)
    _unevaluated(found, path)
    _names_of_properties(found)
    if found.pop("nullable", False):
        found = {"anyOf": [found, {"type": "null"}]}
    return found


def _lists_of_items(schema: dict[str, Any]) -> None:
    """Draft 7's list of items is ``prefixItems``; what comes after it, ``items``."""
    after = schema.pop("additionalItems", None)
    if isinstance(schema.get("items"), list):
        schema["prefixItems"] = schema.pop("items")
        if after is not None:
            schema["items"] = after


def _exclusive_flags(schema: dict[str, Any]) -> None:
    """Draft 4 has flags that make the other bound exclusive."""
    for flag, bound in (
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ):
        value = schema.get(flag)
        if isinstance(value, bool):
            del schema[flag]
            if value and bound in schema:
                schema[flag] = schema.pop(bound)


def _unevaluated(schema: dict[str, Any], path: str) -> None:
    for keyword, plain in (
        ("unevaluatedProperties", "additionalProperties"),
        ("unevaluatedItems", "items"),
    ):
        value = schema.pop(keyword, True)
        if value is True:
            continue
        if any(applicator in schema for applicator in APPLICATORS):
            raise unsupported(path, keyword, "is not supported beside other schemas")
        schema.setdefault(plain, value)


def _names_of_properties(schema: dict[str, Any]) -> None:
    """Say nothing of names when nothing is asked of them."""
    if schema.get("propertyNames") in (True, {}, {"type": "string"}):
        del schema["propertyNames"]
