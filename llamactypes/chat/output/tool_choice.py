"""Which tools the model may or must call. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ("ToolChoice",)


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """What a request says about calling its tools."""

    mode: Literal["auto", "none", "required"] = "auto"
    """``none``: no calls. ``required``: at least one."""
    names: tuple[str, ...] = ()
    """The tools that may be called; empty: all of them."""

    def allows(self, name: str) -> bool:
        """Whether the tool of this name may be called."""
        return self.mode != "none" and (not self.names or name in self.names)
