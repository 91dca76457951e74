"""Small sums over measurements. Pure."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ("percentile", "slope")


def percentile(values: Sequence[float], part: float) -> float:
    """Return the least value that `part` (0 … 1) of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the least-squares line through (x, y) points; 0.0 for few."""
    if len(points) < 2:
        return 0.0
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    width = sum((x - mean_x) ** 2 for x, _ in points)
    if not width:
        return 0.0
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / width
