from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import options
from benchmarks.__main__ import main


def test_without_any_peer_our_own_figures_come_and_what_is_missing(
    tmp_path: Path,
    tiny_model_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(options, "DEFAULT_BINARIES", tmp_path)  # there may be a build
    python = tmp_path / "python"  # an interpreter that has no packages
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    report, table = tmp_path / "report.json", tmp_path / "table.md"
    words = ["--quick", "--rounds", "1", "--only", "decode, 1 stream"]
    words += ["--model", str(tiny_model_path), "--json", str(report)]
    words += ["--markdown", str(table), "--xllamacpp-python", str(python)]
    words += ["--llama-cpp-python", str(python)]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "nobody to compare with" in printed
    assert "skipped: llama-cpp-python is not here" in printed
    (row, _) = json.loads(report.read_text())["rows"]
    assert row["ratio"] is None
    assert row["ours"] > 0
    assert row["medians"]["llamactypes"]["n_generated"] == 64
    assert "| decode, 1 stream |" in table.read_text()
    assert main(["--from-json", str(report), "--markdown", str(table)]) == 0


def test_a_peer_that_is_named_and_not_there_ends_the_run(tmp_path, capsys):
    assert main(["--peers", str(tmp_path)]) == 2
    assert "--with-peers" in capsys.readouterr().err


def test_a_peer_that_fails_is_named_for_each_scenario(
    tmp_path: Path, tiny_model_path: Path, capsys: pytest.CaptureFixture[str]
):
    server = tmp_path / "llama-server"
    server.write_text("#!/bin/sh\necho no such instruction; exit 3\n")
    server.chmod(0o755)
    words = ["--quick", "--only", "decode", "--peers", str(tmp_path)]
    words += ["--peer", "llama-server", "--model", str(tiny_model_path)]
    assert main(words) == 2
    printed = capsys.readouterr()
    for scenario in ("decode, 1 stream", "decode, 8 streams"):
        assert f"skipped: {scenario}, llama-server: " in printed.out
    assert printed.out.count("no such instruction") == 2
    assert "nothing could be measured" in printed.err


def test_what_there_is_no_time_for_is_named(tmp_path, tiny_model_path, capsys):
    (tmp_path / "llama-server").touch(0o755)
    words = ["--minutes", "0", "--only", "warm", "--peers", str(tmp_path)]
    words += ["--peer", "llama-server", "--model", str(tiny_model_path)]
    main(words)
    assert "llama-server: the time was up" in capsys.readouterr().out


def test_a_plot_of_a_report_is_written(tmp_path):
    pytest.importorskip("matplotlib", reason="the extra 'bench' is not installed")
    from benchmarks.plot import draw
    from tests.benchmarks.test_report import MACHINE, make_result

    results = [make_result(), make_result(target=9.0), make_result(ratios=())]
    draw(tmp_path / "plot.png", MACHINE, results)
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
