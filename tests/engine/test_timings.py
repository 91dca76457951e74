from __future__ import annotations

import math

import pytest

from llamactypes.engine.measures.timings import Timings


@pytest.mark.parametrize(
    "timings", [Timings(), Timings(predicted_n=1, predicted_ms=0.001), Timings(5, 0)]
)
def test_timings_are_finite_always(timings):
    assert all(math.isfinite(value) for value in timings.as_dict().values())


def test_generation_rate_excludes_the_first_token():
    values = Timings(0, 10, 100.0, 5, 40.0).as_dict()
    assert values["predicted_per_second"] == pytest.approx(100.0)
    assert values["predicted_per_token_ms"] == pytest.approx(10.0)
    assert values["prompt_per_second"] == pytest.approx(100.0)
