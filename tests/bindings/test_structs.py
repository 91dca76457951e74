"""Structures, handles and layouts as Python sees them."""

from __future__ import annotations

import ctypes
import inspect

import pytest

from llamactypes import bindings as C  # noqa: N812
from llamactypes.bindings import structs, types

STRUCTURES = [
    kind
    for name in (*structs.__all__, *types.__all__)
    if isinstance(kind := getattr(C, name), type)
    and issubclass(kind, (ctypes.Structure, ctypes.Union))
]
HANDLES = [
    kind
    for name in types.__all__
    if isinstance(kind := getattr(C, name), type)
    and issubclass(kind, C.Handle)
    and kind is not C.Handle
]


@pytest.mark.parametrize("kind", STRUCTURES, ids=lambda kind: kind.__name__)
def test_misspelt_field_raises(kind):
    with pytest.raises(AttributeError):
        kind().no_such_field = 1


def test_every_annotated_field_exists():
    for kind in STRUCTURES:
        for name in inspect.get_annotations(kind):
            assert hasattr(kind, name), f"{kind.__name__}.{name}"


@pytest.mark.parametrize("kind", HANDLES, ids=lambda kind: kind.__name__)
def test_null_handle_is_falsy(kind):
    assert not kind()
    assert kind().address == 0


def test_handle_types_are_distinct():
    targets = [kind._type_ for kind in HANDLES]
    assert len(set(targets)) == len(HANDLES)


def test_equal_handles_have_equal_addresses():
    target = C.llama_vocab()
    first, second = C.llama_vocab_p(target), C.llama_vocab_p(target)
    assert first
    assert first.address == second.address == ctypes.addressof(target)


@pytest.mark.parametrize("wrong", [C.llama_vocab_p(), 5, b"text", ctypes.c_void_p()])
def test_handle_field_rejects_other_types(wrong):
    with pytest.raises(TypeError):
        C.llama_sampler_seq_config().sampler = wrong


def test_handle_and_pointer_fields_take_none():
    params = C.llama_model_params()
    params.devices = None
    context = C.llama_context_params()
    context.ctx_other = None
    assert not params.devices
    assert not context.ctx_other


@pytest.mark.parametrize(("layout", "kind"), structs.CONTEXT_LAYOUTS.items())
def test_layout_is_named_by_its_size(layout, kind):
    assert ctypes.sizeof(kind) == int(layout)


def test_layouts_share_names_and_order_of_fields():
    new = [name for name, *_ in C.llama_context_params._fields_]
    old = [name for name, *_ in C.llama_context_params_160._fields_]
    assert [name for name in new if name != "moe_cache_size"] == old
    assert C.llama_context_params.moe_cache_size.offset == 112


def test_key_value_override_shares_one_value():
    override = C.llama_model_kv_override(tag=C.LLAMA_KV_OVERRIDE_TYPE_FLOAT)
    override.val_f64 = 1.0
    assert override.val_i64 == 0x3FF0000000000000
    override.key = b"k" * 127
    assert override.key == b"k" * 127


@pytest.mark.parametrize(("kind", "returned"), structs.GROWING_RETURNS.items())
def test_growing_result_begins_with_the_known_fields(kind, returned):
    assert issubclass(returned, kind)
    assert ctypes.sizeof(returned) == ctypes.sizeof(kind) + 128


def test_larger_result_of_a_newer_library_stays_inside_the_buffer():
    """A newer ``llama_perf_context_data`` is 56 bytes; ours receives it unharmed."""

    class Newer(C.llama_perf_context_data):
        __slots__ = ()
        _fields_ = (("n_reallocs_same", ctypes.c_int32), ("n_reallocs", ctypes.c_int32))

    room = C.llama_perf_context_data_returned()
    newer = Newer(n_eval=7, n_reallocs=9)
    ctypes.memmove(ctypes.byref(room), ctypes.byref(newer), ctypes.sizeof(newer))
    assert ctypes.sizeof(newer) == 56
    assert room.n_eval == 7
    assert not any(room.reserved[8:])


def test_python_sampler_functions_can_be_made_from_the_table():
    seen: list[int] = []
    kinds = {name: kind for name, kind, *_ in C.llama_sampler_i._fields_}
    accept = kinds["accept"](lambda _sampler, token: seen.append(token))
    interface = C.llama_sampler_i(accept=accept)
    interface.accept(None, 42)
    assert seen == [42]
