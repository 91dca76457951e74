"""How many CPUs there are, and how busy others keep them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from llamactypes import cpus
from llamactypes.cpus import CpuLoad

TICKS = os.sysconf("SC_CLK_TCK")


class Kernel:
    """A /proc/stat and the clocks beside it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = folder / "stat"
        self.now = self.own = 100.0
        self.busy_s = [10.0, 20.0, 30.0]
        monkeypatch.setattr(cpus.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(cpus.time, "process_time", lambda: self.own)
        monkeypatch.setattr(cpus, "_affinity", lambda: frozenset({0, 1}))
        self.write()

    def write(self) -> None:
        lines = ["cpu 1 2 3 4 5 6 7 8 9 0"]
        for number, busy_s in enumerate(self.busy_s):
            user, system = int(busy_s * TICKS) - 5, 5
            lines.append(f"cpu{number} {user} 0 {system} 777 888 0 0 0 0 0")
        self.path.write_text("\n".join([*lines, "intr 5 6", ""]))

    def pass_time(self, seconds: float, *busy: float, own: float = 0.0) -> None:
        self.now += seconds
        self.own += own
        self.busy_s = [a + b for a, b in zip(self.busy_s, busy, strict=True)]
        self.write()


@pytest.fixture
def kernel(tmp_path, monkeypatch) -> Kernel:
    return Kernel(tmp_path, monkeypatch)


def test_load_is_what_others_use_of_our_cpus(kernel):
    load = CpuLoad(kernel.path)
    kernel.pass_time(2.0, 2.0, 1.0, 2.0, own=1.5)
    assert load.others() == pytest.approx(0.75, abs=0.02)


def test_load_can_be_measured_anew(kernel):
    load = CpuLoad(kernel.path)
    kernel.pass_time(1.0, 1.0, 1.0, 1.0)
    load.restart()
    assert load.span_s == 0.0
    kernel.pass_time(1.0, 0.0, 0.5, 1.0)
    assert load.others() == pytest.approx(0.5, abs=0.02)


def test_load_is_unknown_after_too_short_a_time(kernel):
    load = CpuLoad(kernel.path)
    kernel.pass_time(0.04, 0.04, 0.04, 0.04)
    assert load.others() is None


@pytest.mark.parametrize("content", [None, "", "cpu0 1 x"])
def test_load_is_unknown_where_the_kernel_does_not_tell(kernel, content):
    if content is None:
        kernel.path.unlink()
    else:
        kernel.path.write_text(content)
    load = CpuLoad(kernel.path)
    kernel.now += 1.0
    assert load.others() in (None, 0.0)


def test_limit_is_the_smaller_of_affinity_and_quota(monkeypatch):
    monkeypatch.setattr(cpus, "_affinity", lambda: frozenset(range(8)))
    for quota, limit in ((None, 8), (2.5, 2), (0.5, 1), (64.0, 8)):
        monkeypatch.setattr(cpus, "cgroup_cpu_quota", lambda quota=quota: quota)
        assert cpus.cpu_limit() == limit


def test_the_processor_has_a_name():
    assert cpus.cpu_name()
    assert 1 <= cpus.physical_cores() <= cpus.usable_cpus()
