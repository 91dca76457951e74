"""A checked schema, written in the part of JSON Schema that is compiled exactly.

What comes out matches nothing that the schema does not. Where a schema leaves room
that a model would only lose itself in, the room is left out: objects hold the listed
properties alone unless others are asked for, as llama-server has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from llamactypes.constraints.schemas.document import Document, Target
from llamactypes.constraints.schemas.keywords import (
    APPLICATORS,
    ARRAY,
    NUMBER,
    OBJECT,
    STRING,
    check_keywords,
)
from llamactypes.constraints.schemas.leaves import counts, numbers, texts, values
from llamactypes.constraints.schemas.objects import ObjectWriter
from llamactypes.constraints.schemas.places import (
    Place,
    refusal,
    unsatisfiable,
    unsupported,
)
from llamactypes.constraints.schemas.productive import without_endless
from llamactypes.constraints.schemas.shapes import Shapes
from llamactypes.constraints.schemas.spellings import modern
from llamactypes.constraints.unwritable import Unmatched, Unwritable
from llamactypes.errors import ConstraintError

__all__ = ("normal_schema",)

Normal = dict[str, Any] | bool

_MAX_SCHEMAS = 10_000
_MAX_DEPTH = 40
_MAX_OPTIONS = 200
"""Of one ``oneOf``: each is compared with each."""
_MAX_SET = 7
"""Values of which sets are listed: 128 sets."""
_KINDS = {
    "string": STRING,
    "number": NUMBER,
    "array": ARRAY,
    "object": OBJECT,
}
_BASE = ("type", *STRING, *NUMBER, *ARRAY, *OBJECT)


def normal_schema(
    schema: Any, path: str, document: Document | None = None
) -> dict[str, Any]:
    """Return the schema as it is compiled, with ``$defs``.

    Args:
        schema: What JSON says.
        path: Its JSON path, for messages.
        document: Where its references lead; None: the schema is a document itself.

    Raises:
        ConstraintError: It cannot be honoured; names the keyword and its JSON path.
    """
    return _Normalizer(schema, path, document or Document(schema, path)).normal()


class _Normalizer:
    def __init__(self, root: Any, path: str, document: Document) -> None:
        self._root = Target(root, path)
        self._document = document
        self._shapes = Shapes(self._document)
        self._objects = ObjectWriter(self._schema)
        self._names: dict[tuple[str, bool], str] = {}
        self._waiting: list[tuple[str, Target, bool]] = []
        self._n_schemas = 0

    def normal(self) -> dict[str, Any]:
        root = self._schema(self._root.schema, Place(self._root.path, 0))
        definitions: dict[str, Normal] = {}
        while self._waiting:
            name, target, is_open = self._waiting.pop()
            place = Place(target.path, 0, is_open)
            definitions[name] = self._schema(target.schema, place)
        root, definitions = without_endless(root, definitions)
        if root is False:
            raise unsatisfiable(self._root.path, "nothing matches it")
        found = {} if root is True else root
        return {**found, "$defs": definitions} if definitions else found

    def _schema(self, schema: Any, place: Place) -> Normal:
        self._count(place)
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            why = "is neither an object nor true or false"
            raise ConstraintError(f"the schema at {place.path} {why}", place.path)
        check_keywords(schema, place.path)
        schema = modern(schema, place.path)
        parts = self._parts(schema, place)
        if not parts:
            return True
        if len(parts) == 1:
            return self._part(parts[0], schema, place)
        return self._together(parts, schema, place)

    def _count(self, place: Place) -> None:
        self._n_schemas += 1
        if self._n_schemas > _MAX_SCHEMAS:
            why = f"the schema has more than {_MAX_SCHEMAS} parts"
            raise ConstraintError(why, self._root.path)
        if place.depth > _MAX_DEPTH:
            why = f"schemas are nested deeper than {_MAX_DEPTH} at {place.path}"
            raise ConstraintError(why, place.path)

    def _parts(self, schema: Mapping[str, Any], place: Place) -> list[str]:
        """Return what is asked together: ``base`` and applicators, in their order."""
        found: list[str] = []
        for keyword in schema:
            if keyword in APPLICATORS:
                found.append(keyword)
            elif keyword in _BASE and "base" not in found:
                found.append("base")
        if "base" in found and len(found) == 2 and self._is_only_type(schema, found):
            found.remove("base")
        return found

    def _is_only_type(self, schema: Mapping[str, Any], parts: list[str]) -> bool:
        """Whether the base is but a type that the one applicator has already."""
        if any(keyword in schema for keyword in _BASE if keyword != "type"):
            return False
        applicator = next(part for part in parts if part != "base")
        if applicator in ("const", "enum"):
            return True
        named = schema["type"]
        names = set(named) if isinstance(named, list) else {named}
        if "integer" in names:
            return False
        try:
            return self._shapes.types({applicator: schema[applicator]}) <= names
        except ConstraintError:  # a reference, which is refused with its path later
            return False

    def _part(self, part: str, schema: Mapping[str, Any], place: Place) -> Normal:
        if part == "base":
            return self._base(schema, place)
        value = schema[part]
        if part == "$ref":
            return self._reference(value, place)
        if part in ("enum", "const"):
            found = value if part == "enum" else [value]
            return values(found, _types(schema), place.path, part)
        if part == "allOf":
            return self._all_of(value, place)
        return self._any_of(part, value, place)

    def _reference(self, reference: str, place: Place) -> Normal:
        target = self._document.resolve(reference, place.path)
        key = (target.path, place.is_open)
        if key not in self._names:
            name = f"{'open' if place.is_open else 'part'}{len(self._names)}"
            self._names[key] = name
            self._waiting.append((name, target, place.is_open))
        return {"$ref": f"#/$defs/{self._names[key]}"}

    def _any_of(self, keyword: str, options: list[Any], place: Place) -> Normal:
        if not options:
            raise unsatisfiable(place.path, f"{keyword!r} is empty")
        if keyword == "oneOf":
            self._check_one_of(options, place)
        written: list[Normal] = []
        left_out: list[Unwritable] = []
        for index, option in enumerate(options):
            try:
                written.append(self._schema(option, place.inside(keyword, index)))
            except Unwritable as error:
                # What is written of the others matches all the same.
                left_out.append(error)
        missing = [error for error in left_out if not isinstance(error, Unmatched)]
        if not written or (missing and all(map(_is_null, written))):
            raise (missing or left_out)[0]
        return written[0] if len(written) == 1 else {"anyOf": written}

    def _check_one_of(self, options: list[Any], place: Place) -> None:
        """Refuse options of which two may match: only one may."""
        if len(options) > _MAX_OPTIONS:
            raise refusal(place.path, "oneOf", f"has more than {_MAX_OPTIONS} options")
        for second, other in enumerate(options):
            for first, one in enumerate(options[:second]):
                if not self._exclude_each_other(one, other, place):
                    why = (
                        f"cannot be honoured: options {first} and {second} may both "
                        "match. Make them differ, or say 'anyOf'"
                    )
                    raise unsupported(place.path, "oneOf", why)

    def _exclude_each_other(self, one: Any, other: Any, place: Place) -> bool:
        if self._shapes.are_disjoint(one, other):
            return True
        if place.is_open:
            return False
        # What is written has listed properties only, so it lacks what others require.
        return self._lacks(one, other) and self._lacks(other, one)

    def _lacks(self, one: Any, other: Any) -> bool:
        if self._shapes.types(one) != {"object"} or not isinstance(other, dict):
            return False
        names = self._shapes.names(one)
        if names is None or not self._shapes.has_properties(one):
            return False
        if "$ref" in other:
            other = self._document.resolve(other["$ref"], "$").schema
        return isinstance(other, dict) and any(
            name not in names for name in other.get("required", ())
        )

    def _all_of(self, members: list[Any], place: Place) -> Normal:
        if len(members) == 1:
            return self._schema(members[0], place.inside("allOf", 0))
        written = self._members(members, place)
        return self._closed(written, {"allOf": members}, place)

    def _members(self, members: list[Any], place: Place) -> list[Normal]:
        return [
            self._schema(member, place.inside("allOf", index, is_open=True))
            for index, member in enumerate(members)
        ]

    def _together(
        self, parts: list[str], schema: Mapping[str, Any], place: Place
    ) -> Normal:
        """Return the schema of parts that must match at once."""
        opened = place._replace(is_open=True)
        written: list[Normal] = []
        for part in parts:
            if part == "allOf":
                written += self._members(schema["allOf"], opened)
            else:
                written.append(self._part(part, schema, opened))
        return self._closed(written, schema, place)

    def _closed(
        self, members: list[Normal], schema: Mapping[str, Any], place: Place
    ) -> Normal:
        """Return all members together, for objects with listed properties only."""
        if any(member is False for member in members):
            return False
        kept: list[Normal] = [member for member in members if member is not True]
        if not place.is_open and self._shapes.types(schema) == {"object"}:
            names = self._shapes.names(schema)
            if names and self._shapes.has_properties(schema):
                kept.append(_only(names))
        return {"allOf": kept} if kept else True

    def _base(self, schema: Mapping[str, Any], place: Place) -> Normal:
        types = _types(schema)
        if types is None and not place.is_open:
            types = _meant_types(schema)
        found: dict[str, Any] = {}
        if types is not None:
            names = sorted(types)
            found["type"] = names[0] if len(names) == 1 else names
        for kind, keywords in _KINDS.items():
            if _may_be(kind, types) and any(keyword in schema for keyword in keywords):
                found |= self._kind(kind, schema, place)
        return found

    def _kind(
        self, kind: str, schema: Mapping[str, Any], place: Place
    ) -> dict[str, Any]:
        if kind == "string":
            return texts(schema, place.path)
        if kind == "number":
            return numbers(schema, place.path)
        if kind == "array":
            return self._arrays(schema, place)
        return self._objects.write(schema, place)

    def _sets(
        self, schema: Mapping[str, Any], bounds: Mapping[str, int], place: Place
    ) -> dict[str, Any]:
        """Return arrays without repetition: of a few fixed values, in their order."""
        values = self._shapes.fixed_values(schema.get("items"))
        if values is None or len(values) > _MAX_SET or "prefixItems" in schema:
            why = f"is honoured for items of at most {_MAX_SET} fixed values only"
            raise unsupported(place.path, "uniqueItems", why)
        low, high = bounds.get("minItems", 0), bounds.get("maxItems", len(values))
        sets = _sets_of(values, low, high)
        if not sets:
            raise unsatisfiable(
                place.path, f"{low} of {len(values)} values cannot differ"
            )
        return {"enum": sets}

    def _arrays(self, schema: Mapping[str, Any], place: Place) -> dict[str, Any]:
        found = counts(schema, "minItems", "maxItems", place.path)
        if schema.get("uniqueItems") and found.get("maxItems", 2) > 1:
            return self._sets(schema, found, place)
        # An element stands alone, whatever the array is met with.
        if "prefixItems" in schema:
            found["prefixItems"] = [
                self._schema(item, place.inside("prefixItems", index))
                for index, item in enumerate(schema["prefixItems"])
            ]
        if "items" in schema:
            found["items"] = self._schema(schema["items"], place.inside("items"))
        return found


def _is_null(schema: Normal) -> bool:
    """Whether it says as good as nothing: a value that is left open."""
    return schema in (False, {"type": "null"}, {"enum": [None]})


def _sets_of(values: list[Any], low: int, high: int) -> list[list[Any]]:
    """Return the arrays of some of `values`, in their order."""
    sizes = range(low, min(high, len(values)) + 1)
    return [list(some) for size in sizes for some in combinations(values, size)]


def _types(schema: Mapping[str, Any]) -> frozenset[str] | None:
    named = schema.get("type")
    if named is None:
        return None
    return frozenset(named if isinstance(named, list) else [named])


def _meant_types(schema: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the type that is meant where only its keywords are."""
    kinds = [
        kind
        for kind, keywords in _KINDS.items()
        if any(keyword in schema for keyword in keywords)
    ]
    return frozenset(kinds) if len(kinds) == 1 else None


def _may_be(kind: str, types: frozenset[str] | None) -> bool:
    return types is None or kind in types or (kind == "number" and "integer" in types)


def _only(names: set[str]) -> dict[str, Any]:
    """Return the schema of objects without other properties than `names`."""
    properties = dict.fromkeys(sorted(names), True)
    return {"type": "object", "properties": properties, "additionalProperties": False}
