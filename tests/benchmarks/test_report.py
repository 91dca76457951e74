from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.peers import Missing, Peer
from benchmarks.ratios import Result
from benchmarks.report import (
    line,
    markdown,
    notes,
    number,
    read_report,
    write_report,
)

MACHINE = {
    "date": "2026-01-02 03:04 UTC",
    "command": "python -m benchmarks --quick",
    "cpu": "A CPU",
    "n_cpus": 2,
    "memory_gib": 4.0,
    "system": "Linux",
    "python": "3.11",
    "llamactypes": "0.1",
    "threads": 1,
    "model": "m.gguf",
    "model_mib": 9.5,
    "load_average": [0.1, 0.2, 0.3],
    "foreign_cpu_before": 0.05,
}


def make_result(**options) -> Result:
    facts = {
        "row": "decode",
        "unit": "tokens/s",
        "peer": "llama-server",
        "ours": 123.4,
        "theirs": 120.0,
        "ratios": (0.97, 1.0283, 1.04),
        "target": 1.02,
        "limit": None,
        "foreign": 0.01,
    }
    return Result(**{**facts, **options})


def test_the_table_has_date_command_and_machine_above_its_rows():
    text = markdown(MACHINE, [make_result()])
    for fact in ("2026-01-02 03:04 UTC", "A CPU", "1 thread(s)", "m.gguf", "5%"):
        assert fact in text.splitlines()[0]
    assert "```sh\npython -m benchmarks --quick\n```" in text


def test_a_row_has_median_extent_target_and_both_figures():
    row = markdown(MACHINE, [make_result()]).splitlines()[-1]
    assert row == (
        "| decode | llama-server | **1.03** (0.97 – 1.04) | ≥ 1.02 ✓ "
        "| 123 tokens/s | 120 tokens/s | 1% |"
    )


def test_a_cell_has_its_details_in_parentheses():
    medians = {"llamactypes": {"p95": 9.87}, "llama-server": {"p95": 5.0}}
    result = make_result(extras=medians, details={"at worst": "p95", "else": "none"})
    row = markdown(MACHINE, [result]).splitlines()[-1]
    assert "| 123 tokens/s (at worst 9.87) | 120 tokens/s (at worst 5) |" in row


def test_every_row_has_as_many_cells_as_the_head():
    alone = make_result(peer=None, theirs=None, ratios=(), target=None, foreign=None)
    rows = markdown(MACHINE, [make_result(), alone]).splitlines()
    assert {one.count("|") for one in rows if one.startswith("|")} == {8}


def test_a_missed_target_and_a_limit_are_marked():
    row = markdown(MACHINE, [make_result(target=1.5, limit=200.0)]).splitlines()[-1]
    assert "≥ 1.50, ≤ 200 tokens/s ✗" in row
    assert line(make_result(target=1.5)).endswith("NOT MET")


@pytest.mark.parametrize(("foreign", "warns"), [(0.3, True), (0.1, False), (None, 0)])
def test_a_line_warns_of_others_load(foreign, warns):
    assert ("others used" in line(make_result(foreign=foreign))) == bool(warns)


def test_a_line_without_a_peer_has_no_ratio():
    text = line(make_result(peer=None, theirs=None, ratios=(), target=None))
    assert "none" in text
    assert "–" in text


def test_skipped_peers_come_with_the_way_to_get_them():
    missing = Missing("xllamacpp", "pip install it")
    lines = notes([missing], {"decode, x": "it died\n a\n long\n log\n"})
    assert "xllamacpp" in lines[0]
    assert "pip install it" in lines[0]
    assert lines[1] == "skipped: decode, x: it died … log"


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234.5, "1234"), (123.4, "123"), (12.34, "12.3"), (0.01234, "0.0123")],
)
def test_numbers_have_three_digits_that_count(value, text):
    assert number(value) == text


def test_a_written_report_can_be_read_again(tmp_path: Path):
    path = tmp_path / "report.json"
    peer = Peer("llama-server", Path("/lib"), "b1", make=lambda shape: None)
    write_report(path, MACHINE, [peer], [make_result()], ["skipped"], {}, [])
    machine, results = read_report(path)
    assert machine == MACHINE
    assert results == [make_result()]
