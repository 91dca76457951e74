"""What an event stream asks of the route it belongs to. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from api import sse
from api.protocol.error_reply import ErrorReply
from llamactypes.engine.request import Delta, Result

__all__ = ("StreamFormat",)


class StreamFormat(ABC):
    """Turns the increments of a request's choices into events. One reader's thread.

    Routes whose events have names override the last three: `encode`, `ping` and
    `failure`.
    """

    ends_with_done: ClassVar[bool] = False
    """Whether ``data: [DONE]`` follows the last event."""

    ping: ClassVar[bytes] = sse.PING
    """What breaks a silence."""

    @abstractmethod
    def delta(self, index: int, delta: Delta) -> list[dict[str, Any]]:
        """Return the objects for one increment of choice `index`."""

    @abstractmethod
    def finish(self, index: int, result: Result) -> list[dict[str, Any]]:
        """Return the objects that end choice `index`."""

    def held(self) -> list[dict[str, Any]]:
        """Return the objects of text that was held back, before `failure`."""
        return []

    def encode(self, value: dict[str, Any]) -> bytes:
        """Return the event of one object."""
        return sse.data_event(value)

    def failure(self, reply: ErrorReply) -> list[dict[str, Any]]:
        """Return the objects that end a stream which broke."""
        return [reply.body()]
