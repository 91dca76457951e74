"""What one rendering may use: time, loop steps and text.

A chat template is a small program that comes with a model file, so it is run as
untrusted code. The limits here are far above what real templates need; they stop a
template that would otherwise hold a worker thread or fill the memory.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from jinja2.exceptions import SecurityError
from jinja2.utils import Namespace

__all__ = ("MAX_SECONDS", "MAX_STEPS", "MAX_TEXT_CHARS", "RenderBudget")

MAX_TEXT_CHARS = 32 * 1024 * 1024
"""Longest text a template may write or build in one expression, in characters."""

MAX_ITEMS = 1024 * 1024
"""Longest list, and most items of what is written or compared at once."""

MAX_BITS = 64 * 1024
"""Largest whole number, in bits."""

MAX_STEPS = 20_000_000
"""Loop iterations and calls of one rendering, all loops together."""

MAX_SECONDS = 10.0
"""Wall time of one rendering."""

_CLOCK_EVERY = 256
_LONG_NUMBER = re.compile(r"\d{6,}")
_PADDING_METHODS = frozenset({"center", "expandtabs", "ljust", "rjust", "zfill"})


class RenderBudget:
    """The limits of one rendering, found by the sandbox through a context variable.

    One budget belongs to one rendering in one thread.
    """

    _current: ContextVar[RenderBudget | None] = ContextVar(
        "render_budget", default=None
    )

    def __init__(
        self,
        max_seconds: float = MAX_SECONDS,
        max_steps: int = MAX_STEPS,
        max_chars: int = MAX_TEXT_CHARS,
    ) -> None:
        self._deadline = time.monotonic() + max_seconds
        self._max_seconds = max_seconds
        self._max_steps = max_steps
        self._max_chars = max_chars
        self._n_steps = 0
        self._n_chars = 0

    @classmethod
    def current(cls) -> RenderBudget | None:
        """Return the budget of the rendering that runs in this thread, if any."""
        return cls._current.get()

    @contextmanager
    def active(self) -> Iterator[None]:
        """Make this the current budget inside the ``with`` block."""
        token = self._current.set(self)
        try:
            yield
        finally:
            self._current.reset(token)

    def step(self) -> None:
        """Count one loop iteration or call."""
        self._count(1)

    def _count(self, n_steps: int) -> None:
        before = self._n_steps // _CLOCK_EVERY
        self._n_steps += n_steps
        if self._n_steps > self._max_steps:
            raise SecurityError(
                f"the template took more than {self._max_steps} steps; it does not end"
            )
        is_due = self._n_steps // _CLOCK_EVERY > before
        if is_due and time.monotonic() > self._deadline:
            raise SecurityError(
                f"the template ran longer than {self._max_seconds:g} seconds"
            )

    def write(self, piece: str) -> None:
        """Count `piece` as output."""
        self._n_chars += len(piece)
        self.check_size(self._n_chars)

    def check_size(self, n_chars: int) -> None:
        """Refuse a text, list or number of `n_chars` before it is made."""
        if n_chars > self._max_chars:
            raise SecurityError(
                f"the template makes a text of {n_chars} characters; "
                f"the limit is {self._max_chars}"
            )

    def check_result(self, value: Any) -> None:
        """Refuse a text or list that has become too large."""
        if isinstance(value, str):
            self.check_size(len(value))
        elif isinstance(value, list | tuple) and len(value) > MAX_ITEMS:
            self.check_items(len(value))

    def check_items(self, n_items: int) -> None:
        """Refuse a list of `n_items` before it is made."""
        if n_items > MAX_ITEMS:
            raise SecurityError(
                f"the template makes a list of {n_items} items; the limit is "
                f"{MAX_ITEMS}"
            )

    def weigh(self, value: Any) -> int:
        """Return the characters and items of a value, with all that is in it.

        A list that holds one list twice, and so on thirty times, needs little memory
        and has a billion items: it is refused.
        """
        weight, n_seen = 0, 0
        waiting = [value]
        while waiting:
            each = waiting.pop()
            n_seen += 1
            weight += 1
            if isinstance(each, str):
                weight += len(each)
            elif isinstance(each, Namespace):
                waiting.append(each._Namespace__attrs)
            elif isinstance(each, dict):
                waiting += each.keys()
                waiting += each.values()
            elif isinstance(each, list | tuple):
                waiting += each
            self.check_items(n_seen + len(waiting))
            self.check_size(weight)
        self._count(n_seen)
        return weight

    # -- sizes known before the work is done --------------------------------------

    def check_operator(self, operator: str, left: Any, right: Any) -> None:
        """Refuse ``left operator right`` when its result would be too large."""
        if isinstance(left, int) and isinstance(right, int):
            self._check_number(operator, left, right)
        elif operator == "+":
            self._check_length(left, _size(left) + _size(right))
        elif operator == "*":
            is_list = isinstance(right, list | tuple)
            self._check_length(right if is_list else left, _product_size(left, right))
        elif operator == "%" and isinstance(left, str):
            self.check_format(left)
            self.check_size(len(left) + left.count("%") * self.weigh(right))

    def _check_number(self, operator: str, left: int, right: int) -> None:
        n_bits = left.bit_length() + right.bit_length()
        if operator == "**" and right > 0:
            n_bits = left.bit_length() * right
        if n_bits > MAX_BITS:
            raise SecurityError(f"the template makes a number of {n_bits} bits")

    def _check_length(self, value: Any, length: int) -> None:
        if isinstance(value, list | tuple):
            self.check_items(length)
        else:
            self.check_size(length)

    def check_method(self, method: Any, args: tuple[Any, ...]) -> None:
        """Refuse a call of a text method whose result would be too large."""
        method = getattr(method, "__wrapped__", method)  # the sandbox wraps `format`
        owner = getattr(method, "__self__", None)
        if isinstance(owner, list | tuple) and args:
            self.weigh(args)  # it is compared with the list's
        if not isinstance(owner, str):
            return
        name = method.__name__
        if name in _PADDING_METHODS:
            self.check_padding(owner, args)
        elif name == "replace" and len(args) >= 2:
            self.check_replace(owner, args[0], args[1])
        elif name == "join" and args:
            self.check_size(_size(owner) * _size(args[0]) + self.weigh(args[0]))
        elif name in {"format", "format_map"}:
            self.check_format(owner)
            self.check_size(len(owner) + owner.count("{") * self.weigh(args))
        elif name == "translate":
            raise SecurityError("a text may not be translated")

    def check_padding(self, text: str, widths: tuple[Any, ...]) -> None:
        """Refuse padding `text` to a huge width."""
        numbers = [width for width in widths if isinstance(width, int)]
        self.check_size(len(text) * max(numbers, default=1))

    def check_replace(self, text: str, old: Any, new: Any) -> None:
        """Refuse a replacement that would make `text` huge."""
        n_found = text.count(old) if isinstance(old, str) else 0
        self.check_size(len(text) + n_found * _size(new))

    def check_format(self, pattern: str) -> None:
        """Refuse a format string with a width or precision of six digits or more."""
        if _LONG_NUMBER.search(pattern):
            raise SecurityError("the template formats with a width of over 99999")


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str | list | tuple | dict) else 0


def _product_size(left: Any, right: Any) -> int:
    for text, count in ((left, right), (right, left)):
        if isinstance(count, int):
            return _size(text) * max(count, 0)
    return 0
