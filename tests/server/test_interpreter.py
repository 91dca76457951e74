from __future__ import annotations

import sys

import pytest

from api.serving.interpreter import SWITCH_INTERVAL_S, share_fairly


@pytest.fixture
def switch_interval():
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("switch_interval")
@pytest.mark.parametrize(("before", "after"), [(5e-3, SWITCH_INTERVAL_S), (1e-4, 1e-4)])
def test_share_fairly_only_shortens_the_switch_interval(before, after):
    sys.setswitchinterval(before)
    share_fairly()
    assert sys.getswitchinterval() == pytest.approx(after, rel=0.05)
