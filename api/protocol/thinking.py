"""How long a request's thinking may be, and whether it can be ended. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from api.protocol.fields import Body, Integer, boolean, text

__all__ = ("THINKING_FIELDS", "ThinkingAsked", "limiting_field", "read_thinking")

_BUDGET = Integer(("reasoning_budget_tokens", "thinking_budget_tokens"), -1)

THINKING_FIELDS = (*_BUDGET.names, "reasoning_budget_message", "reasoning_control")


@dataclass(frozen=True, slots=True)
class ThinkingAsked:
    """What a chat request, or the server's flags, say of its thinking."""

    budget: int = -1
    """Most tokens; -1: no limit; 0: no thinking."""
    message: str = ""
    """Written before the end of thinking that is too long."""
    is_controllable: bool = False
    """It can be ended while it goes on."""


def limiting_field(body: Body) -> str | None:
    """Return the field that asks for a limit, if one does.

    Raises:
        InvalidRequest: It is malformed.
    """
    if _BUDGET.read(body, -1) >= 0:
        return _BUDGET.names[0]
    name = "reasoning_control"
    return name if boolean(body, name, False) else None


def read_thinking(body: Body, defaults: ThinkingAsked) -> ThinkingAsked:
    """Read the limit of a chat request; -1 stands for the server's, as in llama-server.

    Raises:
        InvalidRequest: A field is malformed.
    """
    budget = _BUDGET.read(body, -1)
    return ThinkingAsked(
        defaults.budget if budget < 0 else budget,
        text(body, "reasoning_budget_message", defaults.message) or "",
        boolean(body, "reasoning_control", False),
    )
