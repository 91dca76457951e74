"""Where something stands in a schema: JSON paths, and errors that name them. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from llamactypes.constraints.unwritable import Unmatched, Unwritable
from llamactypes.errors import ConstraintError

__all__ = ("Place", "child", "refusal", "unsatisfiable", "unsupported")

_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*\Z")


class Place(NamedTuple):
    """Where a schema stands."""

    path: str
    """JSON path, for messages."""
    depth: int
    """How many schemas it stands in."""
    is_open: bool = False
    """It is met together with others, so that it may not forbid what it does not
    mention."""

    def inside(self, *keys: str | int, is_open: bool | None = None) -> Place:
        """Return the place of a schema in this one."""
        path = self.path
        for key in keys:
            path = child(path, key)
        is_open = self.is_open if is_open is None else is_open
        return Place(path, self.depth + 1, is_open)


def child(path: str, key: str | int) -> str:
    """Return the JSON path of a member or element of what is at `path`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if _PLAIN.match(key):
        return f"{path}.{key}"
    shown = key if len(key) <= 80 else key[:80] + "…"
    return f"{path}[{shown!r}]"


def refusal(path: str, keyword: str, why: str) -> ConstraintError:
    """Return the error of a keyword in the schema at `path`."""
    where = child(path, keyword)
    return ConstraintError(f"{keyword!r} at {where} {why}", where)


def unsupported(path: str, keyword: str, why: str = "is not supported") -> Unwritable:
    """Return the error of a keyword that is right, but cannot be honoured."""
    where = child(path, keyword)
    return Unwritable(f"{keyword!r} at {where} {why}", where)


def unsatisfiable(path: str, why: str) -> Unmatched:
    """Return the error of a schema that nothing can match."""
    return Unmatched(f"the schema at {path} cannot be satisfied: {why}", path)
