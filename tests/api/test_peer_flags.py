"""No flag of llama-server is forgotten: each works, has no effect, or is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.settings import Settings, SettingsError
from api.settings.flag_table import FLAGS
from api.settings.flags import Flag
from api.settings.flags_page import flags_page
from api.settings.unsupported_flags import (
    GROUPS,
    UNSUPPORTED,
    UNSUPPORTED_VARIABLES,
    Unsupported,
)
from tests.support import peer_flags
from tests.support.peer_flags import PeerFlag

ROOT = Path(__file__).resolve().parents[2]
OURS = {name: flag for flag in FLAGS for name in flag.names + flag.negative}
VARIABLES = {flag.env for flag in FLAGS} | set(UNSUPPORTED_VARIABLES)
LISTED = peer_flags.listed()
PASSED_OVER = [flag for group in GROUPS for flag in group.flags]


def settings(*words: str, **environment: str) -> Settings:
    return Settings.from_arguments(words, environment)


def refusal(*words: str, **environment: str) -> str:
    with pytest.raises(SettingsError) as caught:
        settings(*words, **environment)
    return str(caught.value)


# -- the tables ------------------------------------------------------------------------


@pytest.mark.parametrize("flag", LISTED, ids=lambda flag: flag.names[0])
def test_every_flag_of_the_peer_is_in_one_table(flag: PeerFlag) -> None:
    for name in flag.names:
        assert (name in OURS) != (name in UNSUPPORTED), name
    assert not flag.env or flag.env in VARIABLES


@pytest.mark.parametrize("flag", LISTED, ids=lambda flag: flag.names[0])
def test_values_and_switches_are_told_apart_as_the_peer_does(flag: PeerFlag) -> None:
    """A switch that took a value, or the reverse, would shift all that follows."""
    for name in flag.names:
        assert bool(_entry(name).metavar) == flag.takes_value, name


def _entry(name: str) -> Flag | Unsupported:
    return OURS.get(name) or UNSUPPORTED[name]


def test_only_flags_of_the_peer_are_passed_over() -> None:
    names = {name for flag in LISTED for name in flag.names}
    assert set(UNSUPPORTED) <= names
    assert set(UNSUPPORTED_VARIABLES) <= {flag.env for flag in LISTED}


def test_list_holds_what_the_source_declares() -> None:
    if not peer_flags.SOURCE.is_file():
        pytest.skip("no upstream source here; build_scripts/fetch_upstream.py gets it")
    declared = peer_flags.declared(peer_flags.SOURCE.read_text("utf-8"))
    assert declared == LISTED


def test_list_holds_what_the_reference_names() -> None:
    if not peer_flags.REFERENCE.is_file():
        pytest.skip("no reference beside the repository")
    names = {name for flag in LISTED for name in flag.names}
    described = peer_flags.described(peer_flags.REFERENCE.read_text("utf-8"))
    assert len(described) > 100
    assert described <= names


def test_flags_page_is_what_the_tables_say() -> None:
    page = (ROOT / "docs" / "flags.md").read_text("utf-8")
    assert page == flags_page(), (
        "write it anew: python -m api.settings.flags_page > docs/flags.md"
    )


# -- what happens ----------------------------------------------------------------------


def _value(flag: Unsupported) -> list[str]:
    return ["7"] if flag.metavar else []


def _name(flag: Unsupported) -> str:
    """Return a name that asks for what this server does not do."""
    return flag.negative[0] if "on" in flag.harmless else flag.names[-1]


@pytest.mark.parametrize("flag", PASSED_OVER, ids=lambda flag: flag.names[-1])
def test_flag_is_refused_or_passed_over_with_its_reason(flag: Unsupported) -> None:
    words = (_name(flag), *_value(flag), "-c", "77")
    if flag.is_refused:
        assert refusal(*words) == f"{words[0]} is not supported: {flag.why}"
        return
    given = settings(*words)
    assert given.notices == (f"{words[0]} has no effect: {flag.why}",)
    assert given.engine.n_ctx == 77


@pytest.mark.parametrize("env", UNSUPPORTED_VARIABLES)
def test_variable_is_treated_as_its_flag(env: str) -> None:
    flag = UNSUPPORTED_VARIABLES[env]
    value = "7" if flag.metavar else "0" if "on" in flag.harmless else "1"
    if flag.is_refused:
        assert refusal(**{env: value}) == f"{env} is not supported: {flag.why}"
        return
    assert settings(**{env: value}).notices == (f"{env} has no effect: {flag.why}",)


@pytest.mark.parametrize(
    "words",
    [
        "--no-mmproj",
        "--spec-type none",
        "--no-agent",
        "-fit off",
        "--cpu-strict 0",
        "--skip-chat-parsing",
        "-cb",
        "--reasoning-format none",
        "--sleep-idle-seconds=-1",
    ],
)
def test_nothing_is_said_about_what_is_so_anyway(words: str) -> None:
    assert settings(*words.split()).notices == ()


def test_variables_that_ask_for_what_is_so_anyway_say_nothing() -> None:
    given = settings(LLAMA_ARG_NO_MMPROJ_AUTO="1", LLAMA_ARG_CONT_BATCHING="true")
    assert given.notices == ()
    assert "not supported" in refusal(LLAMA_ARG_CONT_BATCHING="off")
    assert "not supported" in refusal(LLAMA_ARG_NO_CONT_BATCHING="1")


def test_flag_without_its_value_is_refused() -> None:
    assert refusal("--prio").startswith("--prio needs a value")
    assert "--perf takes no value" in refusal("--perf=1")
