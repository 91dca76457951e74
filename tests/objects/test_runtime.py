from __future__ import annotations

import re
import subprocess
import sys

import pytest

from llamactypes import LibraryError, cpus, devices, runtime
from tests.support.loading import run_python
from tests.support.models import ROOT


def test_the_cpu_is_a_device_with_memory() -> None:
    cpu = next(device for device in devices() if device.kind == "cpu")
    assert cpu.name
    assert cpu.description
    assert 0 < cpu.memory_free_bytes <= cpu.memory_total_bytes


def test_starting_twice_is_one_start_and_another_library_is_refused(
    tmp_path: object,
) -> None:
    runtime.start_backend()
    runtime.start_backend()
    assert runtime.backend_is_started()
    with pytest.raises(LibraryError):
        runtime.start_backend(str(tmp_path))


def test_build_info_is_spelled_as_llama_server_s() -> None:
    assert re.fullmatch(r"b\d+(-\S+)?", runtime.build_info())


def test_system_info_names_cpu_features() -> None:
    assert "CPU" in runtime.system_info()
    assert runtime.supports_gpu_offload() in (True, False)


def test_default_threads_leave_a_core_free() -> None:
    usable = cpus.usable_cpus()
    assert 1 <= cpus.default_thread_count() <= max(1, usable - 1)


def test_importing_the_package_loads_no_native_code() -> None:
    program = (
        "import sys, llamactypes\n"
        "from llamactypes import *\n"
        "from llamactypes import bindings\n"
        "from llamactypes.bindings import _loader\n"
        "assert _loader.loaded() is None\n"
        "assert 'libllama' not in open('/proc/self/maps').read()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_bare_import_is_light() -> None:
    program = (
        "import sys, llamactypes, llamactypes.sampling_params\n"
        "assert not {'numpy', 'ctypes'} & set(sys.modules), 'heavy import'\n"
        "assert llamactypes.Model is not None and 'Model' in dir(llamactypes)\n"
        "missing = [n for n in llamactypes.__all__ if not hasattr(llamactypes, n)]\n"
        "assert not missing, missing\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


_NUMA = """
import sys
from llamactypes import runtime
from llamactypes.errors import LibraryError
runtime.use_numa("distribute")
runtime.use_numa("distribute")
for strategy in ("isolate", "mirror"):
    try:
        runtime.use_numa(strategy)
    except LibraryError as error:
        print(error)
"""


def test_numa_strategy_is_chosen_once_in_a_process() -> None:
    ended = run_python(_NUMA)
    assert "strategy isolate cannot follow distribute" in ended.stdout
    assert "'mirror' is unknown; use distribute, isolate, numactl" in ended.stdout
