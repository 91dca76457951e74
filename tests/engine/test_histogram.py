from __future__ import annotations

import threading

import pytest

from llamactypes.engine.measures.histogram import Histogram


def test_histogram_counts_a_value_at_a_bound_below_it():
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.0, 2.1):
        histogram.observe(value)
    snapshot = histogram.snapshot()
    assert snapshot.counts == (2, 2, 1)
    assert snapshot.cumulative() == [2, 4, 5]
    assert snapshot.count == 5
    assert snapshot.sum == pytest.approx(7.1)


def test_histogram_adds_a_value_many_times_at_once():
    histogram = Histogram((1.0,))
    histogram.observe(0.5, 32)
    assert histogram.snapshot().counts == (32, 0)
    assert histogram.snapshot().sum == 16.0


def test_snapshot_does_not_change_with_its_histogram():
    histogram = Histogram((1.0,))
    before = histogram.snapshot()
    histogram.observe(0.5)
    assert before.count == 0


@pytest.mark.parametrize("bounds", [(2.0, 1.0), (1.0, 1.0)])
def test_bounds_that_do_not_ascend_are_refused(bounds):
    with pytest.raises(ValueError, match="ascend"):
        Histogram(bounds)


def test_snapshots_beside_a_writer_never_go_back():
    histogram = Histogram((0.25, 0.5, 0.75))
    is_done = threading.Event()

    def write() -> None:
        for i in range(20_000):
            histogram.observe(i % 4 / 4 + 0.1)
        is_done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = [0]
    while not is_done.is_set():
        snapshot = histogram.snapshot()
        assert snapshot.cumulative()[-1] == snapshot.count
        seen.append(snapshot.count)
    writer.join(5)
    assert seen == sorted(seen)
    assert histogram.snapshot().count == 20_000
