"""Which part of a schema it is that cannot be compiled. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from llamactypes.constraints.json_schema import json_schema_rule
from llamactypes.constraints.schemas.document import Document, Target
from llamactypes.constraints.schemas.places import child
from llamactypes.errors import ConstraintError

__all__ = ("with_path",)

_MAX_TRIES = 60
_SINGLE = ("items", "additionalProperties", "propertyNames")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_MAPS = ("properties", "patternProperties", "$defs", "definitions")


def with_path(
    error: ConstraintError,
    schema: Any,
    path: str,
    compile: Callable[[str], object],
) -> ConstraintError:
    """Return the error of the smallest part of a schema that has one by itself.

    A schema that reads well may still be one that nothing matches: the compiler finds
    out, and does not say where.

    Args:
        error: Of the whole schema, without a path.
        schema: It.
        path: Of the schema.
        compile: Raises ConstraintError for the text of a grammar that has a mistake.
    """
    search = _Search(Document(schema, path), compile)
    found = search.smallest(Target(schema, path), error)
    target, inner = found
    return ConstraintError(f"{inner} (at {target.path})", target.path)


class _Search:
    def __init__(self, document: Document, compile: Callable[[str], object]) -> None:
        self._document = document
        self._compile = compile
        self._n_tries = 0

    def smallest(
        self, target: Target, error: ConstraintError
    ) -> tuple[Target, ConstraintError]:
        for part in _parts(target):
            self._n_tries += 1
            if self._n_tries > _MAX_TRIES:
                break
            inner = self._error(part)
            if inner is not None:
                return self.smallest(part, inner)
        return target, error

    def _error(self, part: Target) -> ConstraintError | None:
        try:
            rule = json_schema_rule(
                part.schema, path=part.path, document=self._document
            )
            self._compile(f"start: {rule}")
        except ConstraintError as error:
            # What is plainly impossible may stand where it need not be.
            return None if error.path else error
        return None


def _parts(target: Target) -> Iterator[Target]:
    schema, path = target
    if not isinstance(schema, dict):
        return
    for keyword in _SINGLE:
        if isinstance(inner := schema.get(keyword), dict):
            yield Target(inner, child(path, keyword))
    for keyword in _LISTS:
        members = schema.get(keyword)
        for index, member in enumerate(members if isinstance(members, list) else ()):
            yield Target(member, child(child(path, keyword), index))
    for keyword in _MAPS:
        named = schema.get(keyword)
        for name, member in named.items() if isinstance(named, dict) else ():
            yield Target(member, child(child(path, keyword), name))
