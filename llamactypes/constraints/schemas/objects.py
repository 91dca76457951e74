"""Schemas of objects, as they can be honoured. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llamactypes.constraints.schemas.leaves import anchored, check_value
from llamactypes.constraints.schemas.places import Place, unsatisfiable, unsupported

__all__ = ("ObjectWriter",)

_MAX_OPTIONAL = 2000
"""Properties of one object: they may be missing in any combination."""
_MAX_NAMES = 500


class ObjectWriter:
    """Writes the keywords of objects."""

    def __init__(self, write: Callable[[Any, Place], Any]) -> None:
        self._write = write

    def write(self, schema: Mapping[str, Any], place: Place) -> dict[str, Any]:
        """Return the keywords of objects.

        Raises:
            ConstraintError: One cannot be honoured.
        """
        schema = _named_properties(schema, place.path)
        found: dict[str, Any] = {}
        properties = self._properties(schema, place)
        if properties:
            found["properties"] = properties
        if "patternProperties" in schema:
            found["patternProperties"] = self._patterns(schema, place)
        required = list(dict.fromkeys(schema.get("required", ())))
        if required:
            found["required"] = required
        self._close(found, schema, place)
        return _counted(found, schema, place.path)

    def _properties(self, schema: Mapping[str, Any], place: Place) -> dict[str, Any]:
        listed = schema.get("properties", {})
        if len(listed) > _MAX_OPTIONAL + len(schema.get("required", ())):
            why = f"has more than {_MAX_OPTIONAL} properties that may be missing"
            raise unsupported(place.path, "properties", why)
        for name in (*listed, *schema.get("required", ())):
            check_value(name, place.path, "properties")
        return {
            name: self._write(value, place.inside("properties", name))
            for name, value in listed.items()
        }

    def _patterns(self, schema: Mapping[str, Any], place: Place) -> dict[str, Any]:
        keyword = "patternProperties"
        return {
            anchored(pattern, place.path, keyword, pattern): self._write(
                value, place.inside(keyword, pattern)
            )
            for pattern, value in schema[keyword].items()
        }

    def _close(
        self, found: dict[str, Any], schema: Mapping[str, Any], place: Place
    ) -> None:
        if "additionalProperties" in schema:
            additional = schema["additionalProperties"]
            inside = place.inside("additionalProperties")
            found["additionalProperties"] = self._write(additional, inside)
        elif place.is_open or not ("properties" in schema or found.keys() & _PATTERNS):
            return
        else:
            found["additionalProperties"] = False
            # A required property that is not listed may be anything.
            if not found.keys() & _PATTERNS:
                _list_required(found)


_PATTERNS = {"patternProperties"}


def _list_required(found: dict[str, Any]) -> None:
    missing = [
        name
        for name in found.get("required", ())
        if name not in found.get("properties", {})
    ]
    if missing:
        found["properties"] = found.get("properties", {}) | dict.fromkeys(missing, True)


def _named_properties(schema: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """Return the schema with ``propertyNames`` said in other words."""
    names = schema.get("propertyNames")
    if names is None:
        return schema
    if schema.get("properties") or schema.get("patternProperties"):
        raise unsupported(path, "propertyNames", "is not supported beside properties")
    rest = {key: value for key, value in schema.items() if key != "propertyNames"}
    additional = rest.get("additionalProperties", True)
    if names is False:
        return {**rest, "additionalProperties": False}
    asked = {key: value for key, value in names.items() if key not in _SAYS_NOTHING}
    if asked.get("type", "string") != "string":
        raise unsatisfiable(path, "names of properties are strings")
    asked.pop("type", None)
    if asked.keys() == {"enum"} or asked.keys() == {"const"}:
        listed = asked.get("enum", [asked.get("const")])
        return {**rest, **_from_list(listed, additional, path)}
    if asked.keys() == {"pattern"}:
        return {
            **rest,
            "patternProperties": {asked["pattern"]: additional},
            "additionalProperties": False,
        }
    if asked:
        why = "is honoured with 'enum', 'const' or 'pattern' only"
        raise unsupported(path, "propertyNames", why)
    return rest


_SAYS_NOTHING = frozenset(("title", "description", "default", "examples", "$comment"))


def _from_list(listed: Any, additional: Any, path: str) -> dict[str, Any]:
    if not isinstance(listed, list) or len(listed) > _MAX_NAMES:
        raise unsupported(path, "propertyNames", f"lists more than {_MAX_NAMES} names")
    properties = {name: additional for name in listed if isinstance(name, str)}
    return {"properties": properties, "additionalProperties": False}


def _counted(
    found: dict[str, Any], schema: Mapping[str, Any], path: str
) -> dict[str, Any]:
    """Return the keywords with the bounds on how many properties there are."""
    low = int(schema.get("minProperties", 0))
    high = schema.get("maxProperties")
    if high is not None:
        if low > high:
            raise unsatisfiable(path, f"minProperties ({low}) is above maxProperties")
        found = _at_most(found, int(high), path)
    return _at_least(found, low, path) if low else found


def _at_most(found: dict[str, Any], high: int, path: str) -> dict[str, Any]:
    required = found.get("required", [])
    listed = found.get("properties", {})
    is_closed = _is_closed(found)
    if len(required) > high:
        raise unsatisfiable(path, f"more than maxProperties ({high}) are required")
    if is_closed and len(listed) <= high:
        return found
    if len(required) == high and not found.get("patternProperties"):
        kept = {name: listed.get(name, True) for name in required}
        return {**found, "properties": kept, "additionalProperties": False}
    is_simple = high == 1 and is_closed
    if not is_simple and not listed.keys() <= set(required):
        why = "is honoured only if all listed properties are required"
        raise unsupported(path, "maxProperties", why)
    return {**found, "maxProperties": high}


def _at_least(found: dict[str, Any], low: int, path: str) -> dict[str, Any]:
    required = found.get("required", [])
    listed = found.get("properties", {})
    if low <= len(required):
        return found
    if _is_closed(found):
        if low > len(listed):
            raise unsatisfiable(path, f"fewer than minProperties ({low}) are possible")
        if low == len(listed):
            return {**found, "required": list(listed)}
    elif listed:
        why = "is honoured only if as many listed properties are required"
        raise unsupported(path, "minProperties", why)
    if low > 1:
        # A model may write one name twice, which counts once.
        raise unsupported(path, "minProperties", "above 1 cannot be honoured here")
    return {**found, "minProperties": low}


def _is_closed(found: Mapping[str, Any]) -> bool:
    closed = found.get("additionalProperties") is False
    return closed and not found.get("patternProperties")
