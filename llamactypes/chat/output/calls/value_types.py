"""Which JSON types a schema lets a value have, and texts as such values. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from llamactypes.chat.output.calls.python_arguments import json_of_python
from llamactypes.chat.output.json_scan import is_json

__all__ = ("TEXT_ONLY", "Types", "allows", "json_of", "types_of")

Types = frozenset[str] | None
"""Names of JSON Schema; None: any."""

TEXT_ONLY: Types = frozenset({"string"})

_DEEPEST = 16
_SPACE = " \t\r\n"
_INTEGER = re.compile(r"-?[0-9]+")
_BY_FIRST = {'"': "string", "{": "object", "[": "array", "n": "null"}
_BY_FIRST |= {"t": "boolean", "f": "boolean"}


def types_of(schema: object, root: object, depth: int = 0) -> Types:
    """Return the types that `schema` allows; `root` is where ``$ref`` begins."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return None
    if "$ref" in schema:
        return types_of(_resolved(schema["$ref"], root), root, depth + 1)
    declared = _declared(schema)
    if declared is not None:
        return declared
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), list):
            return _union(types_of(one, root, depth + 1) for one in schema[keyword])
    every = schema.get("allOf")
    if not isinstance(every, list):
        return None
    known = (types_of(one, root, depth + 1) for one in every)
    return next((types for types in known if types is not None), None)


def _declared(schema: Mapping[str, Any]) -> Types:
    if "const" in schema:
        return frozenset({_type_of(json.dumps(schema["const"]))})
    if isinstance(schema.get("enum"), list):
        return frozenset(_type_of(json.dumps(value)) for value in schema["enum"])
    declared = schema.get("type")
    if isinstance(declared, str):
        return frozenset({declared})
    if isinstance(declared, list):
        return frozenset(name for name in declared if isinstance(name, str))
    return None


def _union(every: Iterable[Types]) -> Types:
    joined: frozenset[str] = frozenset()
    for types in every:
        if types is None:
            return None
        joined |= types
    return joined


def _resolved(reference: object, root: object) -> object:
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found = root
    for key in reference[1:].split("/")[1:]:
        name = key.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def json_of(text: str, types: Types) -> str:
    """Return the JSON value that the model means by `text`.

    A text that is JSON of an allowed type is itself, and so is one that Python writes
    where no string is allowed. Everything else is a string.
    """
    bare = text.strip(_SPACE)
    if is_json(bare) and allows(types, _type_of(bare)):
        return bare
    if types is not None:
        written = json_of_python(bare)
        if written is not None and _type_of(written) in types:
            return written
    return json.dumps(text, ensure_ascii=False)


def _type_of(written: str) -> str:
    by_first = _BY_FIRST.get(written[0])
    if by_first is not None:
        return by_first
    return "integer" if _INTEGER.fullmatch(written) else "number"


def allows(types: Types, kind: str) -> bool:
    """Whether a value that is written without quotes may be of this type."""
    if kind == "string":
        return False  # quotes are part of a text that is written as it is
    if types is None or "string" not in types:
        return True
    return kind in types or (kind == "integer" and "number" in types)
