"""What a run prints and writes: lines, a Markdown table, JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.load import FOREIGN_LIMIT
from benchmarks.machine import headline
from benchmarks.peers import Missing, Peer
from benchmarks.ratios import OURS, Result

__all__ = (
    "HEADER",
    "line",
    "markdown",
    "notes",
    "number",
    "read_report",
    "write_report",
)

_NONE = "–"
HEADER = (
    f"{'':48} {'peer':20} {'ratio':>6}  {'min – max':13} {'target':>6}  "
    f"{'ours':>9} {'theirs':>9}"
)


def line(result: Result) -> str:
    """Return a row for the terminal; it ends with what a reader must not miss."""
    theirs = _NONE if result.theirs is None else number(result.theirs)
    text = (
        f"{result.row:48} {result.peer or 'none':20} {_ratio(result.ratio):>6}  "
        f"{_extent(result):13} {_ratio(result.target):>6}  "
        f"{number(result.ours):>9} {theirs:>9} {result.unit}"
    )
    if result.limit is not None:
        text += f", at most {number(result.limit)}"
    if result.is_met is not None:
        text += ": met" if result.is_met else ": NOT MET"
    return text + _warning(result)


def markdown(machine: dict[str, Any], results: Sequence[Result]) -> str:
    """Return facts, command and table, ready for a page of results."""
    rows = [
        "| | peer | ratio (min – max) | target | ours | theirs | others' CPU |",
        "|---|---|---|---|---|---|---|",
        *(_markdown_row(result) for result in results),
    ]
    return (
        f"{headline(machine)}; llamactypes {machine['llamactypes']}, "
        f"Python {machine['python']}, {machine['system']}\n\n"
        f"```sh\n{machine['command']}\n```\n\n" + "\n".join(rows) + "\n"
    )


def notes(missing: Sequence[Missing], failed: dict[str, str]) -> list[str]:
    """Return what a reader has to know about peers that are not in the table."""
    lines = [f"skipped: {one.name} is not here. {one.how_to_get}" for one in missing]
    return lines + [f"skipped: {what}: {_gist(why)}" for what, why in failed.items()]


def _gist(reason: str) -> str:
    """Return what went wrong and the last line of the log that follows, if one does."""
    first, *log = [one.strip() for one in reason.splitlines() if one.strip()] or [""]
    return f"{first} … {log[-1]}" if log else first


def write_report(
    path: Path,
    machine: dict[str, Any],
    peers: Sequence[Peer],
    results: Sequence[Result],
    skipped: Sequence[str],
    failed: dict[str, str],
    rounds: Sequence[dict[str, Any]],
) -> None:
    """Write everything that was measured as JSON."""
    report = {
        "machine": machine,
        "peers": {
            one.name: {"version": one.version, "library": str(one.library)}
            for one in peers
        },
        "skipped": list(skipped),
        "failed": failed,
        "rows": [result.as_dict() for result in results],
        "rounds": list(rounds),
    }
    path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")


def read_report(path: Path) -> tuple[dict[str, Any], list[Result]]:
    """Return the machine's facts and the rows of a report that was written before."""
    report = json.loads(path.read_text())
    return report["machine"], [Result.from_dict(row) for row in report["rows"]]


def number(value: float) -> str:
    """Return three digits that count, without an exponent."""
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"


def _markdown_row(result: Result) -> str:
    extent = _NONE if not result.ratios else f"**{_ratio(result.ratio)}**"
    if result.ratios:
        extent += f" ({_extent(result)})"
    goals = [] if result.target is None else [f"≥ {_ratio(result.target)}"]
    if result.limit is not None:
        goals.append(f"≤ {number(result.limit)} {result.unit}")
    goal = ", ".join(goals) or _NONE
    if result.is_met is not None:
        goal += " ✓" if result.is_met else " ✗"
    foreign = "unknown" if result.foreign is None else f"{result.foreign:.0%}"
    return (
        f"| {result.row} | {result.peer or _NONE} | {extent} | {goal} "
        f"| {_figure(result, OURS, result.ours)} "
        f"| {_figure(result, result.peer, result.theirs)} | {foreign} |"
    )


def _figure(result: Result, server: str | None, value: float | None) -> str:
    """Return one server's figure with its details in parentheses."""
    if value is None or server is None:
        return _NONE
    medians = result.extras.get(server, {})
    details = [
        f"{label} {number(medians[key])}"
        for label, key in result.details.items()
        if key in medians
    ]
    text = f"{number(value)} {result.unit}"
    return f"{text} ({', '.join(details)})" if details else text


def _ratio(value: float | None) -> str:
    return _NONE if value is None else f"{value:.2f}"


def _extent(result: Result) -> str:
    if not result.ratios:
        return _NONE
    return f"{result.ratios[0]:.2f} – {result.ratios[-1]:.2f}"


def _warning(result: Result) -> str:
    if result.foreign is None or result.foreign <= FOREIGN_LIMIT:
        return ""
    return f"  (others used up to {result.foreign:.0%} of the CPUs)"
