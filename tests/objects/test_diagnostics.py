"""`llamactypes doctor` explains an installation, the broken one above all."""

from __future__ import annotations

import pytest

from llamactypes.bindings._candidates import Verdict
from llamactypes.cpus import cgroup_cpu_quota
from llamactypes.diagnostics import diagnose, report
from tests.support.fake_library import FakeLlama
from tests.support.loading import run_python

_REPORT = (
    "import sys; from llamactypes.diagnostics import diagnose, report\n"
    "print(report(*sys.argv[1:])); print('usable', diagnose(*sys.argv[1:]).is_usable)"
)


def test_diagnose_finds_a_library_a_device_and_its_place():
    found = diagnose()
    assert found.is_usable
    assert found.library is not None
    assert Verdict.TAKEN in {candidate.verdict for candidate in found.candidates}
    assert {device.kind for device in found.devices} >= {"cpu"}
    assert all(device.memory_total_bytes > 0 for device in found.devices)
    assert found.threads.cpu_count >= found.threads.usable >= 1


def test_report_names_library_devices_threads_and_versions():
    found, text = diagnose(), report()
    assert found.library is not None
    for part in (
        str(found.library.path),
        f"C layout {found.library.abi}",
        f"Python {found.versions['Python']}",
        f"numpy {found.versions['numpy']}",
        f"ggml {found.library.ggml_version}",
        f"{found.threads.usable} usable",
        "GiB free",
    ):
        assert part in text


def test_report_tells_why_a_backend_was_left_out():
    found, text = diagnose(), report()
    if not found.skipped:
        pytest.skip("every backend of this library is in use")
    for skipped in found.skipped:
        assert skipped.file.name in text


def test_report_explains_a_refused_library_and_does_not_raise(tmp_path):
    library = FakeLlama(context=b"\xff" * 168).build(tmp_path / "libllama.so")
    ended = run_python(_REPORT, str(library))
    assert ended.returncode == 0, ended
    for part in (f"refused   argument: {library}", "n_ctx (offset 0)", "usable False"):
        assert part in ended.stdout


def test_report_shows_how_our_own_build_was_made(tmp_path):
    library = diagnose().library
    assert library is not None
    for file in library.directory.iterdir():
        (tmp_path / file.name).symlink_to(file)
    for folder in library.backend_directories:
        if folder != library.directory:
            for file in folder.glob("libggml-*"):
                (tmp_path / file.name).symlink_to(file)
    info = tmp_path / "build_info.json"
    info.unlink(missing_ok=True)
    info.write_text('{"build": "b11549", "compiler": "cc 12", "files": {}}')
    ended = run_python(_REPORT, str(tmp_path))
    assert "built: build b11549, compiler cc 12" in ended.stdout, ended


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({}, None),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu.max": "150000 100000"}, 1.5),
        ({"cpu.max": "400000 100000", "job/cpu.max": "200000 100000"}, 2.0),
        ({"cpu.max": "100000 100000", "job/cpu.max": "max 100000"}, 1.0),
        ({"cpu.max": "nonsense"}, None),
        (
            {"cpu/cpu.cfs_quota_us": "300000", "cpu/cpu.cfs_period_us": "100000"},
            3.0,
        ),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
    ],
)
def test_cgroup_cpu_quota_is_the_tightest_limit(tmp_path, files, quota):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    own = tmp_path / "own"
    own.write_text("0::/job\n")
    assert cgroup_cpu_quota(tmp_path, own) == quota


def test_cgroup_cpu_quota_is_unlimited_where_there_are_no_groups(tmp_path):
    assert cgroup_cpu_quota(tmp_path, tmp_path / "nothing") is None
