from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.raw_decode import RawDecode, parse_rates
from benchmarks.servers import Shape

OUTPUT = """0.00.011 I loading
{"n_kv_max": 8192, "n_threads": 1, "pp": 18, "tg": 31, "pl": 8, "speed_tg": 180.01}
{"n_kv_max": 8192, "n_threads": 1, "pp": 18, "tg": 31, "pl": 1, "speed_tg": 52.5}

llama_perf_context_print: total time = 1 ms
"""


def bench(tmp_path: Path, script: str) -> RawDecode:
    binary = tmp_path / "llama-batched-bench"
    binary.write_text(f"#!/bin/sh\n{script}\n")
    binary.chmod(0o755)
    return RawDecode(Shape(Path("m.gguf"), 2, 8, 8192), binary)


def test_rates_are_found_between_other_output():
    assert parse_rates(OUTPUT) == {8: 180.01, 1: 52.5}


def test_output_without_figures_has_no_rates():
    assert parse_rates("error: unable to load model\n") == {}


def test_the_command_has_the_servers_threads_and_context_but_no_slots(tmp_path):
    command = bench(tmp_path, "").command(18, 192, 8)
    text = " ".join(command)
    assert "-m m.gguf -c 8192 -t 2 -tb 2 -npp 18 -ntg 191 -npl 8" in text
    assert "-np" not in command


def test_the_rate_is_that_of_the_sequences_asked_for(tmp_path):
    raw = bench(tmp_path, f"cat <<'X'\n{OUTPUT}X")
    assert raw.rate(18, 32, 8) == 180.01


@pytest.mark.parametrize("script", ["echo no such model; exit 1", "echo fine"])
def test_a_run_without_a_rate_is_an_error_with_its_output(tmp_path, script):
    with pytest.raises(RuntimeError, match=r"no such model|fine"):
        bench(tmp_path, script).rate(18, 32, 8)
