"""The pages about operation say what is there, and their examples can be used."""

from __future__ import annotations

import configparser
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.settings import Settings
from api.settings.flag_table import FLAGS
from tests.support.server_process import ROOT

FAULTS = (ROOT / "docs" / "faults.md").read_text("utf-8")
OPERATIONS = (ROOT / "docs" / "operations.md").read_text("utf-8")
EXAMPLES = ROOT / "examples" / "deploy"
DEFINED = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)


def defined(folder: Path) -> set[str]:
    files = folder.rglob("test_*.py")
    return {name for path in files for name in DEFINED.findall(path.read_text("utf-8"))}


def rows(page: str) -> list[list[str]]:
    """The cells of each row of each table, heads and rules left out."""
    lines = [line for line in page.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [each for each in cells if not set(each[0]) <= {"-"}]


# -- faults.md ---------------------------------------------------------------------


def test_each_row_of_the_faults_names_tests_that_exist():
    known = defined(ROOT / "tests")
    found = [each for each in rows(FAULTS) if each[0] != "fault"]
    assert len(found) > 30
    for fault, seen, _, tests in found:
        assert seen, fault
        named = re.findall(r"`(test_\w+)`", tests)
        assert named, fault
        assert set(named) <= known, (fault, set(named) - known)


def test_each_test_of_a_fault_is_in_a_row():
    """But for those of these pages."""
    here = set(DEFINED.findall(Path(__file__).read_text("utf-8")))
    named = set(re.findall(r"`(test_\w+)`", FAULTS))
    missing = defined(ROOT / "tests" / "faults") - here - named
    assert not missing


# -- operations.md -----------------------------------------------------------------


def test_each_log_line_of_the_page_is_written_somewhere():
    code = " ".join(
        path.read_text("utf-8")
        for package in ("api", "llamactypes")
        for path in (ROOT / package).rglob("*.py")
    )
    joined = re.sub(r'"\s+f?"', "", code)  # strings that go over several lines
    section = OPERATIONS.partition("## The log")[2].partition("\n## ")[0]
    told = [
        line for row in rows(section)[1:] for line in re.findall(r"`([^`]+)`", row[0])
    ]
    assert len(told) > 8
    for line in told:
        words = [re.escape(part.strip()) for part in line.split("…") if part.strip()]
        assert re.search(r".{0,40}".join(words), joined), line


def test_each_number_to_watch_is_measured():
    metrics = (ROOT / "docs" / "metrics.md").read_text("utf-8")
    named = re.findall(r"llama(?:ctypes|cpp):(\w+)", OPERATIONS)
    assert named
    for name in named:
        assert f"`{name.removesuffix('_bucket')}" in metrics, name


# -- the examples --------------------------------------------------------------------


def settings_of(words: list[str], environment: dict[str, str]) -> Settings:
    """What the server makes of them; a wrong flag or variable is an error."""
    return Settings.from_arguments(words, environment)


@pytest.fixture
def keys(tmp_path: Path) -> str:
    path = tmp_path / "keys"
    path.write_text("a-key\n")
    return str(path)


def test_the_unit_is_one_that_the_server_can_live_in(keys: str) -> None:
    text = (EXAMPLES / "llamactypes.service").read_text("utf-8")
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(text.replace("\\\n", " "))
    service = unit["Service"]
    program, command, *words = shlex.split(service["ExecStart"])
    assert (Path(program).name, command) == ("llamactypes", "serve")
    words = [w.replace("${CREDENTIALS_DIRECTORY}/api-keys", keys) for w in words]
    settings = settings_of(words, {})
    assert settings.api_keys == ("a-key",)
    assert service["Type"] == "notify"
    assert float(service["TimeoutStopSec"]) > settings.shutdown_timeout_s + 10
    assert settings.engine.watchdog_s > 0
    assert settings.exit_on_failure
    assert service["Restart"] == "on-failure"


def test_the_container_gets_its_signals_and_reads_its_variables() -> None:
    text = (EXAMPLES / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    entry = json.loads(re.search(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)[1])  # type: ignore[index]
    assert entry[:2] == ["llamactypes", "serve"]
    variables = dict(
        pair.split("=", 1)
        for line in re.findall(r"^ENV (.*)$", text, re.MULTILINE)
        for pair in line.split()
    )
    assert set(variables) <= {flag.env for flag in FLAGS}
    settings = settings_of(entry[2:], variables)
    stop = int(re.search(r"--stop-timeout (\d+)", text)[1])  # type: ignore[index]
    assert stop > settings.shutdown_timeout_s + 10
    assert settings.exit_on_failure
    assert "/health" in text


def test_the_pod_is_probed_and_left_enough_time(keys: str) -> None:
    text = (EXAMPLES / "kubernetes.yaml").read_text("utf-8")
    deployment, service = yaml.safe_load_all(text)
    pod: dict[str, Any] = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    words = [word.replace("/keys/api-keys", keys) for word in container["args"]]
    settings = settings_of(words, {})
    pre_stop = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    grace = pod["terminationGracePeriodSeconds"]
    assert grace >= pre_stop + settings.shutdown_timeout_s + 10
    probes = {
        name: container[f"{name}Probe"]["httpGet"]["path"]
        for name in ("startup", "readiness", "liveness")
    }
    assert probes == {
        "startup": "/readyz",
        "readiness": "/readyz",
        "liveness": "/livez",
    }
    mounted = {each["name"] for each in container["volumeMounts"]}
    assert mounted == {each["name"] for each in pod["volumes"]}
    assert service["spec"]["selector"] == {"app": "llamactypes"}
    assert settings.engine.watchdog_s > 0


def test_the_proxy_lets_events_through() -> None:
    text = (EXAMPLES / "nginx.conf").read_text("utf-8")
    assert re.search(r"proxy_buffering\s+off;", text)
    (limit,) = re.findall(r"client_max_body_size (\d+)m;", text)
    assert int(limit) << 20 == Settings().max_body_bytes
    (silence,) = re.findall(r"proxy_read_timeout (\d+)s;", text)
    assert int(silence) > Settings().sse_ping_interval_s
