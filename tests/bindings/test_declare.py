"""Declarations, their stubs, and binding to a library."""

from __future__ import annotations

import ctypes
import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from llamactypes import bindings as C  # noqa: N812
from llamactypes.bindings import _declare, _loader, structs
from llamactypes.errors import SymbolMissing

ROOT = Path(__file__).resolve().parents[2]
DECLARING = sorted({d.module for d in C.REGISTRY.values()})


@pytest.fixture(scope="module")
def library() -> _loader.LoadedLibrary:
    return _loader.load()


def run_fresh(code: str) -> str:
    """Run `code` in a process that has bound nothing; returns what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", "from llamactypes import bindings as C\n" + code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("module", DECLARING)
def test_all_of_a_module_lists_its_functions(module):
    declared = [d.name for d in C.REGISTRY.values() if d.module == module]
    assert list(importlib.import_module(module).__all__) == declared


def test_every_declaration_has_a_docstring_and_a_prototype_of_its_name():
    for name, declaration in C.REGISTRY.items():
        assert declaration.doc.strip(), name
        assert f"{name}(" in declaration.prototype


def test_every_declaration_is_annotated():
    for name, declaration in C.REGISTRY.items():
        signature = inspect.signature(declaration.signature)
        kinds = [p.annotation for p in signature.parameters.values()]
        assert inspect.Signature.empty not in (*kinds, signature.return_annotation), (
            name
        )


def test_declaring_a_name_twice_raises():
    def llama_decode() -> None:
        """Taken."""

    declare = _declare.c_function("void llama_decode(void)", argtypes=[], restype=None)
    with pytest.raises(ValueError, match="llama_decode is declared twice"):
        declare(llama_decode)


def test_first_call_of_a_stub_loads_the_default_library():
    out = run_fresh(
        "from llamactypes.bindings import _loader\n"
        "assert _loader.loaded() is None\n"
        "stub = C.llama_max_devices\n"
        "print(stub(), _loader.loaded() is not None, stub is C.llama_max_devices)\n"
        "print(stub())"
    )
    assert out.splitlines() == ["16 True False", "16"]


def test_stub_keeps_name_docstring_and_signature():
    out = run_fresh(
        "import inspect\n"
        "f = C.llama_n_ctx\n"
        "print(f.__name__, inspect.signature(f), f.__doc__[:6], sep='|')"
    )
    expected = "llama_n_ctx|(ctx: 'llama_context_p | None') -> 'int'|Return"
    assert out == expected


def test_bound_function_has_no_python_frame(library):
    assert isinstance(C.llama_decode, ctypes._CFuncPtr)
    module = importlib.import_module("llamactypes.bindings.llama_context")
    assert module.llama_decode is C.llama_decode
    assert C.llama_decode.__name__ == "llama_decode"


def test_every_bound_function_has_its_declared_types(library):
    layout = structs.CONTEXT_LAYOUTS[library.abi]
    for name, declaration in C.REGISTRY.items():
        native: Any = getattr(C, name)
        if name in library.missing:
            continue
        declared = [*declaration.argtypes, declaration.restype]
        expected = [layout if k is C.llama_context_params else k for k in declared]
        assert [*native.argtypes, native.restype] == expected, name


def test_bound_function_is_not_changed_by_the_symbol_it_came_from(library):
    symbol = library.opened.symbol("llama_max_devices")
    symbol.restype = ctypes.c_char_p
    assert C.llama_max_devices() == 16


def test_wrong_handle_is_rejected(library):
    with pytest.raises(ctypes.ArgumentError, match="expected llama_vocab_p"):
        C.llama_vocab_n_tokens(C.llama_model_p())  # type: ignore[arg-type]


def test_absent_function_raises_symbol_missing_with_what_to_do(library):
    if "ggml_backend_rpc_add_server" not in library.missing:
        pytest.skip("this library has the RPC backend linked in")
    with pytest.raises(SymbolMissing) as caught:
        C.ggml_backend_rpc_add_server(b"127.0.0.1:1")
    message = str(caught.value)
    assert "ggml_backend_rpc_add_server is not exported by" in message
    assert "pip install" in message


def test_bind_binds_nothing_when_a_required_function_is_missing():
    before = C.llama_decode

    def resolve(library: str, name: str) -> Any:
        raise AttributeError(name)

    missing = _declare.bind(resolve, "168")
    assert "llama_decode" in missing.required
    assert "mtmd_tokenize" in missing.optional
    assert len(missing.required) + len(missing.optional) == len(C.REGISTRY)
    assert C.llama_decode is before


def test_bind_refuses_an_unknown_layout():
    with pytest.raises(KeyError):
        _declare.bind(lambda _library, _name: None, "144")


def test_context_functions_take_the_layout_of_the_library():
    for layout, kind in structs.CONTEXT_LAYOUTS.items():
        made: Any = C.at_address("llama_init_from_model", 1, layout)
        given: Any = C.at_address("llama_context_default_params", 1, layout)
        assert made.argtypes[1] is kind
        assert given.restype is kind


def test_at_address_gives_a_backend_function_its_type(library):
    class FakeServer:
        called_with: bytes | None = None

    prototype = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)

    def add(endpoint: bytes) -> int:
        FakeServer.called_with = endpoint
        return 0

    native = prototype(add)
    address = ctypes.cast(native, ctypes.c_void_p).value or 0
    reg = C.at_address("ggml_backend_rpc_add_server", address)(b"host:1")
    assert isinstance(reg, C.ggml_backend_reg_t)
    assert not reg
    assert FakeServer.called_with == b"host:1"


def test_at_address_refuses_null():
    with pytest.raises(SymbolMissing, match="no such function"):
        C.at_address("ggml_threadpool_new", 0)
