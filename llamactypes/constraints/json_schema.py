"""JSON Schema as a Lark expression. Pure."""

from __future__ import annotations

import json
from typing import Any

from llamactypes.constraints.schemas.document import Document
from llamactypes.constraints.schemas.normal import normal_schema
from llamactypes.errors import ConstraintError

__all__ = ("json_schema_rule",)

_MAX_LENGTH = 1_000_000

# Without \u: a name could be spelled in two ways, and pass for another one.
_TEXTS = {"json_allowed_escapes": 'nrbtf\\"'}
# As llama-server writes JSON: a blank, or a new line or two with an indent. White space
# without an end is a trap for small models.
_FREE = {**_TEXTS, "whitespace_pattern": r" |\n{1,2}[ \t]{0,20}"}
_DENSE = {
    **_TEXTS,
    "whitespace_flexible": False,
    "item_separator": ", ?",
    "key_separator": ": ?",
}


def json_schema_rule(
    schema: Any,
    *,
    path: str = "$",
    document: Document | None = None,
    is_dense: bool = False,
) -> str:
    """Return the Lark expression of the JSON texts that match a schema.

    Args:
        schema: Of any draft from 4 to 2020-12; what JSON says, unchecked.
        path: JSON path of the schema in the request, for messages.
        document: Where its references lead; None: the schema is a document itself.
        is_dense: White space is at most a blank after commas and colons.

    Raises:
        ConstraintError: It is no schema, cannot be honoured, or nothing matches it;
            names the keyword and the JSON path.
    """
    normal = {
        "x-guidance": _DENSE if is_dense else _FREE,
        **normal_schema(schema, path, document),
    }
    text = json.dumps(normal, ensure_ascii=False, allow_nan=False)
    if len(text) > _MAX_LENGTH:
        raise ConstraintError(
            f"the schema is longer than {_MAX_LENGTH} characters", path
        )
    return f"%json {text}"
