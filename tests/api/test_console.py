"""What the commands print: bars on terminals only, closed pipes are no error."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from api.serving.banner import count_text, ready_lines, size_text, threads_text
from api.serving.console import Console, LoadingBar
from llamactypes.engine.config import EngineConfig
from tests.support.fake_engine import make_info, make_settings


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_loading_bar_rewrites_one_line_on_a_terminal() -> None:
    terminal = Terminal()
    bar = LoadingBar(terminal)
    for part in (0.0, 0.5, 0.5, 1.0):
        bar.show(part)
    bar.clear()
    lines = terminal.getvalue().split("\r")
    assert len([line for line in lines if "%" in line]) == 3
    assert " 50%" in lines[2]
    assert lines[-1] == ""
    assert "\n" not in terminal.getvalue()


def test_loading_bar_is_silent_elsewhere() -> None:
    stream = io.StringIO()
    bar = LoadingBar(stream)
    bar.show(0.5)
    bar.clear()
    assert stream.getvalue() == ""


def test_text_that_the_terminal_cannot_show_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    Console().write("caf\u00e9")
    assert raw.getvalue() == b"caf?"


def test_closed_pipe_is_no_error() -> None:
    code = (
        "from api.serving.console import Console; c = Console()\n"
        "for _ in range(3): c.say('x')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(20) == 0


@pytest.mark.parametrize(
    ("n_bytes", "text"), [(0, "0 B"), (2048, "2.0 KiB"), (3 << 40, "3.0 TiB")]
)
def test_sizes_are_readable(n_bytes: int, text: str) -> None:
    assert size_text(n_bytes) == text


@pytest.mark.parametrize(
    ("n", "text"), [(12, "12"), (1500, "1.5 K"), (134_500_000, "134.5 M")]
)
def test_counts_are_readable(n: int, text: str) -> None:
    assert count_text(n) == text


@pytest.mark.parametrize(
    ("threads", "text"),
    [
        ((1, 1, "asked"), "1 thread(s) (as asked)"),
        ((4, 8, "measured"), "4 thread(s), 8 for prompts (measured now)"),
        ((2, 2, "adapted"), "2 thread(s) (adapted to the load)"),
    ],
)
def test_threads_text_says_where_the_number_comes_from(threads, text):
    n, n_batch, source = threads
    info = make_info(n_threads=n, n_threads_batch=n_batch, threads_source=source)
    assert threads_text(info) == text


@pytest.mark.parametrize("is_on", [True, False])
def test_ready_lines_say_when_answers_are_deterministic(is_on: bool) -> None:
    settings = make_settings(engine=EngineConfig("m.gguf", deterministic=is_on))
    text = "\n".join(ready_lines(make_info(), settings, ["http://127.0.0.1:1"]))
    assert ("deterministic" in text) is is_on
