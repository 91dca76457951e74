"""Schemas that nothing finite matches, such as a list that must hold itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ("without_endless",)

Normal = dict[str, Any] | bool

_PREFIX = "#/$defs/"


def without_endless(
    root: Normal, definitions: Mapping[str, Normal]
) -> tuple[Normal, dict[str, Normal]]:
    """Return the schemas with false in place of what nothing finite matches."""
    ending = _ending(definitions)
    kept = {
        name: _pruned(schema, ending)
        for name, schema in definitions.items()
        if name in ending
    }
    return _pruned(root, ending), kept


def _ending(definitions: Mapping[str, Normal]) -> set[str]:
    """Return the names of the definitions that something finite matches."""
    ending: set[str] = set()
    waiting = set(definitions)
    # Each round finds what ends through what the rounds before have found.
    while found := {name for name in waiting if _ends(definitions[name], ending)}:
        ending |= found
        waiting -= found
    return ending


def _ends(schema: Normal, ending: set[str]) -> bool:
    if isinstance(schema, bool):
        return schema
    if "$ref" in schema:
        return schema["$ref"].removeprefix(_PREFIX) in ending
    if "anyOf" in schema:
        return any(_ends(option, ending) for option in schema["anyOf"])
    if "allOf" in schema:
        return all(_ends(member, ending) for member in schema["allOf"])
    is_object, is_array = (schema.get("type") == name for name in ("object", "array"))
    if is_object and not _object_ends(schema, ending):
        return False
    return not is_array or _array_ends(schema, ending)


def _object_ends(schema: Mapping[str, Any], ending: set[str]) -> bool:
    properties = schema.get("properties", {})
    return all(
        _ends(properties[name], ending)
        for name in schema.get("required", ())
        if name in properties
    )


def _array_ends(schema: Mapping[str, Any], ending: set[str]) -> bool:
    low = schema.get("minItems", 0)
    prefix = schema.get("prefixItems", [])
    if not all(_ends(item, ending) for item in prefix[:low]):
        return False
    return low <= len(prefix) or _ends(schema.get("items", True), ending)


def _pruned(schema: Normal, ending: set[str]) -> Normal:
    if isinstance(schema, bool):
        return schema
    if not _ends(schema, ending):
        return False
    found = dict(schema)
    for keyword in ("anyOf", "allOf", "prefixItems"):
        if keyword in found:
            found[keyword] = [_pruned(member, ending) for member in found[keyword]]
    for keyword in ("items", "additionalProperties"):
        if keyword in found:
            found[keyword] = _pruned(found[keyword], ending)
    for keyword in ("properties", "patternProperties"):
        if keyword in found:
            members = found[keyword].items()
            found[keyword] = {name: _pruned(value, ending) for name, value in members}
    return found
