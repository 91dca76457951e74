"""One schema as a document: what its references lead to. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote

from llamactypes.constraints.schemas.places import child, refusal

__all__ = ("Document", "Target")

_MAX_PARTS = 200_000


class Target(NamedTuple):
    """What a reference leads to."""

    schema: Any
    path: str


class Document:
    """A whole schema, in which references are looked up."""

    def __init__(self, root: Any, path: str) -> None:
        self._root = Target(root, path)
        self._named: dict[str, Target] | None = None

    def resolve(self, reference: str, path: str) -> Target:
        """Return what `reference`, in the schema at `path`, leads to.

        Raises:
            ConstraintError: It leads out of the document, or to nothing.
        """
        base, _, fragment = reference.partition("#")
        start = self._base(base, reference, path)
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            return self._anchor(fragment, reference, path)
        found = start
        for key in fragment.split("/")[1:]:
            following = _member(found, key.replace("~1", "/").replace("~0", "~"))
            if following is None:
                raise refusal(path, "$ref", f"leads to nothing: {reference[:200]!r}")
            found = following
        if not isinstance(found.schema, bool | dict):
            raise refusal(path, "$ref", f"leads to no schema: {reference[:200]!r}")
        return found

    def _base(self, base: str, reference: str, path: str) -> Target:
        if not base:
            return self._root
        found = self._names().get(base)
        if found is None:
            why = "leads out of the schema, and only local references are honoured"
            raise refusal(path, "$ref", f"{why}: {reference[:200]!r}")
        return found

    def _anchor(self, name: str, reference: str, path: str) -> Target:
        found = self._names().get("#" + name)
        if found is None:
            raise refusal(path, "$ref", f"leads to nothing: {reference[:200]!r}")
        return found

    def _names(self) -> dict[str, Target]:
        """Return what has an ``$id`` or ``$anchor``, by ``id`` or ``#anchor``."""
        if self._named is None:
            self._named = {}
            for target in self._parts():
                for name in _names_of(target.schema):
                    self._named.setdefault(name, target)
        return self._named

    def _parts(self) -> Iterator[Target]:
        waiting = [self._root]
        for _ in range(_MAX_PARTS):
            if not waiting:
                return
            target = waiting.pop()
            if isinstance(target.schema, dict):
                yield target
            waiting += _members(target)


def _names_of(schema: dict[str, Any]) -> Iterator[str]:
    for keyword in ("$id", "id"):
        if isinstance(name := schema.get(keyword), str):
            yield name.removesuffix("#") if not name.startswith("#") else name
    for keyword in ("$anchor", "$dynamicAnchor"):
        if isinstance(name := schema.get(keyword), str):
            yield "#" + name


def _members(target: Target) -> list[Target]:
    schema, path = target
    if isinstance(schema, dict):
        return [Target(value, child(path, key)) for key, value in schema.items()]
    if isinstance(schema, list):
        return [Target(value, child(path, i)) for i, value in enumerate(schema)]
    return []


def _member(target: Target, key: str) -> Target | None:
    schema, path = target
    if isinstance(schema, dict) and key in schema:
        return Target(schema[key], child(path, key))
    if isinstance(schema, list) and key.isascii() and key.isdigit():
        index = int(key) if len(key) < 10 else len(schema)
        if index < len(schema):
            return Target(schema[index], child(path, index))
    return None
