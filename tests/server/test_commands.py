"""The commands beside ``serve``: run, info, doctor, version, help."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.server_process import ROOT, clean_environment


def call(
    *words: str,
    module: str = "api",
    stdin: str = "",
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", module, *words],
        capture_output=True,
        text=True,
        input=stdin,
        timeout=120,
        cwd=ROOT,
        env=clean_environment(environment),
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_run_wraps_the_prompt_in_the_chat_template(stories_model_path: Path) -> None:
    words = ("run", "-m", str(stories_model_path), "--temp", "0", "-n", "16")
    prompt = ("-p", "Once upon a time")
    bare = call(*words, *prompt, "--chat-template", "{{ messages[0]['content'] }}")
    assert bare.returncode == 0
    assert bare.stdout == call(*words, *prompt, "--raw").stdout
    assert bare.stdout != call(*words, *prompt).stdout
    assert "answer 16 tokens" in bare.stderr


def test_run_continues_a_piped_prompt_when_raw(stories_model_path: Path) -> None:
    done = call(
        "run",
        "-m",
        str(stories_model_path),
        "--raw",
        "-n",
        "16",
        "--temp",
        "0",
        stdin="Once upon a time",
    )
    assert done.returncode == 0
    assert done.stdout.startswith(", there was")


def test_run_ends_when_nobody_reads_on(stories_model_path: Path) -> None:
    words = ("-m", str(stories_model_path), "--raw", "-p", "Once", "--ignore-eos")
    endless = ("-n", "-1", "--context-shift")
    with subprocess.Popen(
        [sys.executable, "-m", "api", "run", *words, *endless],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=clean_environment(),
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.read(5)
        process.stdout.close()
        try:
            assert process.wait(20) == 0
        finally:
            process.kill()
        assert b"Traceback" not in process.stderr.read()


def test_run_reads_utf8_in_any_locale(stories_model_path: Path) -> None:
    words = ("run", "-m", str(stories_model_path), "--raw", "-n", "4", "-p", "Zoë 😀")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    bare = call(*words, environment=plain)
    assert re.findall(r"prompt (\d+)", bare.stderr) == re.findall(
        r"prompt (\d+)", call(*words).stderr
    )


@pytest.mark.parametrize("command", ["run", "serve"])
def test_a_folder_is_no_model(tmp_path: Path, command: str) -> None:
    done = call(command, "-m", str(tmp_path))
    assert done.returncode == 2
    assert "is a folder" in done.stderr


def test_run_without_a_model_says_how_to_name_one() -> None:
    done = call("run", "-p", "x")
    assert done.returncode == 2
    assert "--demo" in done.stderr


def test_info_shows_the_facts_of_a_file(smollm2_path: Path) -> None:
    done = call("info", str(smollm2_path))
    assert done.returncode == 0
    for fact in (
        "134.5 M parameters",
        "Q4_1",
        "8192 tokens",
        "49152 tokens",
        "general.architecture = llama",
    ):
        assert fact in done.stdout


@pytest.mark.parametrize(
    ("words", "status"), [(("info",), 2), (("info", "no.gguf"), 1)]
)
def test_info_refuses_what_is_no_file(words: tuple[str, ...], status: int) -> None:
    done = call(*words)
    assert done.returncode == status
    assert done.stderr.startswith("error: ")


def test_doctor_names_the_library_and_the_devices() -> None:
    done = call("doctor", module="llamactypes")
    assert done.returncode == 0
    assert "libllama" in done.stdout
    assert "CPU" in done.stdout


def test_doctor_fails_when_no_library_is_usable(tmp_path: Path) -> None:
    done = call("doctor", "--library", str(tmp_path))
    assert done.returncode == 1
    assert str(tmp_path) in done.stdout


def test_version_and_help_are_printed() -> None:
    assert call("--version").stdout.startswith("llamactypes ")
    assert "--ctx-size" in call("serve", "--help").stdout
    assert "--list-devices" in call("run", "--help").stdout


def test_devices_are_listed() -> None:
    done = call("serve", "--list-devices")
    assert done.returncode == 0
    assert "CPU" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("srve",), "did you mean serve?"),
        (("-m", "x.gguf"), "llamactypes serve -m"),
        ((), "usage: llamactypes"),
    ],
)
def test_wrong_command_is_refused_with_a_hint(
    words: tuple[str, ...], message: str
) -> None:
    done = call(*words)
    assert done.returncode == 2
    assert message in done.stderr
