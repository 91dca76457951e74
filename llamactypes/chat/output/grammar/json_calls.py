"""Calls that are JSON themselves, as schemas. Pure.

An answer that is JSON may begin as such a call does. As parts of one JSON they are told
apart where they differ; as literal text the call would take the answer's first brace.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from llamactypes.chat.output.format import ArgumentForm, Slot, ToolSyntax
from llamactypes.chat.output.grammar.properties import with_object
from llamactypes.constraints.json_schema import json_schema_rule
from llamactypes.constraints.schemas.document import Document

__all__ = ("json_call",)

_NAME, _ARGUMENTS, _ID = "\x00name", "\x00arguments", "\x00id"
_MARKS = {
    # Names and ids stand in quotes, which are in the texts around them.
    Slot.NAME: json.dumps(_NAME)[1:-1],
    Slot.ARGUMENTS: json.dumps(_ARGUMENTS),
    Slot.ID: json.dumps(_ID)[1:-1],
}


def json_call(
    syntax: ToolSyntax, function: Mapping[str, Any], *, is_parallel: bool
) -> str | None:
    """Return the expression of calls of a tool as JSON; None: they are no JSON.

    Args:
        syntax: How calls are written.
        function: With ``name`` and ``parameters``, which can be honoured.
        is_parallel: Whether there may be several calls, where they are in a list.
    """
    shape = _shape(syntax)
    if shape is None:
        return None
    parameters = with_object(function.get("parameters"))
    schema = _schema(shape, function["name"], parameters, is_parallel)
    document = Document(parameters, "$")
    return json_schema_rule(schema, document=document, is_dense=True)


def _shape(syntax: ToolSyntax) -> Any:
    """Return a call as JSON, with marks where name and arguments are; or None."""
    if syntax.arguments is not ArgumentForm.JSON or Slot.INDEX in syntax.call:
        return None
    parts = (_MARKS[part] if isinstance(part, Slot) else part for part in syntax.call)
    try:
        shape = json.loads(syntax.start + "".join(parts) + syntax.end)
    except ValueError:
        return None
    return shape if isinstance(shape, dict | list) else None


def _schema(
    shape: Any, name: str, parameters: Mapping[str, Any], is_parallel: bool
) -> dict[str, Any]:
    if shape == _NAME:
        return {"const": name}
    if shape == _ARGUMENTS:
        return dict(parameters)
    if shape == _ID:
        return {"type": "string", "minLength": 1, "maxLength": 64}
    if isinstance(shape, dict):
        properties = {
            key: _schema(value, name, parameters, is_parallel)
            for key, value in shape.items()
        }
        return {"properties": properties, "required": list(properties)}
    if isinstance(shape, list):
        items = [_schema(each, name, parameters, is_parallel) for each in shape]
        most = {} if is_parallel else {"maxItems": 1}
        return {"items": {"anyOf": items}, "minItems": 1, **most}
    return {"const": shape}
