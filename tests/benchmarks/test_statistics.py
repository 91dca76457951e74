from __future__ import annotations

import pytest

from benchmarks.statistics import percentile, slope


@pytest.mark.parametrize(("part", "value"), [(0.0, 1), (0.5, 3), (0.99, 5), (1.0, 5)])
def test_percentile_takes_a_value_that_was_measured(part, value):
    assert percentile([5, 1, 4, 2, 3], part) == value


def test_slope_is_that_of_the_best_line():
    assert slope([(0, 1), (1, 3), (2, 5)]) == pytest.approx(2)
    assert slope([(0, 1), (1, 0), (2, 1)]) == pytest.approx(0)


@pytest.mark.parametrize("points", [[], [(1, 1)], [(1, 1), (1, 5)]])
def test_slope_of_no_line_is_flat(points):
    assert slope(points) == 0.0
