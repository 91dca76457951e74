"""From measurements to the table's rows. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ("OURS", "Result", "Round", "compare", "summarize")

OURS = "llamactypes"


@dataclass(frozen=True, slots=True)
class Round:
    """One measurement of every server: what was done in turn."""

    figures: Mapping[str, Mapping[str, float]]
    """Server → its figures."""
    foreign: Mapping[str, float | None]
    """Server → others' share of the CPUs meanwhile."""


@dataclass(frozen=True, slots=True)
class Result:
    """One row of the table, of one peer."""

    row: str
    unit: str
    peer: str | None
    """None: nobody to compare with, and no ratio."""
    ours: float
    """Median over the rounds, in `unit`."""
    theirs: float | None
    ratios: tuple[float, ...]
    """One for each round, ascending; above 1 ours is better."""
    target: float | None
    limit: float | None
    """The most that ours may need."""
    foreign: float | None
    """Others' greatest share of the CPUs in any of the measurements."""
    less_is_better: bool = False
    extras: dict[str, dict[str, float]] = field(default_factory=dict)
    """Server → medians of all its figures."""
    details: dict[str, str] = field(default_factory=dict)
    """Label → key of the figures that the table shows beside the row's own."""

    @property
    def ratio(self) -> float | None:
        """The median ratio."""
        return statistics.median(self.ratios) if self.ratios else None

    @property
    def is_met(self) -> bool | None:
        """Whether target and limit are kept; None where there is nothing to keep."""
        checks = []
        if self.target is not None and self.ratio is not None:
            checks.append(self.ratio >= self.target)
        if self.limit is not None:
            checks.append(self.ours <= self.limit)
        return all(checks) if checks else None

    def as_dict(self) -> dict[str, Any]:
        """Return it for the JSON report; `from_dict` is the way back."""
        return {
            "row": self.row,
            "peer": self.peer,
            "ratio": self.ratio,
            "ratios": list(self.ratios),
            "target": self.target,
            "limit": self.limit,
            "is_met": self.is_met,
            "ours": self.ours,
            "theirs": self.theirs,
            "unit": self.unit,
            "less_is_better": self.less_is_better,
            "foreign": self.foreign,
            "medians": self.extras,
            "details": self.details,
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Result:
        """Return what `as_dict` wrote."""
        return cls(
            row["row"],
            row["unit"],
            row["peer"],
            row["ours"],
            row["theirs"],
            tuple(row["ratios"]),
            row["target"],
            row["limit"],
            row["foreign"],
            row["less_is_better"],
            row["medians"],
            row["details"],
        )


def compare(ours: float, theirs: float, *, less_is_better: bool) -> float | None:
    """Return how many times better ours is; None where a figure is not positive."""
    if ours <= 0 or theirs <= 0:
        return None
    return theirs / ours if less_is_better else ours / theirs


def summarize(
    rounds: Sequence[Round],
    key: str,
    *,
    row: str,
    unit: str,
    peer: str | None,
    target: float | None,
    limit: float | None,
    less_is_better: bool,
    details: Mapping[str, str] | None = None,
) -> Result:
    """Return the row of one figure; each round's ratio is of that round alone."""
    ours = [one.figures[OURS][key] for one in rounds]
    theirs = [one.figures[peer][key] for one in rounds] if peer else []
    ratios = [
        compare(a, b, less_is_better=less_is_better)
        for a, b in zip(ours, theirs, strict=bool(peer))
    ]
    return Result(
        row,
        unit,
        peer,
        statistics.median(ours),
        statistics.median(theirs) if theirs else None,
        tuple(sorted(ratio for ratio in ratios if ratio is not None)),
        target,
        limit,
        _greatest(rounds),
        less_is_better,
        _medians(rounds),
        dict(details or {}),
    )


def _greatest(rounds: Sequence[Round]) -> float | None:
    shares = [s for one in rounds for s in one.foreign.values() if s is not None]
    return max(shares, default=None)


def _medians(rounds: Sequence[Round]) -> dict[str, dict[str, float]]:
    return {
        server: {
            key: statistics.median(one.figures[server][key] for one in rounds)
            for key in figures
        }
        for server, figures in rounds[0].figures.items()
    }
