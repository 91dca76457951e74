"""Strict JSON in, safe JSON out.

In: UTF-8 only, no NaN or infinity, no duplicate keys, bounded depth, no lone surrogate.
Out: always valid UTF-8 and valid JSON, whatever text a model produced.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from typing import Any

from api.protocol.fields import json_type
from api.protocol.invalid import InvalidRequest

__all__ = (
    "MAX_DEPTH",
    "dumps",
    "dumps_bytes",
    "dumps_large",
    "load_array",
    "load_object",
)

MAX_DEPTH = 256
"""Deepest nesting of arrays and objects that a body may have."""

# One match per string (skipped), opening or closing bracket.
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)
# PERF: json.dumps builds a new encoder whenever an option is given.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


def load_object(body: bytes) -> dict[str, Any]:
    """Parse a request body that must be one JSON object.

    Raises:
        InvalidRequest: With a message that says what is wrong with the body.
    """
    value = _load(body, "a JSON object")
    if not isinstance(value, dict):
        raise InvalidRequest(
            f"the request body must be a JSON object, not {json_type(value)}"
        )
    return value


def load_array(body: bytes) -> list[Any]:
    """Parse a request body that must be one JSON array. Raises as `load_object`."""
    value = _load(body, "a JSON array")
    if not isinstance(value, list):
        raise InvalidRequest(f"Request body must be an array, not {json_type(value)}")
    return value


def _load(body: bytes, expected: str) -> Any:
    body = body.removeprefix(codecs.BOM_UTF8)  # some editors and shells write one
    if not body.strip():
        raise InvalidRequest(f"the request body is empty; {expected} is expected")
    _check_depth(body)
    value = _parse(_decode(body))
    if _SURROGATE_ESCAPE.search(body):
        _check_surrogates(value)
    return value


def dumps(value: Any) -> str:
    """Encode on one line; lone surrogates and non-finite numbers become harmless."""
    try:
        return _ENCODER.encode(value)
    except ValueError:
        return _ENCODER.encode(_finite(value))


def dumps_bytes(value: Any) -> bytes:
    """Encode to UTF-8; a lone surrogate becomes ``?``."""
    return dumps(value).encode("utf-8", "replace")


def dumps_large(value: Any) -> bytes:
    """As `dumps_bytes`, but long lists are encoded in pieces.

    PERF: the encoder holds Python's lock to its end: 0.9 s for the tokens of 5 MB of
    text. Between pieces other threads get it.
    """
    if isinstance(value, list):
        return _dumps_list(value)
    if not isinstance(value, dict) or not any(map(_is_long, value.values())):
        return dumps_bytes(value)
    fields = (dumps_bytes(k) + b":" + dumps_large(v) for k, v in value.items())
    return b"{" + b",".join(fields) + b"}"


def _dumps_list(items: list[Any]) -> bytes:
    size = _piece(items)
    pieces = (dumps_bytes(items[i : i + size]) for i in range(0, len(items), size))
    return b"[" + b",".join(piece[1:-1] for piece in pieces) + b"]"


def _is_long(value: Any) -> bool:
    return isinstance(value, list) and len(value) > _piece(value)


def _piece(items: list[Any]) -> int:
    """Return how many of `items` are encoded at a time: one may hold thousands."""
    return 16 if items and isinstance(items[0], dict | list) else 2048


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _decode(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"the request body is not valid UTF-8 (byte {error.start})"
        ) from None


def _parse(text: str) -> Any:
    try:
        return json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_parse_float,
            object_pairs_hook=_unique_keys,
        )
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise InvalidRequest(f"the request body is not valid JSON: {error}") from None


def _check_depth(body: bytes) -> None:
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _BRACKETS.finditer(body):
        char = match[0]
        if char in (b"[", b"{"):
            depth += 1
            if depth > MAX_DEPTH:
                raise _too_deep()
        elif char in (b"]", b"}"):
            depth -= 1


def _too_deep() -> InvalidRequest:
    return InvalidRequest(
        f"the request body is nested too deeply; the limit is {MAX_DEPTH} levels"
    )


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _parse_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"number out of range: {text}")
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"duplicate key {key[:64]!r}")
            seen.add(key)
    return result


def _check_surrogates(value: dict[str, Any]) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidRequest(
            "the request body holds a lone surrogate (half of a \\ud83d\\ude00 pair)"
        ) from None
