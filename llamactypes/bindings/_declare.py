"""Declare C functions next to their prototype, and bind them to a loaded library.

A declaration is a Python function whose body is only a docstring. ``@c_function``
records it in ``REGISTRY`` and puts a stub in its place. The stub loads the default
library on its first call. ``bind`` then replaces the stub, in the declaring module and
in ``llamactypes.bindings``, by the native function itself, so that a bound call has no
Python frame. Stubs that somebody imported by name keep working: they forward.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from llamactypes.bindings import structs
from llamactypes.errors import SymbolMissing

__all__ = (
    "REGISTRY",
    "Declaration",
    "Missing",
    "NativeFunction",
    "Resolver",
    "at_address",
    "bind",
    "c_function",
)

Resolver = Callable[[str, str], Any]
"""``resolver(library, name)`` returns a ctypes symbol or raises ``AttributeError``.

`library` is one of ``"llama"``, ``"ggml"``, ``"ggml-base"``, ``"mtmd"``. Where one file
holds everything, the resolver may ignore it.
"""

NativeFunction = Callable[..., Any]

_Stub = TypeVar("_Stub", bound=Callable[..., Any])

_PUBLIC_MODULE = "llamactypes.bindings"


@dataclass(slots=True)
class Declaration:
    """One C function: what the header says, and where it is bound."""

    name: str
    prototype: str
    argtypes: tuple[Any, ...]
    restype: Any
    optional: bool
    library: str
    module: str
    doc: str
    signature: Callable[..., Any]
    """The undecorated function; it has the annotations and is never called."""
    bound: NativeFunction | None = field(default=None, repr=False)
    """What a call reaches, once a library is bound."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Declared functions that a library does not export."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


REGISTRY: dict[str, Declaration] = {}
"""Every declaration by its C name, in the order of declaration."""


def c_function(
    prototype: str,
    *,
    argtypes: Sequence[Any],
    restype: Any,
    optional: bool = False,
    library: str = "llama",
) -> Callable[[_Stub], _Stub]:
    """Declare the decorated function as a C function of the same name.

    Args:
        prototype: The declaration in the header, verbatim, without the API macro and
            the semicolon. ``build_scripts/check_abi.py`` compiles it.
        argtypes: ctypes classes of the parameters.
        restype: ctypes class of the result; None for ``void``.
        optional: True when a supported library may lack the function. Calling it then
            raises ``SymbolMissing``.
        library: The file of a split build that exports it: ``"llama"``, ``"ggml"``,
            ``"ggml-base"`` or ``"mtmd"``.

    Raises:
        ValueError: The name is already declared.
    """

    def declare(function: _Stub) -> _Stub:
        name = function.__name__
        if name in REGISTRY:
            raise ValueError(f"{name} is declared twice")
        declaration = Declaration(
            name=name,
            prototype=prototype,
            argtypes=tuple(argtypes),
            restype=restype,
            optional=optional,
            library=library,
            module=function.__module__,
            doc=function.__doc__ or "",
            signature=function,
        )
        REGISTRY[name] = declaration
        return cast("_Stub", _make_stub(declaration))

    return declare


def bind(
    resolver: Resolver, context_layout: str, *, library: str = "the loaded library"
) -> Missing:
    """Bind every declaration to the symbols that `resolver` finds.

    All or nothing: when a required function is missing, nothing is bound. The caller
    holds the loader's lock.

    Args:
        resolver: See ``Resolver``. The symbol is only read for its address: nothing
            that its owner does with it later can change a bound function.
        context_layout: Key of ``structs.CONTEXT_LAYOUTS`` that the library uses.
        library: How error messages name the library, normally its path.

    Returns:
        The names that the library does not export.

    Raises:
        KeyError: `context_layout` is not a known layout.
    """
    layout = structs.CONTEXT_LAYOUTS[context_layout]
    found: dict[str, NativeFunction] = {}
    for declaration in REGISTRY.values():
        address = _address_of(resolver, declaration)
        if address is not None:
            found[declaration.name] = _native(declaration, address, layout)
    missing = _missing(found)
    if not missing.required:
        for declaration in REGISTRY.values():
            native = found.get(declaration.name)
            _publish(declaration, native or _absent(declaration, library))
    return missing


def at_address(name: str, address: int, context_layout: str = "168") -> NativeFunction:
    """Return the declared function `name` as a callable at `address`.

    Loadable backends export some functions only through
    ``ggml_backend_reg_get_proc_address``: this gives such an address its type.

    Raises:
        KeyError: `name` is not declared.
        SymbolMissing: `address` is 0.
    """
    if not address:
        raise SymbolMissing(f"{name}: the backend has no such function (address 0)")
    layout = structs.CONTEXT_LAYOUTS[context_layout]
    return _native(REGISTRY[name], address, layout)


def _make_stub(declaration: Declaration) -> NativeFunction:
    def stub(*args: Any) -> Any:
        if declaration.bound is None:
            # Not an import at the top: the loader imports this module.
            importlib.import_module("llamactypes.bindings._loader").load()
        if declaration.bound is None:
            raise SymbolMissing(f"{declaration.name} is not bound to any library")
        return declaration.bound(*args)

    stub.__name__ = stub.__qualname__ = declaration.name
    stub.__module__ = declaration.module
    stub.__doc__ = declaration.doc
    stub.__wrapped__ = declaration.signature  # type: ignore[attr-defined]  # for inspect.signature
    return stub


def _address_of(resolver: Resolver, declaration: Declaration) -> int | None:
    try:
        symbol = resolver(declaration.library, declaration.name)
    except AttributeError:
        return None
    return ctypes.cast(symbol, ctypes.c_void_p).value


def _native(
    declaration: Declaration, address: int, layout: type[ctypes.Structure]
) -> NativeFunction:
    def in_layout(kind: Any) -> Any:
        return layout if kind is structs.llama_context_params else kind

    arguments = [in_layout(kind) for kind in declaration.argtypes]
    prototype = ctypes.CFUNCTYPE(in_layout(declaration.restype), *arguments)
    native = cast("Any", prototype(address))
    native.__name__ = declaration.name
    native.__doc__ = declaration.doc
    return cast("NativeFunction", native)


def _missing(found: dict[str, NativeFunction]) -> Missing:
    absent = [d for d in REGISTRY.values() if d.name not in found]
    return Missing(
        required=tuple(d.name for d in absent if not d.optional),
        optional=tuple(d.name for d in absent if d.optional),
    )


def _absent(declaration: Declaration, library: str) -> NativeFunction:
    message = (
        f"{declaration.name} is not exported by {library} "
        f"(expected in lib{declaration.library}). Install a fuller or newer library, for "
        "example with: pip install 'llamactypes[cpu]', or build one with "
        "build_scripts/build_libllama.py; `llamactypes doctor` lists what was found. "
        "Functions of a backend that is loaded at run time come from "
        "ggml_backend_reg_get_proc_address."
    )

    def absent(*_args: Any) -> Any:
        raise SymbolMissing(message)

    absent.__name__ = absent.__qualname__ = declaration.name
    absent.__doc__ = declaration.doc
    return absent


def _publish(declaration: Declaration, native: NativeFunction) -> None:
    declaration.bound = native
    for module_name in (declaration.module, _PUBLIC_MODULE):
        module = sys.modules.get(module_name)
        if module is not None and hasattr(module, declaration.name):
            setattr(module, declaration.name, native)
