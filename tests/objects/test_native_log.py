from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from llamactypes import (
    Batch,
    Context,
    ContextParams,
    Model,
    ModelLoadError,
    _native_log,
)
from llamactypes import bindings as C  # noqa: N812
from llamactypes.context import AbortFlag
from llamactypes.errors import DecodeAborted
from tests.support.models import ROOT

DEBUG, INFO, WARN, ERROR, CONT = (
    C.GGML_LOG_LEVEL_DEBUG,
    C.GGML_LOG_LEVEL_INFO,
    C.GGML_LOG_LEVEL_WARN,
    C.GGML_LOG_LEVEL_ERROR,
    C.GGML_LOG_LEVEL_CONT,
)


@pytest.fixture
def bridge(caplog: pytest.LogCaptureFixture) -> _native_log._LogBridge:
    caplog.set_level(logging.INFO, logger="llamactypes.native")
    return _native_log._LogBridge()


def records(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.levelname, record.message) for record in caplog.records]


def test_levels_are_mapped(
    bridge: _native_log._LogBridge, caplog: pytest.LogCaptureFixture
) -> None:
    for level, text in ((INFO, b"i\n"), (WARN, b"w\n"), (ERROR, b"e\n"), (0, b"n\n")):
        bridge(level, text, None)
    assert records(caplog) == [
        ("INFO", "i"),
        ("WARNING", "w"),
        ("ERROR", "e"),
        ("INFO", "n"),
    ]


def test_pieces_are_joined_to_lines(
    bridge: _native_log._LogBridge, caplog: pytest.LogCaptureFixture
) -> None:
    for level, text in (
        (WARN, b"one "),
        (CONT, b"and "),
        (CONT, b"two\nthree\n\n"),
        (INFO, b"."),
        (CONT, b"\n"),
        (INFO, None),
        (INFO, b"\xff\n"),
    ):
        bridge(level, text, None)
    assert records(caplog) == [
        ("WARNING", "one and two"),
        ("WARNING", "three"),
        ("INFO", "."),
        ("INFO", "\ufffd"),
    ]


def test_what_continues_an_unwanted_line_is_unwanted_too(
    bridge: _native_log._LogBridge, caplog: pytest.LogCaptureFixture
) -> None:
    bridge(DEBUG, b"quiet ", None)
    bridge(CONT, b"still quiet\n", None)
    bridge(INFO, b"loud\n", None)
    assert records(caplog) == [("INFO", "loud")]


def test_collected_problems_are_this_thread_s_and_nest(
    bridge: _native_log._LogBridge,
) -> None:
    with bridge.collect() as outer:
        bridge(ERROR, b"first\n", None)
        with bridge.collect() as inner:
            bridge(WARN, b"second\n", None)
            bridge(INFO, b"no problem\n", None)
        bridge(ERROR, b"third\n", None)
    bridge(ERROR, b"fourth\n", None)
    assert (outer, inner) == (["first", "third"], ["second"])
    assert _native_log.reason(outer) == "first; third"
    assert _native_log.reason([]) == "the library gave no reason"


def test_loading_a_model_reports_to_logging(
    tiny_model_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="llamactypes.native"):
        Model(tiny_model_path).close()
    lines = [r.message for r in caplog.records if r.name == "llamactypes.native"]
    assert any("general.architecture" in line for line in lines)
    assert all(line == line.rstrip() and "\n" not in line for line in lines)


def test_errors_are_quoted_even_when_logging_is_off(tmp_path: Path) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + b"\xff" * 60)
    logger = logging.getLogger("llamactypes.native")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with pytest.raises(ModelLoadError, match="failed to read header"):
            Model(tmp_path / "bad.gguf")
    finally:
        logger.setLevel(before)


def test_an_unconfigured_program_prints_nothing(
    tiny_model_path: Path, stories_model_path: Path
) -> None:
    program = (
        "import sys\n"
        "from llamactypes import *\n"
        f"Context(Model({str(stories_model_path)!r}), ContextParams(n_threads=1))\n"
        "try:\n    Model('/nowhere.gguf')\nexcept ModelLoadError:\n    pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_aborted_decode_is_no_error_in_the_log(
    stories_model_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        Model(stories_model_path) as model,
        Context(model, ContextParams(n_ctx=256, n_threads=1)) as context,
        Batch(8) as batch,
    ):
        flag = AbortFlag()
        context.set_abort(flag)
        batch.extend([1, 2, 3], 0, 0, last_logits=True)
        caplog.clear()
        flag.set()
        with pytest.raises(DecodeAborted):
            context.decode(batch)
        assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []
