"""Native log lines → ``logging.getLogger("llamactypes.native")``; nothing on stderr.

llama.cpp logs in pieces: a message may lack its newline, and later pieces continue it
(``GGML_LOG_LEVEL_CONT``). They are joined here, one record per line.
"""

from __future__ import annotations

import ctypes
import logging
from _thread import get_ident
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from llamactypes import bindings as C  # noqa: N812

NATIVE = logging.getLogger("llamactypes.native")

_LEVELS = {
    C.GGML_LOG_LEVEL_NONE: logging.INFO,
    C.GGML_LOG_LEVEL_DEBUG: logging.DEBUG,
    C.GGML_LOG_LEVEL_INFO: logging.INFO,
    C.GGML_LOG_LEVEL_WARN: logging.WARNING,
    C.GGML_LOG_LEVEL_ERROR: logging.ERROR,
}
_MAX_COLLECTED = 40


class _LogBridge:
    """Joins pieces to lines and hands them on. Any thread: fields go by thread."""

    def __init__(self) -> None:
        self._levels: dict[int, int] = {}
        self._pending: dict[int, str] = {}
        self._collectors: dict[int, list[str]] = {}
        self._expected: dict[int, Callable[[], bool]] = {}

    def __call__(self, level: int, text: bytes | None, _user_data: object) -> None:
        thread = get_ident()
        if level != C.GGML_LOG_LEVEL_CONT:
            self._levels[thread] = _LEVELS.get(level, logging.INFO)
        severity = self._levels.get(thread, logging.INFO)
        # PERF: decoding logs at DEBUG; a line nobody wants costs only this test.
        if severity < logging.WARNING and not NATIVE.isEnabledFor(severity):
            return
        joined = self._pending.pop(thread, "") + (text or b"").decode(
            "utf-8", "replace"
        )
        *lines, rest = joined.split("\n")
        if rest:
            self._pending[thread] = rest
        for line in lines:
            self._emit(thread, severity, line.rstrip())

    def _emit(self, thread: int, severity: int, line: str) -> None:
        if not line:
            return
        collector = self._collectors.get(thread)
        if collector is not None and severity >= logging.WARNING:
            collector.append(line)
            del collector[:-_MAX_COLLECTED]
        expected = self._expected.get(thread)
        if expected is not None and expected():
            severity = logging.DEBUG
        NATIVE.log(severity, "%s", line)

    @contextmanager
    def collect(self) -> Iterator[list[str]]:
        """Yield the warnings and errors that this thread's native calls log."""
        thread = get_ident()
        before = self._collectors.get(thread)
        lines: list[str] = []
        self._collectors[thread] = lines
        try:
            yield lines
        finally:
            if before is None:
                del self._collectors[thread]
            else:
                self._collectors[thread] = before

    @contextmanager
    def expect(self, condition: Callable[[], bool]) -> Iterator[None]:
        """Log this thread's native lines at DEBUG while `condition()` holds."""
        thread = get_ident()
        self._expected[thread] = condition
        try:
            yield
        finally:
            del self._expected[thread]


_bridge = _LogBridge()
_callbacks: list[object] = []


def install() -> None:
    """Route every native log line to `logging`; the callback stays referenced here."""
    if not _callbacks:
        _callbacks.append(C.ggml_log_callback(_bridge))
    _set(_callbacks[0])


def silence() -> None:
    """Point the library at a function that outlives the interpreter and does nothing.

    Destructors of the library may log after Python is gone, when a Python callback
    would crash and a NULL callback would print. ``Py_IsInitialized`` reads one flag,
    ignores the arguments and may be called at any time.
    """
    _set(ctypes.cast(ctypes.pythonapi.Py_IsInitialized, C.ggml_log_callback))


def _set(callback: Any) -> None:
    C.llama_log_set(callback, None)
    C.ggml_log_set(callback, None)


def collect_problems() -> AbstractContextManager[list[str]]:
    """Return a context manager yielding this thread's native warnings and errors."""
    return _bridge.collect()


def expecting_problems(
    condition: Callable[[], bool],
) -> AbstractContextManager[None]:
    """Return a context manager: native lines are DEBUG while `condition()` holds.

    The library reports a decode that we aborted as an error, in several lines.
    """
    return _bridge.expect(condition)


def reason(lines: list[str]) -> str:
    """Return the last collected lines as one sentence for an error message."""
    if not lines:
        return "the library gave no reason"
    return "; ".join(lines[-3:])
