"""Reading typed fields out of a request body. Pure.

A ``null`` field is absent. An error names the field as the client spelt it:
``Field 'max_tokens': Value must be …``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.protocol.invalid import InvalidRequest

__all__ = (
    "Body",
    "Number",
    "Integer",
    "boolean",
    "find",
    "json_type",
    "strings",
    "text",
    "whole_number",
)

Body = Mapping[str, Any]

_INT32_MAX = 2**31 - 1
_FLOAT32_MAX = 3.4028234663852886e38


def json_type(value: object) -> str:
    """Return JSON's word for the type of `value`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def find(body: Body, *names: str) -> tuple[str, Any] | None:
    """Return the first of `names` that is present and not null, with its value."""
    for name in names:
        value = body.get(name)
        if value is not None:
            return name, value
    return None


def boolean(body: Body, name: str, default: bool) -> bool:
    """Return a boolean field."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise InvalidRequest.field(
            name, f"Value must be a boolean, but got {json_type(value)}"
        )
    return value


def text(body: Body, name: str, default: str | None = None) -> str | None:
    """Return a string field."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise InvalidRequest.field(
            name, f"Value must be a string, but got {json_type(value)}"
        )
    return value


def strings(body: Body, name: str) -> tuple[str, ...] | None:
    """Return a field that is an array of strings; None when absent."""
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise InvalidRequest.field(name, "Value must be an array of strings")
    return tuple(value)


@dataclass(frozen=True, slots=True)
class Number:
    """A real number, clamped into its range or refused outside of it."""

    names: tuple[str, ...]
    """The field and its aliases; the first present wins."""
    minimum: float = -_FLOAT32_MAX
    maximum: float = _FLOAT32_MAX
    hard: bool = False
    """Whether a value out of range is an error."""

    def read(self, body: Body, default: float) -> float:
        """Return the value, or `default` when absent."""
        found = find(body, *self.names)
        if found is None:
            return default
        name, value = found
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidRequest.field(
                name, f"Value must be a number, but got {json_type(value)}"
            )
        return self._within(name, value)

    def _within(self, name: str, value: float) -> float:
        if self.hard and not self.minimum <= value <= self.maximum:
            raise out_of_range(name, self.minimum, self.maximum, value)
        return float(min(max(value, self.minimum), self.maximum))


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number, clamped into its range or refused outside of it."""

    names: tuple[str, ...]
    minimum: int = -_INT32_MAX - 1
    maximum: int = _INT32_MAX
    hard: bool = True

    def read(self, body: Body, default: int) -> int:
        """Return the value, or `default` when absent. ``8.0`` is a whole number."""
        found = find(body, *self.names)
        if found is None:
            return default
        name, value = found
        whole = whole_number(name, value)
        if self.hard and not self.minimum <= whole <= self.maximum:
            raise out_of_range(name, self.minimum, self.maximum, whole)
        return min(max(whole, self.minimum), self.maximum)


def whole_number(name: str, value: object) -> int:
    """Return `value` as an int, or raise for the field `name`."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        given = "a fraction" if isinstance(value, float) else json_type(value)
        raise InvalidRequest.field(name, f"Value must be an integer, but got {given}")
    return value


def out_of_range(
    name: str, minimum: float, maximum: float, value: float
) -> InvalidRequest:
    """Return llama-server's error for a hard limit."""
    return InvalidRequest.field(
        name,
        f"Value must be between {minimum} <= value <= {maximum}, but got {value}",
    )
