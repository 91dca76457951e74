"""LoRA adapters as requests name them: ``[{"id": 0, "scale": 1.0}]``. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from api.protocol.fields import Integer, Number, json_type
from api.protocol.invalid import InvalidRequest

__all__ = ("lora_object", "read_lora")

_ID = Integer(("id",), 0)
_SCALE = Number(("scale",), hard=True)


def read_lora(value: Any, name: str = "lora") -> tuple[tuple[int, float], ...] | None:
    """Return (adapter, scale) of each that is named; None when absent or empty.

    Of two entries for one adapter the last wins. A scale left out is 0.

    Raises:
        InvalidRequest: It is no list of such objects.
    """
    if value is None:
        return None
    if not isinstance(value, list):
        raise InvalidRequest.field(
            name, "Error: 'lora' must be an array of objects with 'id' and 'scale'"
        )
    return tuple(dict(_entry(each, name) for each in value).items()) or None


def _entry(value: Any, name: str) -> tuple[int, float]:
    if not isinstance(value, dict):
        raise InvalidRequest.field(
            name, f"Entries must be objects with 'id' and 'scale', not {_a(value)}"
        )
    if value.get("id") is None:
        raise InvalidRequest.field(name, "An entry has no 'id': the adapter's number")
    return _ID.read(value, 0), _SCALE.read(value, 0.0)


def _a(value: Any) -> str:
    return f"a value of type {json_type(value)}"


def lora_object(adapters: Iterable[tuple[int, float]]) -> list[dict[str, Any]]:
    """Return adapters the way requests spell them."""
    return [{"id": id, "scale": scale} for id, scale in adapters]
