from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.client import completion
from benchmarks.peers import Peer
from benchmarks.raw_decode import RawDecode
from benchmarks.scenario import measure
from benchmarks.scenarios import scenarios
from benchmarks.servers import Shape, llama_cpp_python, ours, xllamacpp
from benchmarks.xllamacpp_runner import parse

SHAPE = Shape(Path("m.gguf"), 2, 8, 8192)


def peer(name: str, *, is_llama_server: bool = False) -> Peer:
    return Peer(name, Path("/lib"), "1", lambda shape: None, is_llama_server)


def targets(name: str, *, stands_in: bool = False, is_llama_server: bool = False):
    """Return the rows that a peer is measured for → their targets."""
    one = peer(name, is_llama_server=is_llama_server)
    return {
        row.name: row.target(one)
        for scenario in scenarios()
        for row in scenario.rows_against(one, stands_in=stands_in)
    }


def test_decoding_has_the_targets_of_each_number_of_streams():
    found = targets("llama-server", is_llama_server=True)
    assert found["decode, 1 stream"] == 1.0
    assert found["decode, 8 streams"] == 1.02
    assert found["decode, 32 streams"] == 1.05


def test_bare_decoding_is_compared_without_prompts_only():
    found = targets("llama-batched-bench")
    assert len(found) == 3
    assert set(found.values()) == {0.95}


def test_the_other_python_server_is_compared_where_8_decode():
    assert targets("llama-cpp-python") == {"decode, 8 streams": 4.0}


def test_what_stands_in_for_llama_server_is_measured_like_it():
    as_server = targets("llama-server", is_llama_server=True)
    assert targets("xllamacpp", stands_in=True, is_llama_server=True) == as_server
    assert targets("xllamacpp", is_llama_server=True) == {"decode, 8 streams": 1.02}


def test_quick_scenarios_are_fewer_with_the_same_targets():
    quick = {row.name: row.targets for one in scenarios(quick=True) for row in one.rows}
    full = {row.name: row.targets for one in scenarios() for row in one.rows}
    shared = quick.keys() & full.keys()
    assert len(scenarios(quick=True)) < len(scenarios())
    assert {name: quick[name] for name in shared} == {n: full[n] for n in shared}
    assert "decode, 8 streams" in shared


def test_names_of_rows_are_unique():
    names = [row.name for one in scenarios() for row in one.rows]
    assert len(names) == len(set(names))


def test_bare_decoding_does_the_scenarios_work(tmp_path):
    raw = RawDecode(SHAPE, tmp_path)
    asked = []
    raw.rate = lambda *work: asked.append(work) or 50.0
    (scenario,) = [one for one in scenarios() if one.name == "decode, 32 streams"]
    figures = measure(raw, scenario, round=1, n_prompt=18)
    assert figures == {"decode_tokens_per_second": 50.0}
    assert asked == [(18, 96, 32)]


def test_bare_decoding_cannot_do_what_needs_a_server(tmp_path):
    (scenario,) = [one for one in scenarios() if one.name == "warm request"]
    with pytest.raises(ValueError, match="more than decoding"):
        measure(RawDecode(SHAPE, tmp_path), scenario, 1, 18)


def test_the_other_python_server_gets_no_stream_and_the_same_sampling():
    server = llama_cpp_python(SHAPE, Path("python"))
    path, body = server.adapt(completion("hello", 9, seed=3, cache_prompt=False))
    assert path == "/v1/completions"
    assert body.items() >= {"stream": False, "max_tokens": 9, "seed": 3}.items()
    assert body.items() >= {"temperature": 0.8, "repeat_penalty": 1.0}.items()
    assert not body.keys() & {"ignore_eos", "cache_prompt", "stream_options"}


def test_our_server_takes_requests_as_they_are():
    request = completion("hello", 9)
    assert ours(SHAPE, None).adapt(request) is request


def test_the_runner_of_xllamacpp_reads_the_flags_it_is_given():
    server = xllamacpp(SHAPE, Path("python"))
    options = parse(server.command[2:])
    assert (options.model, options.n_ctx, options.n_slots) == ("m.gguf", 8192, 8)
    assert (options.n_threads, options.n_threads_batch) == (2, 2)
    assert options.port == server.port
