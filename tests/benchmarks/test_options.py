from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.options import DEFAULT_BINARIES, parse, places


def test_a_quick_run_has_fewer_rounds():
    assert parse([]).rounds > parse(["--quick"]).rounds


def test_rounds_that_are_named_hold_for_a_quick_run_too():
    assert parse(["--quick", "--rounds", "5"]).rounds == 5


def test_only_a_quick_run_has_a_time_by_default():
    assert parse([]).minutes == float("inf")
    assert parse(["--quick"]).minutes < 3
    assert parse(["--quick", "--minutes", "9"]).minutes == 9


def test_peers_can_be_chosen_one_by_one():
    chosen = parse(["--peer", "llama-server", "--peer", "xllamacpp"]).peer
    assert chosen == ["llama-server", "xllamacpp"]


@pytest.mark.parametrize(
    "words", [["--peer", "nobody"], ["--rounds", "0"], ["--threads", "0"]]
)
def test_what_cannot_be_is_refused(words, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(words)
    assert ended.value.code == 2
    assert words[0] in capsys.readouterr().err


def test_binaries_are_looked_for_in_the_build_folder_by_default():
    assert places(parse([])).binaries == DEFAULT_BINARIES
    assert places(parse(["--peers", "/x"])).binaries == Path("/x")
