"""The layout is recognised by fingerprint, and a stranger is refused unharmed."""

from __future__ import annotations

import ctypes
import dataclasses

import pytest

from llamactypes.bindings import _abi, structs
from llamactypes.bindings._open import open_library
from llamactypes.errors import AbiMismatch
from tests.support.fake_library import (
    REQUIRED,
    FakeLlama,
    compile_library,
    context_defaults,
    model_defaults,
)
from tests.support.loading import load_in_process

needs_measured_size = pytest.mark.skipif(
    not _abi.is_x86_64(), reason="sizes are measured on x86-64 only"
)


def identify(path):
    library = open_library(str(path))
    return _abi.identify(str(path), library.symbol, REQUIRED)


def refusal(path):
    with pytest.raises(AbiMismatch) as caught:
        identify(path)
    return str(caught.value)


@pytest.mark.parametrize("size", [168, 160])
def test_identify_tells_the_two_context_layouts_apart(tmp_path, size):
    library = FakeLlama(context=context_defaults(size)).build(tmp_path / "libllama.so")
    assert identify(library).layout.name == str(size)


def test_every_layout_has_a_declared_structure_of_its_size():
    for layout in _abi.LAYOUTS:
        declared = structs.CONTEXT_LAYOUTS[layout.name]
        sizes = {probe.name: probe.size for probe in layout.structs}
        assert sizes["llama_context_params"] == ctypes.sizeof(declared)
        assert sizes["llama_model_params"] == ctypes.sizeof(structs.llama_model_params)
        assert sizes["llama_batch"] == ctypes.sizeof(structs.llama_batch)


@pytest.mark.parametrize("layout", _abi.LAYOUTS, ids=lambda layout: layout.name)
def test_probed_defaults_stand_where_the_declared_fields_are(layout):
    declared = {
        "llama_context_params": structs.CONTEXT_LAYOUTS[layout.name],
        "llama_model_params": structs.llama_model_params,
        "llama_batch": structs.llama_batch,
    }
    for probe in layout.structs:
        for default in probe.defaults:
            first = default.name.partition(" ")[0]
            assert getattr(declared[probe.name], first).offset == default.offset


@needs_measured_size
def test_identify_refuses_shorter_model_params(tmp_path):
    fake = FakeLlama(model=model_defaults(72))
    message = refusal(fake.build(tmp_path / "libllama.so"))
    assert "llama_model_params has 72 bytes, 80 expected" in message


@needs_measured_size
def test_identify_names_all_known_context_sizes_when_none_fits(tmp_path):
    fake = FakeLlama(context=context_defaults(176))
    message = refusal(fake.build(tmp_path / "libllama.so"))
    assert "llama_context_params has 176 bytes, 168 or 160 expected" in message


def test_identify_refuses_fields_moved_within_the_same_size(tmp_path):
    fake = FakeLlama(context=context_defaults(168, switches_at=128))
    message = refusal(fake.build(tmp_path / "libllama.so"))
    assert "llama_context_params.embeddings … kv_unified (offset 136)" in message


def test_identify_refuses_garbage_and_names_path_and_ways_out(tmp_path):
    path = FakeLlama(context=b"\xff" * 168).build(tmp_path / "libllama.so")
    message = refusal(path)
    assert str(path) in message
    for text in ("n_ctx (offset 0) is 4294967295, 512 expected", "build_libllama.py"):
        assert text in message


def test_identify_survives_a_structure_far_larger_than_known(tmp_path):
    fake = FakeLlama(context=context_defaults(3000, switches_at=136))
    path = fake.build(tmp_path / "libllama.so")
    if _abi.is_x86_64():
        assert "llama_context_params has 3000 bytes" in refusal(path)
    else:
        assert identify(path).layout.name == "168"


def test_identify_names_missing_required_functions(tmp_path):
    fake = FakeLlama(omit=("llama_decode",))
    message = refusal(fake.build(tmp_path / "libllama.so"))
    assert "1 required functions missing: llama_decode" in message


def test_identify_refuses_a_library_of_something_else(tmp_path):
    path = compile_library(tmp_path / "libllama.so", "int answer(void) { return 42; }")
    assert "exports no llama_backend_init: not a libllama" in refusal(path)


def test_strange_multimodal_parameters_withhold_only_multimodal_functions(tmp_path):
    fake = FakeLlama(mtmd=b"\x07" * 96)
    identified = identify(fake.build(tmp_path / "libllama.so"))
    reason = identified.reason_withheld("mtmd_init_from_file")
    assert reason is not None
    assert "mtmd_context_params.use_gpu" in reason
    assert identified.reason_withheld("llama_decode") is None


def test_next_build_is_one_more_entry(tmp_path, monkeypatch):
    path = FakeLlama(context=context_defaults(176)).build(tmp_path / "libllama.so")
    newest = _abi.LAYOUTS[0]
    entry = dataclasses.replace(
        newest,
        name="176",
        structs=(newest.structs[0], _abi.context_probe(176, 144), newest.structs[2]),
    )
    monkeypatch.setattr(_abi, "LAYOUTS", (entry, *_abi.LAYOUTS))
    assert identify(path).layout.name == "176"


def test_load_of_garbage_ends_with_a_message_not_a_signal(tmp_path):
    path = FakeLlama(context=b"\xa7" * 168).build(tmp_path / "libllama.so")
    ended = load_in_process(path)
    assert ended.returncode == 1, ended
    assert "AbiMismatch" in ended.stderr
