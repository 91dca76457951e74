"""llama-server's logging flags on Python's logging."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.serving.log_setup import set_up_logging
from api.settings import Settings, SettingsError

NATIVE = "llamactypes.native"
ACCESS = "llamactypes.access"


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    names = (None, NATIVE, ACCESS, "waitress.queue", "httpx2")
    before = [
        (logging.getLogger(name), logging.getLogger(name).level) for name in names
    ]
    handlers = list(logging.getLogger().handlers)
    yield
    for logger, level in before:
        logger.setLevel(level)
    root = logging.getLogger()
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
        handler.close()


def set_up(words: str) -> None:
    set_up_logging(Settings.from_arguments(words.split(), {}))


@pytest.mark.parametrize(
    ("words", "level", "native_level"),
    [
        ("", logging.INFO, logging.WARNING),
        ("-lv 1", logging.ERROR, logging.ERROR),
        ("-lv 2", logging.WARNING, logging.WARNING),
        ("-lv 4", logging.INFO, logging.INFO),
        ("-lv 5", logging.DEBUG, logging.DEBUG),
        ("-v", logging.DEBUG, logging.DEBUG),
    ],
)
def test_verbosity_chooses_the_levels(
    words: str, level: int, native_level: int
) -> None:
    set_up(words)
    assert logging.getLogger().level == level
    assert logging.getLogger(NATIVE).getEffectiveLevel() == native_level


@pytest.mark.parametrize("words", ["--log-disable", "-lv 0"])
def test_log_can_be_silenced(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    set_up(words)
    logging.getLogger("llamactypes.server").critical("nobody hears this")
    assert capsys.readouterr().err == ""


def test_log_file_gets_the_lines_with_prefix_and_time(tmp_path: Path) -> None:
    path = tmp_path / "log"
    set_up(f"--log-file {path} --log-prefix --log-timestamps --log-colors off")
    logging.getLogger("llamactypes.server").warning("hello")
    line = path.read_text()
    assert line.endswith("WARNING llamactypes.server: hello\n")
    assert line[:2] == "20"


def test_colours_are_for_standard_error_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log"
    set_up(f"--log-file {path} --log-colors on")
    logging.getLogger("llamactypes.server").error("hello")
    assert "\033[31mhello\033[0m" in capsys.readouterr().err
    assert path.read_text() == "hello\n"


def test_log_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="--log-file"):
        set_up(f"--log-file {tmp_path}")


def test_json_lines_carry_level_time_and_message(tmp_path: Path) -> None:
    path = tmp_path / "log"
    set_up(f"--log-jsonl --log-file {path}")
    logging.getLogger("llamactypes.server").warning("two\nlines: %s", "é")
    line = json.loads(path.read_text("utf-8"))
    assert line.pop("time") > 0
    assert line == {
        "type": "log",
        "level": "warn",
        "msg": "two\nlines: é",
        "logger": "llamactypes.server",
    }


def log_a_failure() -> None:
    try:
        try:
            raise KeyError("inner secret")
        except KeyError as error:
            raise ValueError("a secret") from error
    except ValueError:
        logging.getLogger("x").exception("failed")


def test_json_line_holds_the_traceback_when_everything_is_logged(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log"
    set_up(f"-v --log-jsonl --log-file {path}")
    log_a_failure()
    line = json.loads(path.read_text("utf-8").splitlines()[-1])
    assert line["level"] == "error"
    assert line["msg"].startswith("failed\nTraceback")
    assert line["msg"].endswith("ValueError: a secret")


@pytest.mark.parametrize("form", ["", "--log-jsonl"])
def test_a_failure_is_a_place_without_its_words_by_default(
    tmp_path: Path, form: str
) -> None:
    path = tmp_path / "log"
    set_up(f"{form} --log-file {path}")
    log_a_failure()
    text = path.read_text("utf-8")
    assert "ValueError in api/test_log_setup.py:" in text
    assert "after KeyError in" in text
    assert "secret" not in text
    assert "Traceback" not in text
    assert str(Path(__file__).parent) not in text


def test_requests_to_the_hub_are_logged_at_level_five_only() -> None:
    set_up("-lv 4")
    assert not logging.getLogger("httpx2").isEnabledFor(logging.INFO)


@pytest.mark.parametrize(
    ("words", "environment", "is_colored"),
    [
        ("", {}, True),
        ("", {"NO_COLOR": "1"}, False),
        ("", {"TERM": "dumb"}, False),
        ("--log-colors on", {"NO_COLOR": "1"}, True),
        ("--log-colors off", {}, False),
    ],
)
def test_terminal_gets_colors_unless_somebody_wants_none(
    words: str,
    environment: dict[str, str],
    is_colored: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    set_up(words)
    logging.getLogger("x").warning("look")
    assert ("\033[33mlook" in terminal.getvalue()) == is_colored


@pytest.mark.parametrize(
    ("words", "level"),
    [
        ("", logging.WARNING),
        ("--access-log", logging.INFO),
        ("-lv 4", logging.INFO),
        ("-lv 5", logging.DEBUG),
        ("--access-log -lv 2", logging.WARNING),
        ("--access-log --no-access-log", logging.WARNING),
    ],
)
def test_requests_are_logged_when_asked_for(words: str, level: int) -> None:
    set_up(words)
    assert logging.getLogger(ACCESS).getEffectiveLevel() == level
