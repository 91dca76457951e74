"""Draws the ratios of a run: a dot for the median, a bar from least to greatest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchmarks.machine import headline
from benchmarks.ratios import Result

__all__ = ("draw", "ticks")

_MET, _MISSED, _FREE = "#1a7f37", "#b35900", "#3b5b92"
_TICKS = (0.1, 0.2, 0.5, 0.8, 1.0, 1.25, 2.0, 4.0, 6.0, 10.0, 20.0, 50.0)


def draw(path: Path, machine: dict[str, Any], results: Sequence[Result]) -> None:
    """Write the rows that have a ratio, the first on top, on a logarithmic axis."""
    rows = [one for one in results if one.ratio is not None]
    mpl.rcParams["svg.hashsalt"] = "llamactypes"  # the same file from the same figures
    figure = Figure(figsize=(11, 1.8 + 0.44 * max(1, len(rows))), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.axvline(1.0, color="#888888", linewidth=1, zorder=1)
    for place, result in enumerate(rows):
        _draw_row(axes, place, result)
    axes.set_yticks(range(len(rows)), [_label(one) for one in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    _scale(axes, rows)
    axes.set_xlabel("how many times better ours is (1: equal)")
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.suptitle("llamactypes beside its peers", fontweight="bold")
    axes.set_title(_wrap(headline(machine)), fontsize=7.5, color="#555555", loc="left")
    _legend(figure, axes)
    figure.savefig(path, dpi=160)


def ticks(least: float, greatest: float) -> list[float]:
    """Return the round numbers inside an axis, and one on either side if there is."""
    below = [value for value in _TICKS if value <= least][-1:]
    above = [value for value in _TICKS if value >= greatest][:1]
    return [*below, *(value for value in _TICKS if least < value < greatest), *above]


def _draw_row(axes: Any, place: int, result: Result) -> None:
    color = {True: _MET, False: _MISSED, None: _FREE}[result.is_met]
    least, greatest = result.ratios[0], result.ratios[-1]
    axes.plot([least, greatest], [place, place], color=color, linewidth=5, alpha=0.35)
    axes.plot(result.ratio, place, "o", color=color, markersize=7)
    if result.target is not None:
        axes.plot(result.target, place, "|", color="black", markersize=15, mew=1.6)
    axes.annotate(
        f"{result.ratio:.2f}",
        (1.01, place),
        xycoords=axes.get_yaxis_transform(),
        va="center",
        color=color,
    )


def _scale(axes: Any, rows: Sequence[Result]) -> None:
    values = [1.0, *(v for one in rows for v in one.ratios)]
    values += [one.target for one in rows if one.target is not None]
    least, greatest = min(values) * 0.93, max(values) * 1.07
    axes.set_xlim(least, greatest)
    shown = [tick for tick in ticks(least, greatest) if least <= tick <= greatest]
    axes.xaxis.set_major_locator(FixedLocator(shown))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _label(result: Result) -> str:
    return f"{result.row}\nto {result.peer}"


def _legend(figure: Figure, axes: Any) -> None:
    for color, text in ((_MET, "met"), (_MISSED, "not met"), (_FREE, "no target")):
        axes.plot([], [], "o", color=color, label=text)
    axes.plot([], [], "|", color="black", markersize=12, mew=1.6, label="target")
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)


def _wrap(text: str, width: int = 130) -> str:
    lines, line = [], ""
    for word in text.split(" "):
        if len(line) + len(word) > width:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return "\n".join([*lines, line])
