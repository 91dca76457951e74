"""What can be said of schemas without compiling them: types, names, disjointness.

Everything here errs on the safe side: more types, unknown names, "may overlap". Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from llamactypes.constraints.schemas.document import Document
from llamactypes.constraints.schemas.keywords import TYPES, check_keywords
from llamactypes.errors import ConstraintError

__all__ = ("Shapes", "type_of")

_MAX_DEPTH = 12
_MAX_LOOKS = 100_000
_ALL = frozenset(TYPES) - {"integer"}


def type_of(value: object) -> str:
    """Return the JSON type of a value; whole numbers are integers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "integer" if value == int(value) else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


class Shapes:
    """Looks at the schemas of one document. The looks are counted."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._looks = 0
        self._sound: dict[int, bool] = {}

    def types(self, schema: Any, depth: int = 0) -> frozenset[str]:
        """Return the types of JSON that may match; ``number`` for integers, too."""
        self._count()
        if schema is False:
            return frozenset()
        if schema is True or depth > _MAX_DEPTH or not self._is_sound(schema):
            return _ALL
        found = _named_types(schema)
        for values in _values(schema):
            found &= {_plain(type_of(value)) for value in values}
        for member in self._all_of(schema):
            found &= self.types(member, depth + 1)
        for options in _options(schema):
            each = [self.types(option, depth + 1) for option in options]
            found &= frozenset().union(*each)
        return found

    def names(self, schema: Any, depth: int = 0) -> set[str] | None:
        """Return the names of all properties that are mentioned.

        None: objects may have others, or it cannot be told.
        """
        self._count()
        if isinstance(schema, bool):
            return set()
        if depth > _MAX_DEPTH or not self._is_sound(schema) or _opens(schema):
            return None
        found = {*schema.get("properties", ()), *schema.get("required", ())}
        for values in _values(schema):
            found.update(*(value for value in values if isinstance(value, dict)))
        for member in self._members(schema):
            inner = self.names(member, depth + 1)
            if inner is None:
                return None
            found |= inner
        return found

    def fixed_values(self, schema: Any, depth: int = 0) -> list[Any] | None:
        """Return the values that match, each once; None: it cannot be told."""
        self._count()
        if depth > _MAX_DEPTH or not self._is_sound(schema):
            return None
        keywords = {key for key in schema if key not in ("title", "description")}
        if keywords == {"$ref"}:
            target = self._document.resolve(schema["$ref"], "$").schema
            return self.fixed_values(target, depth + 1)
        if keywords == {"type"} and schema["type"] in ("boolean", "null"):
            return [False, True] if schema["type"] == "boolean" else [None]
        if keywords - {"type"} not in ({"enum"}, {"const"}):
            return None
        (values,) = _values(schema)
        fitting = [value for value in values if _is_of(value, schema)]
        return list({_key(value): value for value in fitting}.values())

    def has_properties(self, schema: Any, depth: int = 0) -> bool:
        """Return whether properties are listed anywhere in the schema."""
        self._count()
        if depth > _MAX_DEPTH or not self._is_sound(schema):
            return False
        return "properties" in schema or any(
            self.has_properties(member, depth + 1) for member in self._members(schema)
        )

    def are_disjoint(self, one: Any, other: Any, depth: int = 0) -> bool:
        """Return whether it is certain that no value matches both schemas."""
        self._count()
        if not self.types(one, depth) & self.types(other, depth):
            return True
        if depth > _MAX_DEPTH:
            return False
        if not self._is_sound(one) or not self._is_sound(other):
            return False
        return (
            _have_other_values(one, other)
            or self._numbers_differ(one, other)
            or self._parts_differ(one, other, depth)
            or self._parts_differ(other, one, depth)
        )

    def _parts_differ(self, one: Mapping[str, Any], other: Any, depth: int) -> bool:
        if any(self.are_disjoint(part, other, depth + 1) for part in self._all_of(one)):
            return True
        for options in _options(one):
            if all(self.are_disjoint(option, other, depth + 1) for option in options):
                return True
        return self._objects_differ(one, other, depth)

    def _objects_differ(
        self, one: Mapping[str, Any], other: Mapping[str, Any], depth: int
    ) -> bool:
        """Whether some property that `one` requires cannot be in `other`."""
        if self.types(one) != {"object"} and self.types(other) != {"object"}:
            return False
        own, others = one.get("properties", {}), other.get("properties", {})
        is_closed = other.get("additionalProperties") is False
        for name in one.get("required", ()):
            if name in others:
                if self.are_disjoint(own.get(name, True), others[name], depth + 1):
                    return True
            elif is_closed and not other.get("patternProperties"):
                return True
        return False

    def _numbers_differ(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        if self.types(one) != {"number"} or self.types(other) != {"number"}:
            return False
        return _is_below(one, other) or _is_below(other, one)

    def _members(self, schema: Mapping[str, Any]) -> list[Any]:
        options = [option for options in _options(schema) for option in options]
        return self._all_of(schema) + options

    def _is_sound(self, schema: Any) -> bool:
        """Whether it is an object whose keywords are right.

        If not, whoever writes it says what is wrong.
        """
        if not isinstance(schema, dict):
            return False
        known = self._sound.get(id(schema))
        if known is None:
            try:
                check_keywords(schema, "$")
                known = True
            except ConstraintError:
                known = False
            self._sound[id(schema)] = known
        return known

    def _all_of(self, schema: Mapping[str, Any]) -> list[Any]:
        members = list(schema.get("allOf", ()))
        if "$ref" in schema:
            members.append(self._document.resolve(schema["$ref"], "$").schema)
        return members

    def _count(self) -> None:
        self._looks += 1
        if self._looks > _MAX_LOOKS:
            raise ConstraintError("the schema is too complex to be checked")


def _named_types(schema: Mapping[str, Any]) -> frozenset[str]:
    named = schema.get("type")
    if named is None:
        return _ALL
    names = named if isinstance(named, list) else [named]
    nullable = {"null"} if schema.get("nullable") is True else set()
    return frozenset(map(_plain, names)) | nullable


def _plain(name: str) -> str:
    return "number" if name == "integer" else name


def _is_of(value: object, schema: Mapping[str, Any]) -> bool:
    named = schema.get("type", list(TYPES))
    names = named if isinstance(named, list) else [named]
    kind = type_of(value)
    return kind in names or (kind == "integer" and "number" in names)


def _values(schema: Mapping[str, Any]) -> list[list[Any]]:
    found = [schema["enum"]] if "enum" in schema else []
    if "const" in schema:
        found.append([schema["const"]])
    return found


def _options(schema: Mapping[str, Any]) -> list[list[Any]]:
    return [schema[keyword] for keyword in ("anyOf", "oneOf") if keyword in schema]


def _opens(schema: Mapping[str, Any]) -> bool:
    """Whether other properties than the listed ones are asked for."""
    additional = schema.get("additionalProperties", False)
    return additional is not False or bool(schema.get("patternProperties"))


def _have_other_values(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    for ours in _values(one):
        mine = {_key(value) for value in ours}
        for theirs in _values(other):
            if mine.isdisjoint(_key(value) for value in theirs):
                return True
    return False


def _key(value: object) -> str:
    # 1 and 1.0 are one number in JSON Schema; true is none.
    if isinstance(value, float) and value == int(value):
        value = int(value)
    return json.dumps(value, sort_keys=True)


def _is_below(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    high = min(_bounds(one, "maximum", "exclusiveMaximum"), default=None)
    low = max(_bounds(other, "minimum", "exclusiveMinimum"), default=None)
    return high is not None and low is not None and high < low


def _bounds(schema: Mapping[str, Any], *keywords: str) -> list[float]:
    found = (schema.get(keyword) for keyword in keywords)
    return [
        value
        for value in found
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
