"""The proofs of ``check_abi.py``: each returns what is wrong, in words."""

from __future__ import annotations

import ctypes
import inspect
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from abi_headers import CField, CHeaders, HeaderSet, compiler
from abi_types import SCALARS, TypeMap, split_parameters

__all__ = ("Declared", "declared_by_bindings", "prove")


@dataclass(slots=True)
class Declared:
    """What is to be proved, normally what ``declared_by_bindings`` returns."""

    functions: dict[str, Any]
    """``Declaration`` objects by name, in the order of declaration."""
    classes: dict[str, Any]
    """Structures, handles and callback types by name."""
    constants: dict[str, int]
    omitted: dict[str, str] = field(default_factory=dict)
    partial: dict[str, str] = field(default_factory=dict)
    context_layouts: dict[str, Any] = field(default_factory=dict)
    growing_returns: dict[Any, Any] = field(default_factory=dict)


def declared_by_bindings() -> Declared:
    """Return the declarations of ``llamactypes.bindings``."""
    from llamactypes import bindings
    from llamactypes.bindings import enums, omitted, structs, types

    names = (*types.__all__, *structs.__all__)
    kinds = {name: getattr(bindings, name) for name in names}
    return Declared(
        functions=dict(bindings.REGISTRY),
        classes={name: kind for name, kind in kinds.items() if isinstance(kind, type)},
        constants={name: getattr(enums, name) for name in enums.__all__},
        omitted=omitted.OMITTED,
        partial=omitted.PARTIAL_HEADERS,
        context_layouts=structs.CONTEXT_LAYOUTS,
        growing_returns=structs.GROWING_RETURNS,
    )


def prove(
    headers: HeaderSet,
    found: CHeaders,
    declared: Declared,
    *,
    context_layout: str = "168",
) -> list[str]:
    """Return every difference between `declared` and the headers; empty when proved.

    With another `context_layout` the headers are older than the pin: what they lack is
    not proved, but then it must be optional.
    """
    older = context_layout != "168"
    classes = dict(declared.classes)
    if declared.context_layouts:
        classes["llama_context_params"] = declared.context_layouts[context_layout]
    types = TypeMap(found, classes)
    problems = [
        *_functions(found, declared, TypeMap(found, declared.classes), older=older),
        *_structures(found, classes, types),
        *_callbacks(found, classes, types),
        *_assertions(headers, found, declared, classes, older=older),
    ]
    if not older:
        problems += [*_coverage(headers, found, declared), *_order(found, declared)]
        problems += _growth(declared)
    return problems


# -- functions ---------------------------------------------------------------------


def _functions(
    found: CHeaders, declared: Declared, types: TypeMap, *, older: bool
) -> Iterator[str]:
    for name, declaration in declared.functions.items():
        function = found.functions.get(name)
        if function is None:
            if not (older and declaration.optional):
                yield f"{name}: no header declares it"
            continue
        if not declaration.doc.strip():
            yield f"{name}: has no docstring"
        if function.deprecated:
            yield f"{name}: deprecated in {function.header}; do not declare it"
        if declaration.prototype != function.prototype:
            yield (
                f"{name}: prototype differs from {function.header}\n"
                f"  declared: {declaration.prototype}\n"
                f"  header:   {function.prototype}"
            )
        else:
            yield from _signature(declaration, declared, types)


def _signature(declaration: Any, declared: Declared, types: TypeMap) -> Iterator[str]:
    """Compare argtypes, restype and the Python parameters with the prototype."""
    name = declaration.name
    before, _, after = declaration.prototype.partition(f"{name}(")
    parameters = split_parameters(after.removesuffix(")"))
    if len(parameters) != len(declaration.argtypes):
        yield (
            f"{name}: {len(declaration.argtypes)} argtypes for "
            f"{len(parameters)} parameters"
        )
        return
    for given, (ctype, parameter) in zip(declaration.argtypes, parameters, strict=True):
        if given not in types.accepted(ctype):
            yield f"{name}: argtype of `{parameter}` ({ctype}) is {_say(given)}"
    accepted = types.accepted(before.strip())
    accepted = [declared.growing_returns.get(kind, kind) for kind in accepted]
    if declaration.restype not in accepted:
        yield f"{name}: restype of {before.strip()} is {_say(declaration.restype)}"
    python = [
        n.rstrip("_") for n in inspect.signature(declaration.signature).parameters
    ]
    if python != [parameter for _, parameter in parameters]:
        yield f"{name}: the Python parameters are {python}, not the header's"


def _say(kind: Any) -> str:
    return "None" if kind is None else getattr(kind, "__name__", str(kind))


def _order(found: CHeaders, declared: Declared) -> Iterator[str]:
    """Declarations of one header in one module follow the header."""
    rank = {name: place for place, name in enumerate(found.functions)}
    last: dict[tuple[str, str], str] = {}
    for name, declaration in declared.functions.items():
        if name not in rank:
            continue
        key = (declaration.module, found.functions[name].header)
        before = last.get(key)
        if before is not None and rank[before] > rank[name]:
            yield f"{name}: declared after {before}, which {key[1]} has later"
        last[key] = name


# -- structures and callbacks ------------------------------------------------------


def _structures(
    found: CHeaders, classes: dict[str, Any], types: TypeMap
) -> Iterator[str]:
    for name, fields in found.structs.items():
        kind = classes.get(name)
        if kind is not None and hasattr(kind, "_fields_"):
            yield from _fields(name, fields, kind, types)


def _fields(
    name: str, fields: tuple[CField, ...], kind: Any, types: TypeMap
) -> Iterator[str]:
    if kind.__dict__.get("__slots__") != ():
        yield f"{name}: has no `__slots__ = ()`, so a misspelt field is ignored"
    given = list(kind._fields_)
    if len(given) != len(fields):
        yield f"{name}: {len(given)} fields declared, the header has {len(fields)}"
        return
    for (field_name, field_type, *_), expected in zip(given, fields, strict=True):
        where = f"{name}.{expected.name or field_name}"
        if expected.name and field_name.rstrip("_") != expected.name:
            yield f"{where}: declared as `{field_name}`"
        elif expected.parts:
            yield from _fields(where, expected.parts, field_type, types)
        elif not _field_type_fits(expected.ctype, field_type, types):
            yield f"{where}: type of {expected.ctype} is {_say(field_type)}"


def _field_type_fits(ctype: str, given: Any, types: TypeMap) -> bool:
    if ctype.endswith(")"):
        return types.matches_callback(given, ctype)
    kind, *dimensions = re.findall(r"[^\[\]]+", ctype)
    for dimension in dimensions:
        if getattr(given, "_length_", None) != int(dimension):
            return False
        given = given._type_
    return given in types.accepted(kind.strip())


def _callbacks(
    found: CHeaders, classes: dict[str, Any], types: TypeMap
) -> Iterator[str]:
    for name, signature in found.callbacks.items():
        kind = classes.get(name)
        if kind is not None and not types.matches_callback(kind, signature):
            yield f"{name}: is not the function type {signature}"


def _growth(declared: Declared) -> Iterator[str]:
    """Spare room behind a result is safe only when C returns it in memory."""
    for kind, returned in declared.growing_returns.items():
        if ctypes.sizeof(kind) <= 16:
            yield f"{kind.__name__}: comes back in registers; it must not be enlarged"
        if not issubclass(returned, kind):
            yield f"{returned.__name__}: does not begin with {kind.__name__}"


# -- coverage ----------------------------------------------------------------------


def _coverage(headers: HeaderSet, found: CHeaders, declared: Declared) -> Iterator[str]:
    complete = headers.complete
    for function in found.functions.values():
        known = function.name in declared.functions or function.name in declared.omitted
        if function.header in complete and not function.deprecated and not known:
            yield f"{function.name}: in {function.header}, not declared and not omitted"
    for name in declared.omitted:
        if name not in found.functions:
            yield f"{name}: omitted, but no header has it"
        if name in declared.functions:
            yield f"{name}: declared and omitted"
    for name in (*found.structs, *found.callbacks):
        if found.header_of[name] in complete and name not in declared.classes:
            yield f"{name}: in {found.header_of[name]}, not declared"
    for name in found.macros:
        if found.header_of[name] in complete and name not in declared.constants:
            yield f"{name}: #define in {found.header_of[name]}, not declared"
    yield from _enum_coverage(complete, found, declared)


def _enum_coverage(
    complete: tuple[str, ...], found: CHeaders, declared: Declared
) -> Iterator[str]:
    for enum, names in found.enums.items():
        missing = [name for name in names if name not in declared.constants]
        begun = len(missing) < len(names)
        if missing and (begun or found.header_of[enum] in complete):
            yield f"enum {enum}: not declared: {', '.join(missing)}"


# -- what the compiler says --------------------------------------------------------


def _assertions(
    headers: HeaderSet,
    found: CHeaders,
    declared: Declared,
    classes: dict[str, Any],
    *,
    older: bool,
) -> list[str]:
    """Compile the declarations after the headers; returns the compiler's objections."""
    claims = [
        *_prototype_claims(found, declared),
        *_scalar_claims(),
        *_enum_claims(found, declared),
        *_constant_claims(found, declared, older=older),
        *_layout_claims(found, classes),
    ]
    if not older and "160" in declared.context_layouts:
        claims += _derived_160_claims(found, declared.context_layouts["160"])
    return _compile(headers, claims)


Claim = tuple[str, str]
"""A line of C that compiles only when it is true, and what it says."""


def _prototype_claims(found: CHeaders, declared: Declared) -> Iterator[Claim]:
    for name, declaration in declared.functions.items():
        if name in found.functions:
            yield f"{declaration.prototype};", f"{name}: the prototype does not compile"


def _scalar_claims() -> Iterator[Claim]:
    for ctype, kind in SCALARS.items():
        size = ctypes.sizeof(kind)
        yield _assert(f"sizeof({ctype}) == {size}"), f"{ctype}: not {size} bytes"
        if kind(0).value == 0 and ctype not in ("bool", "char", "float", "double"):
            signed = int(kind(-1).value < 0)
            claim = _assert(f"(({ctype})-1 < 0) == {signed}")
            yield claim, f"{ctype}: signedness differs"


def _enum_claims(found: CHeaders, declared: Declared) -> Iterator[Claim]:
    for enum, names in found.enums.items():
        if any(name in declared.constants for name in names):
            yield _assert(f"sizeof(enum {enum}) == 4"), f"enum {enum}: not an int"


def _constant_claims(
    found: CHeaders, declared: Declared, *, older: bool
) -> Iterator[Claim]:
    known = {*found.macros, *(name for names in found.enums.values() for name in names)}
    for name, value in declared.constants.items():
        if older and (name in found.macros or name not in known):
            continue  # versions and new enumerators may differ from an older header
        yield _assert(f"(long long)({name}) == {value}LL"), f"{name}: is not {value}"


def _layout_claims(found: CHeaders, classes: dict[str, Any]) -> Iterator[Claim]:
    for name in found.structs:
        kind = classes.get(name)
        if kind is not None and hasattr(kind, "_fields_"):
            yield from _struct_claims(f"struct {name}", found.structs[name], kind)


def _struct_claims(
    ctype: str, fields: tuple[CField, ...], kind: Any
) -> Iterator[Claim]:
    size = ctypes.sizeof(kind)
    yield _assert(f"sizeof({ctype}) == {size}"), f"{ctype}: is not {size} bytes"
    yield (
        _assert(f"_Alignof({ctype}) == {ctypes.alignment(kind)}"),
        f"{ctype}: is not aligned to {ctypes.alignment(kind)}",
    )
    for path, offset, width in _places(fields, kind, "", 0):
        place = f"__builtin_offsetof({ctype}, {path}) == {offset}"
        extent = f"sizeof((({ctype} *)0)->{path}) == {width}"
        yield _assert(place), f"{ctype}.{path}: is not at offset {offset}"
        yield _assert(extent), f"{ctype}.{path}: is not {width} bytes"


def _places(
    fields: tuple[CField, ...], kind: Any, prefix: str, base: int
) -> Iterator[tuple[str, int, int]]:
    """Yield (C path, offset, size) of every field, parts of nested ones included."""
    for (name, field_type, *_), expected in zip(kind._fields_, fields, strict=False):
        place = getattr(kind, name)
        if expected.parts:
            deeper = f"{prefix}{expected.name}." if expected.name else prefix
            start = base + place.offset
            yield from _places(expected.parts, field_type, deeper, start)
        else:
            yield f"{prefix}{expected.name}", base + place.offset, place.size


def _derived_160_claims(found: CHeaders, kind: Any) -> Iterator[Claim]:
    """The 160 layout is the header's without ``moe_cache_size``, which came later."""
    fields = tuple(
        field
        for field in found.structs.get("llama_context_params", ())
        if field.name != "moe_cache_size"
    )
    body = " ".join(f"{field.ctype} {field.name};" for field in fields)
    yield f"struct derived_160 {{ {body} }};", "layout 160: cannot be derived"
    for claim, text in _struct_claims("struct derived_160", fields, kind):
        yield claim, f"layout 160: {text}"


def _assert(condition: str) -> str:
    return f'_Static_assert({condition}, "");'


def _compile(headers: HeaderSet, claims: list[Claim]) -> list[str]:
    lines = ["#include <stddef.h>", '#line 1 "claims"', *(claim for claim, _ in claims)]
    run = subprocess.run(
        [
            compiler() or "cc",
            *("-std=gnu11", "-fsyntax-only", "-Wno-deprecated-declarations"),
            *("-Werror=strict-prototypes", "-fmax-errors=0", *headers.flags),
            *("-xc", "-"),
        ],
        input=headers.include_lines + "\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    wrong = {int(n) for n in re.findall(r"^claims:(\d+):\d+: error", run.stderr, re.M)}
    problems = [claims[number - 1][1] for number in sorted(wrong)]
    if run.returncode and not problems:
        problems = [f"the headers do not compile:\n{run.stderr}"]
    return problems
