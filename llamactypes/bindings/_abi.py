"""Which C layout does an opened library have? Decided before any call that could hurt.

llama.cpp re-lays its by-value structures about every month, twice in 2026 without a
change of size, and ``llama_version()`` says the same on both sides. So every structure
that crosses by value is fingerprinted: its ``*_default_params()`` writes into a buffer
far larger than any known layout, and known defaults must stand where the layout says.
On x86-64 the exact size is measured too: a structure over 16 bytes is returned through
a hidden first pointer, hence calling the function as ``f(buffer)`` with a buffer of
sentinels shows the last byte written.

A next build is one more entry in `LAYOUTS`.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from llamactypes.bindings._cpu import is_x86_64
from llamactypes.errors import AbiMismatch

SUPPORTED = "llama.cpp b10952 to b11739"
REMEDY = (
    'Ways to fix it: (1) pip install "llamactypes[cpu]" for a prebuilt library; '
    "(2) build one: python build_scripts/build_libllama.py; (3) point LLAMACTYPES_LIB "
    "or --library to a library of a supported build."
)

_ROOM = 4096
_SENTINEL = 0xA5

Lookup = Callable[[str], Any | None]


class _Oversized(ctypes.Structure):
    __slots__ = ()
    _fields_ = (("data", ctypes.c_ubyte * _ROOM),)


@dataclass(frozen=True, slots=True)
class Default:
    """A value that a fresh structure holds at `offset`; `code` is struct's."""

    name: str
    offset: int
    code: str
    value: int | float | bytes


@dataclass(frozen=True, slots=True)
class StructProbe:
    """How one by-value structure is recognised."""

    name: str
    function: str
    size: int
    defaults: tuple[Default, ...] = ()
    arguments: tuple[int | None, ...] = ()
    """Pointers and integers to call `function` with; None is NULL."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One C layout: all its probes must agree."""

    name: str
    builds: str
    structs: tuple[StructProbe, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """One way in which a library is not what a probe expects."""

    text: str
    is_size: bool = False


@dataclass(frozen=True, slots=True)
class Identified:
    """The layout of a library, and the functions of it that must not be called."""

    layout: Layout
    withheld: Mapping[str, str] = field(default_factory=dict)
    """Name prefix → why: a side structure has another layout than the declared."""

    def reason_withheld(self, name: str) -> str | None:
        """Return why function `name` must not be called, None when it may."""
        for prefix, reason in self.withheld.items():
            if name.startswith(prefix):
                return reason
        return None


_MODEL = StructProbe(
    "llama_model_params",
    "llama_model_default_params",
    80,
    (
        Default("n_gpu_layers", 16, "<i", -1),
        Default("split_mode", 20, "<i", 1),
        Default("load_mode", 24, "<i", -1),
        Default("lazy_mode", 28, "<i", 1),
        Default("main_gpu", 32, "<i", 0),
        Default("vocab_only … load_mtp", 72, "6s", b"\0\0\1\0\0\0"),
    ),
)
_CONTEXT_HEAD = (
    Default("n_ctx", 0, "<I", 512),
    Default("n_batch", 4, "<I", 2048),
    Default("n_ubatch", 8, "<I", 512),
    Default("n_seq_max", 12, "<I", 1),
    Default("n_outputs_max_per_seq", 24, "<I", 1),
    Default("n_threads", 28, "<i", 4),
    Default("n_threads_batch", 32, "<i", 4),
    Default("rope_scaling_type", 40, "<i", -1),
    Default("flash_attn_type", 52, "<i", -1),
    Default("yarn_ext_factor", 64, "<f", -1.0),
    Default("defrag_thold", 84, "<f", -1.0),
    Default("type_k", 104, "<i", 1),
    Default("type_v", 108, "<i", 1),
)
_SWITCHES = b"\0\1\1\1\1\0"
_BATCH = StructProbe(
    "llama_batch",
    "llama_batch_get_one",
    56,
    (
        Default("n_tokens", 0, "<i", 7),
        Default("token", 8, "<Q", 0x1000),
        Default("embd … logits", 16, "40s", bytes(40)),
    ),
    (0x1000, 7),  # the function only copies its arguments
)


def context_probe(size: int, switches_at: int) -> StructProbe:
    """Return the probe of a context layout whose switches start at `switches_at`."""
    switches = Default("embeddings … kv_unified", switches_at, "6s", _SWITCHES)
    return StructProbe(
        "llama_context_params",
        "llama_context_default_params",
        size,
        (*_CONTEXT_HEAD, switches),
    )


LAYOUTS = (
    Layout("168", "b11549 to b11739", (_MODEL, context_probe(168, 136), _BATCH)),
    Layout("160", "b10952 to b11434", (_MODEL, context_probe(160, 128), _BATCH)),
)

# Structures beside the main path: a stranger withholds its functions, nothing else.
SIDE_STRUCTS: tuple[tuple[StructProbe, tuple[str, ...]], ...] = (
    (
        StructProbe(
            "llama_model_quantize_params",
            "llama_model_quantize_default_params",
            64,
            (Default("allow_requantize … dry_run", 16, "6s", b"\0\1\0\0\0\0"),),
        ),
        ("llama_model_quantize",),
    ),
    (
        StructProbe(
            "mtmd_context_params",
            "mtmd_context_params_default",
            96,
            (
                Default("use_gpu", 0, "<B", 1),
                Default("print_timings", 16, "<B", 1),
                Default("n_threads", 20, "<i", 4),
                Default("flash_attn_type", 40, "<i", -1),
                Default("warmup", 44, "<B", 1),
                Default("image_min_tokens", 48, "<i", -1),
                Default("batch_max_tokens", 72, "<i", 1024),
            ),
        ),
        ("mtmd_",),
    ),
    (
        StructProbe("mtmd_helper_init_opt", "mtmd_helper_init_opt_default", 24),
        ("mtmd_helper_bitmap_init_from_", "mtmd_helper_init_opt_default"),
    ),
)


def identify(path: str, lookup: Lookup, required: Iterable[str]) -> Identified:
    """Return the layout of the library at `path`.

    Args:
        path: Named in the messages.
        lookup: Gives a fresh ctypes function by name, None when not exported.
        required: Functions without which the bindings make no sense.

    Raises:
        AbiMismatch: Functions are missing or no known layout fits.
    """
    if lookup("llama_backend_init") is None:
        raise _mismatch(path, "it exports no llama_backend_init: not a libllama")
    differences = {layout: _differences(layout, lookup) for layout in LAYOUTS}
    layout = min(differences, key=lambda entry: _distance(differences[entry]))
    if differences[layout]:
        raise _mismatch(path, _in_words(differences[layout]))
    missing = [name for name in required if lookup(name) is None]
    if missing:
        shown = ", ".join(missing[:5]) + (" …" if len(missing) > 5 else "")
        raise _mismatch(path, f"{len(missing)} required functions missing: {shown}")
    return Identified(layout, _withheld(lookup))


def _mismatch(path: str, difference: str) -> AbiMismatch:
    return AbiMismatch(
        f"{path} is not a library that llamactypes can call: {difference}. "
        f"Supported: {SUPPORTED}. {REMEDY}"
    )


def _differences(layout: Layout, lookup: Lookup) -> list[Difference]:
    return [
        difference
        for probe in layout.structs
        for difference in compare(probe, lookup, _known_sizes(probe.name))
    ]


def _distance(differences: list[Difference]) -> tuple[int, int]:
    """Rank layouts for the message: the one whose sizes fit is the nearest."""
    return sum(each.is_size for each in differences), len(differences)


def _in_words(differences: list[Difference]) -> str:
    shown = "; ".join(each.text for each in differences[:4])
    more = len(differences) - 4
    return f"{shown}; {more} more differences" if more > 0 else shown


def _known_sizes(name: str) -> tuple[int, ...]:
    probes = [probe for layout in LAYOUTS for probe in layout.structs]
    return tuple(dict.fromkeys(p.size for p in probes if p.name == name))


def _withheld(lookup: Lookup) -> dict[str, str]:
    withheld = {}
    for probe, prefixes in SIDE_STRUCTS:
        if lookup(probe.function) is None:
            continue
        differences = compare(probe, lookup)
        if not probe.defaults and not is_x86_64():
            text = f"the size of {probe.name} cannot be measured here"
            differences.append(Difference(text))
        if differences:
            withheld.update(dict.fromkeys(prefixes, _in_words(differences)))
    return withheld


def compare(
    probe: StructProbe, lookup: Lookup, known_sizes: tuple[int, ...] = ()
) -> list[Difference]:
    """Return what differs from `probe`; nothing when the layout fits.

    `known_sizes` are all that some layout would accept, for the message alone.
    """
    function = lookup(probe.function)
    if function is None:
        return [Difference(f"{probe.function} is not exported")]
    size = _written_size(function, probe.arguments) if is_x86_64() else probe.size
    # Compilers may leave the padding at the end unwritten.
    if (size + 7) // 8 * 8 != probe.size:
        expected = " or ".join(map(str, known_sizes or (probe.size,)))
        text = f"{probe.name} has {size} bytes, {expected} expected"
        return [Difference(text, is_size=True)]
    data = _returned_bytes(function, probe.arguments)
    differences = []
    for default in probe.defaults:
        found = struct.unpack_from(default.code, data, default.offset)[0]
        if found != default.value:
            text = (
                f"{probe.name}.{default.name} (offset {default.offset}) is {found!r}, "
                f"{default.value!r} expected"
            )
            differences.append(Difference(text))
    return differences


def _returned_bytes(function: Any, arguments: tuple[int | None, ...]) -> bytes:
    prototype = ctypes.CFUNCTYPE(_Oversized, *map(_c_type, arguments))
    return bytes(prototype(_address(function))(*arguments).data)


def _written_size(function: Any, arguments: tuple[int | None, ...]) -> int:
    """Return how many bytes the callee writes through the hidden pointer (x86-64)."""
    prototype = ctypes.CFUNCTYPE(
        ctypes.c_void_p, ctypes.c_void_p, *map(_c_type, arguments)
    )
    buffer = (ctypes.c_ubyte * _ROOM)(*[_SENTINEL] * _ROOM)
    prototype(_address(function))(ctypes.addressof(buffer), *arguments)
    return len(bytes(buffer).rstrip(bytes([_SENTINEL])))


def _c_type(argument: int | None) -> type[ctypes.c_void_p]:
    return ctypes.c_void_p  # 64-bit registers hold the 32-bit integers too


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
