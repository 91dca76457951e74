"""Where log lines go and which: llama-server's logging flags on Python's logging."""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import Any, ClassVar, TextIO

from api.serving.brief_trace import brief_trace
from api.settings import Settings, SettingsError

__all__ = ("set_up_logging",)

_LEVELS = (
    logging.CRITICAL + 1,
    logging.ERROR,
    logging.WARNING,
    logging.INFO,
    logging.INFO,
)
_QUIET_BELOW_TRACE = "llamactypes.native"
"""The library says hundreds of lines at load: its information is for -lv 4 and up."""
_ACCESS = "llamactypes.access"
_COLORS = {logging.WARNING: "\033[33m", logging.ERROR: "\033[31m"}


class _Discreet(logging.Formatter):
    """Whole tracebacks only where everything is logged."""

    has_tracebacks = False

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, or more with a traceback."""
        record.exc_text = None  # logging's cache: another handler may say more, or less
        try:
            return super().format(record)
        finally:
            record.exc_text = None

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        """Return what went wrong where."""
        return super().formatException(ei) if self.has_tracebacks else _brief(ei)


class _Formatter(_Discreet):
    """Lines as llama-server's: the message alone unless prefix or time is asked for."""

    def __init__(self, settings: Settings, *, colored: bool) -> None:
        parts = []
        if settings.log_timestamps:
            parts.append("%(asctime)s")
        if settings.log_prefix:
            parts.append("%(levelname)s %(name)s:")
        super().__init__(" ".join((*parts, "%(message)s")))
        self._colored = colored

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, in colour when it is a warning or worse."""
        line = super().format(record)
        color = _COLORS.get(record.levelno, "") if self._colored else ""
        return f"{color}{line}\033[0m" if color else line


class _JsonFormatter(_Discreet):
    """llama-server's objects, and the logger's name."""

    _LEVELS: ClassVar = {"WARNING": "warn", "CRITICAL": "error"}

    def format(self, record: logging.LogRecord) -> str:
        """Return one line of JSON."""
        message = record.getMessage()
        if record.exc_info:
            message += "\n" + self.formatException(record.exc_info)
        name = record.levelname
        fields = {
            "type": "log",
            "time": int(record.relativeCreated * 1000),
            "level": self._LEVELS.get(name, name.lower()),
            "msg": message,
            "logger": record.name,
        }
        return json.dumps(fields, ensure_ascii=False)


def set_up_logging(settings: Settings) -> None:
    """Send log lines to stderr and, when asked for, to a file.

    Raises:
        SettingsError: The log file cannot be opened.
    """
    root = logging.getLogger()
    root.setLevel(_level(settings))
    if settings.log_disable:
        root.addHandler(logging.NullHandler())
        return
    handlers: list[logging.Handler] = []
    if sys.stderr is not None:  # None: started with the descriptor closed
        handlers.append(_stderr_handler(settings))
    if settings.log_file:
        handlers.append(_file_handler(settings, settings.log_file))
    for handler in handlers:
        root.addHandler(handler)
    native = logging.getLogger(_QUIET_BELOW_TRACE)
    if not settings.verbose and settings.verbosity < 4:
        native.setLevel(max(logging.WARNING, root.level))
        if not settings.access_log:
            logging.getLogger(_ACCESS).setLevel(max(logging.WARNING, root.level))
    # Clients that leave, and requests that wait for a worker, are everyday life.
    logging.getLogger("waitress").addFilter(_is_no_farewell)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    # One line for each request to the hub is for those who look for a fault in it.
    if root.level > logging.DEBUG:
        logging.getLogger("httpx2").setLevel(logging.WARNING)


def _brief(ei: Any) -> str:
    return f"  {brief_trace(ei[1])} (-v logs the traceback)"


def _is_no_farewell(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith("Client disconnected")


def _level(settings: Settings) -> int:
    if settings.log_disable:
        return logging.CRITICAL + 1
    if settings.verbose or settings.verbosity >= len(_LEVELS):
        return logging.DEBUG
    return _LEVELS[settings.verbosity]


def _formatter(settings: Settings, *, colored: bool) -> logging.Formatter:
    made = _JsonFormatter() if settings.log_jsonl else None
    formatter = made or _Formatter(settings, colored=colored)
    formatter.has_tracebacks = _level(settings) <= logging.DEBUG
    return formatter


def _stderr_handler(settings: Settings) -> logging.Handler:
    handler = logging.StreamHandler(sys.stderr)
    colored = settings.log_colors == "on" or (
        settings.log_colors == "auto" and _takes_colors(sys.stderr)
    )
    handler.setFormatter(_formatter(settings, colored=colored))
    return handler


def _file_handler(settings: Settings, path: str) -> logging.Handler:
    try:
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"--log-file {path}: {error.strerror}") from None
    handler.setFormatter(_formatter(settings, colored=False))
    return handler


def _takes_colors(stream: TextIO) -> bool:
    """Whether it is a terminal that wants colours; NO_COLOR says that none does."""
    wants_none = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not wants_none
