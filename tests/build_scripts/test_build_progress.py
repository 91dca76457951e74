from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from pin import BuildError
from progress import ProgressLine, parse_step, run_logged, run_with_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("[5/50] Building C ggml.c.o", (10, "[5/50]", "Building C ggml.c.o")),
        ("[ 12%] Building C ggml.c.o", (12, "[12%]", "Building C ggml.c.o")),
        ("[0/0] Nothing", (0, "[0/0]", "Nothing")),
        ("ggml.c:3: warning: [1/2] of it", None),
        ("", None),
    ],
)
def test_parse_step_reads_ninja_and_make(line, step):
    assert parse_step(line) == step


def test_progress_prints_a_line_each_ten_percent_without_a_terminal():
    stream = io.StringIO()
    line = ProgressLine(stream)
    for done in range(1, 201):
        line.show(100 * done // 200, f"[{done}/200]", "x")
    assert len(stream.getvalue().splitlines()) == 11
    assert "\r" not in stream.getvalue()


def test_progress_rewrites_one_line_on_a_terminal():
    stream = Terminal()
    line = ProgressLine(stream)
    line.show(1, "[1/100]", "a name much longer than any terminal is wide " * 9)
    line.show(2, "[2/100]", "short")
    line.end()
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().count("\r") == 2


def test_run_with_progress_keeps_the_whole_output(tmp_path: Path, capsys):
    log = tmp_path / "log"
    program = "print('[1/2] a'); print('noise'); print('[2/2] b')"
    run_with_progress([sys.executable, "-c", program], log, "compiling")
    assert log.read_text().splitlines() == ["[1/2] a", "noise", "[2/2] b"]
    assert "[2/2] 100 %" in capsys.readouterr().err


def test_run_with_progress_shows_the_first_error_and_the_log(tmp_path: Path):
    log = tmp_path / "log"
    program = "print('[1/2] a'); print('FAILED: b'); print('b: missing;'); exit(3)"
    with pytest.raises(BuildError) as caught:
        run_with_progress([sys.executable, "-c", program], log, "compiling")
    message = str(caught.value)
    assert "compiling failed" in message
    assert "FAILED: b\nb: missing;" in message
    assert "[1/2] a" not in message
    assert str(log) in message


def test_run_logged_shows_the_last_lines_when_none_is_marked(tmp_path: Path):
    program = "for n in range(100): print('line', n)\nraise SystemExit(1)"
    with pytest.raises(BuildError) as caught:
        run_logged([sys.executable, "-c", program], tmp_path / "log", "configuring")
    assert "line 99" in str(caught.value)
    assert "line 1\n" not in str(caught.value)
