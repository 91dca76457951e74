"""Run a build tool and show how far it is."""

from __future__ import annotations

import collections
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from pin import BuildError

__all__ = ("ProgressLine", "parse_step", "run_logged", "run_with_progress")

_NINJA = re.compile(r"\[(\d+)/(\d+)\] (.*)")
_MAKE = re.compile(r"\[\s*(\d+)%\] (.*)")
TAIL_LINES = 40


def parse_step(line: str) -> tuple[int, str, str] | None:
    """Return (percent, counter, what) of a progress line by ninja or make.

    Anything else (a warning, a linker's message) is None.
    """
    if match := _NINJA.match(line):
        done, total = int(match[1]), int(match[2])
        return 100 * done // max(1, total), f"[{done}/{total}]", match[3]
    if match := _MAKE.match(line):
        return int(match[1]), f"[{match[1]}%]", match[2]
    return None


class ProgressLine:
    """Show steps: one line rewritten on a terminal, a line each 10 % elsewhere."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._on_terminal = stream.isatty()
        self._next_percent = 0

    def show(self, percent: int, counter: str, what: str) -> None:
        """Show one step."""
        if self._on_terminal:
            width = shutil.get_terminal_size().columns - 1
            text = f"{counter} {percent:3d} % {what}"[:width]
            self._stream.write(f"\r{text:<{width}}")
            self._stream.flush()
        elif percent >= self._next_percent:
            self._next_percent = percent - percent % 10 + 10
            print(f"{counter} {percent} %", file=self._stream, flush=True)

    def end(self) -> None:
        """Leave the rewritten line."""
        if self._on_terminal:
            print(file=self._stream, flush=True)


def run_with_progress(command: Sequence[str], log: Path, what: str) -> None:
    """Run `command`, its output into `log`, its steps onto the terminal.

    Raises:
        BuildError: It failed; the message holds the first failure and the log's path.
    """
    line = ProgressLine(sys.stderr)
    # ninja rewrites one line itself when it finds a terminal; a pipe gives plain lines.
    with (
        log.open("w", buffering=1, encoding="utf-8", errors="replace") as record,
        subprocess.Popen(
            list(command),
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "NINJA_STATUS": "[%f/%t] "},
        ) as process,
    ):
        assert process.stdout is not None  # asked for a pipe above
        for text in process.stdout:
            record.write(text)
            if step := parse_step(text.rstrip()):
                line.show(*step)
        line.end()
    if process.returncode:
        raise BuildError(f"{what} failed.\n{failure_excerpt(log)}\n  The log: {log}")


def run_logged(command: Sequence[str], log: Path, what: str) -> None:
    """Run `command` quietly, its output into `log`.

    Raises:
        BuildError: It failed; the message holds the log's last lines.
    """
    with log.open("w", encoding="utf-8", errors="replace") as record:
        done = subprocess.run(
            list(command),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=record,
            stderr=subprocess.STDOUT,
        )
    if done.returncode:
        raise BuildError(f"{what} failed.\n{failure_excerpt(log)}\n  The log: {log}")


def failure_excerpt(log: Path) -> str:
    """Return the lines that explain a failure: from the first marked, or the last."""
    with log.open(encoding="utf-8", errors="replace") as stream:
        last: collections.deque[str] = collections.deque(maxlen=TAIL_LINES)
        found: list[str] = []
        for text in stream:
            marked = text.startswith(("FAILED:", "CMake Error")) or " error: " in text
            if marked or found:
                found.append(text)
            if len(found) >= TAIL_LINES:
                break
            last.append(text)
    return "".join(found or last).rstrip()
