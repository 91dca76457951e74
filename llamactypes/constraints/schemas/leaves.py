"""Schemas of texts, numbers and fixed values, as they can be honoured. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from llamactypes.constraints.patterns import translated_pattern
from llamactypes.constraints.schemas.keywords import FORMATS
from llamactypes.constraints.schemas.places import child, unsatisfiable, unsupported
from llamactypes.constraints.schemas.shapes import type_of
from llamactypes.constraints.unwritable import Unwritable
from llamactypes.errors import ConstraintError

__all__ = ("anchored", "check_value", "numbers", "texts", "values")

_MAX_EXACT = 2**53
_FARTHEST = 10**17
"""From 0: bounds that are farther away are as good as this one."""
_SMALLEST = 1e-15
_MAX_DIGITS = 9
_MAX_VALUE_DEPTH = 30


def texts(schema: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the keywords of strings."""
    found = counts(schema, "minLength", "maxLength", path)
    if "pattern" in schema:
        found["pattern"] = anchored(schema["pattern"], path, "pattern")
    if schema.get("format") in FORMATS:
        found["format"] = schema["format"]
    return found


def anchored(pattern: str, path: str, *keys: str) -> str:
    """Return the anchored equal of a pattern.

    Raises:
        ConstraintError: It has none; the error names its place.
    """
    try:
        return f"^(?:{translated_pattern(pattern)})$"
    except ConstraintError as error:
        for key in keys:
            path = child(path, key)
        raise type(error)(f"{error} (at {path})", path) from None


def counts(
    schema: Mapping[str, Any], least: str, most: str, path: str
) -> dict[str, Any]:
    """Return two bounds of a count, those that say something."""
    low, high = int(schema.get(least, 0)), schema.get(most)
    if high is not None and low > high:
        raise unsatisfiable(path, f"{least} ({low}) is above {most} ({high})")
    found = {least: low} if low else {}
    return found if high is None else {**found, most: int(high)}


def numbers(schema: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the keywords of numbers. Bounds that are no double move inwards."""
    found: dict[str, Any] = {}
    for keyword in ("minimum", "exclusiveMinimum"):
        if keyword in schema:
            found[keyword] = _rounded(schema[keyword], math.inf)
    for keyword in ("maximum", "exclusiveMaximum"):
        if keyword in schema:
            found[keyword] = _rounded(schema[keyword], -math.inf)
    _check_bounds(found, path)
    if "multipleOf" in schema:
        found["multipleOf"] = _step(schema["multipleOf"], path)
    return found


def _rounded(value: int | float, towards: float) -> int | float:
    """Return the nearest bound that can be compiled, not beyond `value`."""
    is_away = (value > 0) == (towards > 0)
    if abs(value) > _FARTHEST and not is_away:
        return math.copysign(_FARTHEST, value)
    if 0 < abs(value) < _SMALLEST:
        return math.copysign(_SMALLEST, value) if is_away else 0
    if isinstance(value, float) or abs(value) <= _MAX_EXACT:
        return value
    near = float(value)
    is_outside = near < value if towards > 0 else near > value
    return math.nextafter(near, towards) if is_outside else near


def _check_bounds(bounds: Mapping[str, float], path: str) -> None:
    lows = [bounds[key] for key in ("minimum", "exclusiveMinimum") if key in bounds]
    highs = [bounds[key] for key in ("maximum", "exclusiveMaximum") if key in bounds]
    if max(lows, default=0) > _FARTHEST or min(highs, default=0) < -_FARTHEST:
        raise Unwritable(f"the bounds at {path} are too far from 0", path)
    if lows and highs and max(lows) > min(highs):
        raise unsatisfiable(path, f"nothing is between {max(lows)} and {min(highs)}")


def _step(value: float, path: str) -> float:
    step = abs(value)
    digits = Decimal(repr(step)).normalize().as_tuple().digits
    if len(digits) > _MAX_DIGITS or not 1e-9 <= step <= 1e9:
        raise unsupported(
            path, "multipleOf", "has too many digits, or is too big or small"
        )
    return step


def values(
    found: list[Any], types: frozenset[str] | None, path: str, keyword: str
) -> dict[str, Any]:
    """Return the schema of fixed values, without those of other types.

    Args:
        found: The values of ``enum`` or the one of ``const``.
        types: Names of the types that are asked for beside it; None for all.
        path: Of the schema.
        keyword: Where the values are from.
    """
    for index, value in enumerate(found):
        key = (keyword, index) if keyword == "enum" else (keyword,)
        check_value(value, path, *key)
    kept = [_whole(value) for value in found if _has_type(value, types)]
    if not kept:
        raise unsatisfiable(path, f"no value of {keyword!r} has the type asked for")
    return {"enum": kept}


def _has_type(value: Any, types: frozenset[str] | None) -> bool:
    if types is None:
        return True
    name = type_of(value)
    return name in types or (name == "integer" and "number" in types)


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value == int(value) and abs(value) <= _MAX_EXACT:
        return int(value)
    return value


def check_value(value: Any, path: str, *keys: str | int, depth: int = 0) -> None:
    """Check that a fixed value can be written exactly.

    Raises:
        ConstraintError: A number in it is too big, a text is no Unicode, or it is too
            deep.
    """
    if depth > _MAX_VALUE_DEPTH:
        raise _wrong_value(path, keys, "is nested too deep")
    if isinstance(value, str):
        _check_text(value, path, keys)
    elif isinstance(value, int | float):
        _check_number(value, path, keys)
    elif isinstance(value, list | dict):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in inner:
            if isinstance(key, str):
                _check_text(key, path, keys)
            check_value(member, path, *keys, key, depth=depth + 1)


def _check_number(value: float, path: str, keys: tuple[str | int, ...]) -> None:
    if not math.isfinite(value) or (isinstance(value, int) and abs(value) > _MAX_EXACT):
        raise _wrong_value(path, keys, "is a number beyond 2**53")


def _check_text(value: str, path: str, keys: tuple[str | int, ...]) -> None:
    for char in value:
        if "\ud800" <= char <= "\udfff":
            raise _wrong_value(path, keys, "holds half a surrogate pair")
        if char < " " and char not in "\n\r\t\b\f":
            raise _wrong_value(path, keys, f"holds the control character {char!r}")


def _wrong_value(path: str, keys: tuple[str | int, ...], why: str) -> ConstraintError:
    for key in keys:
        path = child(path, key)
    return ConstraintError(f"the value at {path} {why}, which is not supported", path)
