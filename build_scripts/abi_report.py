"""Write ``abi_report.md``: what the bindings declare, in numbers and lists."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator

from abi_headers import CHeaders
from abi_proofs import Declared

__all__ = ("render",)


def render(headers: CHeaders, declared: Declared) -> str:
    """Return the report; the same declarations and headers give the same text."""
    lines = [
        "# ABI report",
        "",
        "Written by `build_scripts/check_abi.py --write` after every proof succeeded;",
        "a test fails when it would change. Sizes and offsets are of a 64-bit target.",
        "",
        *_counts(headers, declared),
        *_section("Omitted functions", _reasons(declared.omitted)),
        *_section("Headers declared in part", _reasons(declared.partial)),
        *_section("Optional functions", _optional(headers, declared)),
        *_section("Structures", _structures(headers, declared)),
        *_section("Layouts of llama_context_params", _layouts(declared)),
        *_section("Results with room to grow", _growing(declared)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _section(title: str, lines: Iterable[str]) -> list[str]:
    return [f"## {title}", "", *lines, ""]


def _counts(headers: CHeaders, declared: Declared) -> Iterator[str]:
    yield "| header | functions | declared | deprecated | omitted | not needed |"
    yield "|---|--:|--:|--:|--:|--:|"
    for header in dict.fromkeys(f.header for f in headers.functions.values()):
        functions = [f for f in headers.functions.values() if f.header == header]
        bound = sum(f.name in declared.functions for f in functions)
        old = sum(f.deprecated for f in functions)
        omitted = sum(f.name in declared.omitted for f in functions)
        rest = len(functions) - bound - old - omitted
        yield f"| {header} | {len(functions)} | {bound} | {old} | {omitted} | {rest} |"
    yield ""
    optional = sum(d.optional for d in declared.functions.values())
    yield f"- functions: {len(declared.functions)}, of which {optional} are optional"
    yield f"- enumerators and constants: {len(declared.constants)}"
    callbacks = sum(name in headers.callbacks for name in declared.classes)
    yield f"- callback types: {callbacks}"
    yield f"- structures: {len(_declared_structures(headers, declared))}"
    yield ""


def _reasons(reasons: dict[str, str]) -> list[str]:
    return [f"- `{name}`: {reason}" for name, reason in reasons.items()]


def _optional(headers: CHeaders, declared: Declared) -> Iterator[str]:
    yield "A supported library may lack these; calling one then raises `SymbolMissing`."
    yield ""
    names: dict[str, list[str]] = {}
    for name, declaration in declared.functions.items():
        if declaration.optional:
            names.setdefault(headers.functions[name].header, []).append(f"`{name}`")
    for header, listed in names.items():
        yield f"- {header}: {', '.join(listed)}"


def _declared_structures(headers: CHeaders, declared: Declared) -> list[str]:
    return [
        name
        for name in headers.structs
        if hasattr(declared.classes.get(name), "_fields_")
    ]


def _structures(headers: CHeaders, declared: Declared) -> Iterator[str]:
    yield "| structure | header | bytes | fields |"
    yield "|---|---|--:|--:|"
    for name in _declared_structures(headers, declared):
        kind = declared.classes[name]
        size, fields = ctypes.sizeof(kind), len(kind._fields_)
        yield f"| {name} | {headers.header_of[name]} | {size} | {fields} |"


def _layouts(declared: Declared) -> Iterator[str]:
    yield "The pin's header proves 168. The 160 layout is compiled from that header"
    yield "without `moe_cache_size`, the one field that came in between. Where a source"
    yield "of that age is at hand (`--source-160`, or fetched before) the checker also"
    yield "proves every structure and function against it, and prints so."
    yield ""
    for layout, kind in declared.context_layouts.items():
        fields = [name for name, *_ in kind._fields_]
        places = ", ".join(f"{name} {getattr(kind, name).offset}" for name in fields)
        yield f"- {layout}: {ctypes.sizeof(kind)} bytes; offsets: {places}"


def _growing(declared: Declared) -> Iterator[str]:
    for kind, returned in declared.growing_returns.items():
        size, room = ctypes.sizeof(kind), ctypes.sizeof(returned)
        yield f"- `{kind.__name__}`: {size} bytes known, received into {room}"
