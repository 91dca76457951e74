"""The ABI checker: it accepts the bindings, and finds every kind of mistake."""

from __future__ import annotations

import copy
import ctypes
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "build_scripts"
if str(SCRIPTS) not in sys.path:
    sys.path.insert(0, str(SCRIPTS))

import abi_headers  # noqa: E402
import abi_proofs  # noqa: E402
import check_abi  # noqa: E402
import pin  # noqa: E402

from llamactypes.bindings._declare import Declaration  # noqa: E402

pytestmark = pytest.mark.skipif(
    abi_headers.compiler() is None, reason="no C compiler: install gcc or clang"
)

HEADER = """
#define API __attribute__ ((visibility ("default")))
#define OLD(func, hint) func __attribute__((deprecated(hint)))
#define TOY_LIMIT 7
#include <stdbool.h>
#include <stdint.h>
struct toy;
enum toy_kind { TOY_KIND_A, TOY_KIND_B = 5 };
typedef bool (*toy_callback)(float progress, void * user_data);
struct toy_params { int32_t n; enum toy_kind kind; bool on; };
API struct toy * toy_new(struct toy_params params, toy_callback callback); // makes
API void toy_run(struct toy * toy, const char * text, float * out);
OLD(API void toy_old(struct toy * toy), "use toy_run() instead");
"""


class toy(ctypes.Structure):
    __slots__ = ()


class toy_p(ctypes._Pointer):
    _type_ = toy


class toy_params(ctypes.Structure):
    __slots__ = ()
    _fields_ = [
        ("n", ctypes.c_int32),
        ("kind", ctypes.c_int),
        ("on", ctypes.c_bool),
    ]


toy_callback = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_float, ctypes.c_void_p)

NEW = "struct toy * toy_new(struct toy_params params, toy_callback callback)"
RUN = "void toy_run(struct toy * toy, const char * text, float * out)"


def toy_new(params: Any, callback: Any) -> Any: ...


def toy_run(toy: Any, text: Any, out: Any) -> Any: ...


def declaration(function: Any, prototype: str, argtypes: tuple[Any, ...], restype: Any):
    return Declaration(
        name=function.__name__,
        prototype=prototype,
        argtypes=argtypes,
        restype=restype,
        optional=False,
        library="toy",
        module="toy",
        doc="Does it.",
        signature=function,
    )


@pytest.fixture
def declared() -> abi_proofs.Declared:
    floats = ctypes.POINTER(ctypes.c_float)
    functions = [
        declaration(toy_new, NEW, (toy_params, toy_callback), toy_p),
        declaration(toy_run, RUN, (toy_p, ctypes.c_char_p, floats), None),
    ]
    return abi_proofs.Declared(
        functions={each.name: each for each in functions},
        classes={
            "toy_p": toy_p,
            "toy_params": toy_params,
            "toy_callback": toy_callback,
        },
        constants={"TOY_KIND_A": 0, "TOY_KIND_B": 5, "TOY_LIMIT": 7},
    )


@pytest.fixture
def prove(tmp_path, declared):
    """Return a function that proves `declared` against the toy header."""
    (tmp_path / "toy.h").write_text(HEADER)
    headers = abi_headers.HeaderSet((tmp_path,), ("toy.h",), ("toy.h",))

    def run() -> str:
        found = abi_headers.read_headers(headers)
        return "\n".join(abi_proofs.prove(headers, found, declared))

    return run


def test_correct_declarations_are_proved(prove):
    assert prove() == ""


@pytest.mark.parametrize(
    "prototype",
    [
        "void toy_run(struct toy * toy, const char * text, double * out)",
        "int toy_run(struct toy * toy, const char * text, float * out)",
        "void toy_run(struct toy * toy, const char * text)",
        "void toy_run()",
    ],
)
def test_wrong_prototype_is_found_by_text_and_by_compiler(prove, declared, prototype):
    declared.functions["toy_run"].prototype = prototype
    problems = prove()
    assert "toy_run: prototype differs from toy.h" in problems
    assert "toy_run: the prototype does not compile" in problems


@pytest.mark.parametrize(
    ("index", "wrong"),
    [
        (0, ctypes.c_void_p),
        (1, ctypes.c_void_p),
        (2, ctypes.POINTER(ctypes.c_double)),
        (2, ctypes.c_float),
    ],
)
def test_wrong_argtype_is_found_behind_a_right_prototype(prove, declared, index, wrong):
    run = declared.functions["toy_run"]
    argtypes = list(run.argtypes)
    argtypes[index] = wrong
    run.argtypes = tuple(argtypes)
    assert "toy_run: argtype of " in prove()


def test_missing_argtype_is_found(prove, declared):
    run = declared.functions["toy_run"]
    run.argtypes = run.argtypes[:2]
    assert "toy_run: 2 argtypes for 3 parameters" in prove()


def test_wrong_restype_is_found(prove, declared):
    declared.functions["toy_new"].restype = ctypes.c_void_p
    assert "toy_new: restype of struct toy * is c_void_p" in prove()


def test_swapped_python_parameters_are_found(prove, declared):
    def toy_run(text: Any, toy: Any, out: Any) -> Any: ...

    declared.functions["toy_run"].signature = toy_run
    assert "toy_run: the Python parameters are" in prove()


def test_missing_function_is_found(prove, declared):
    del declared.functions["toy_run"]
    assert "toy_run: in toy.h, not declared and not omitted" in prove()
    declared.omitted["toy_run"] = "not needed"
    assert prove() == ""


def test_function_that_no_header_has_is_found(prove, declared):
    ghost = copy.copy(declared.functions["toy_run"])
    ghost.name, ghost.prototype = "toy_ghost", "void toy_ghost(void)"
    declared.functions["toy_ghost"] = ghost
    assert "toy_ghost: no header declares it" in prove()


def test_deprecated_function_need_not_but_must_not_be_declared(prove, declared):
    old = copy.copy(declared.functions["toy_run"])
    old.name, old.prototype = "toy_old", "void toy_old(struct toy * toy)"
    declared.functions["toy_old"] = old
    assert "toy_old: deprecated in toy.h" in prove()


def test_declaration_out_of_header_order_is_found(prove, declared):
    declared.functions = dict(reversed(declared.functions.items()))
    assert "toy_new: declared after toy_run" in prove()


def test_wrong_enum_value_is_found(prove, declared):
    declared.constants["TOY_KIND_B"] = 1
    assert prove() == "TOY_KIND_B: is not 1"


def test_missing_enumerator_is_found(prove, declared):
    del declared.constants["TOY_KIND_B"]
    assert prove() == "enum toy_kind: not declared: TOY_KIND_B"


def test_wrong_and_missing_macro_are_found(prove, declared):
    declared.constants["TOY_LIMIT"] = 8
    assert prove() == "TOY_LIMIT: is not 8"
    del declared.constants["TOY_LIMIT"]
    assert prove() == "TOY_LIMIT: #define in toy.h, not declared"


def test_constant_that_no_header_has_is_found(prove, declared):
    declared.constants["TOY_GHOST"] = 0
    assert prove() == "TOY_GHOST: is not 0"


def make_params(*fields: tuple[str, Any]) -> Any:
    return type(
        "toy_params", (ctypes.Structure,), {"__slots__": (), "_fields_": list(fields)}
    )


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (
            [("n", ctypes.c_int32), ("kind", ctypes.c_int)],
            "toy_params: 2 fields declared, the header has 3",
        ),
        (
            [("n", ctypes.c_int32), ("on", ctypes.c_bool), ("kind", ctypes.c_int)],
            "toy_params.kind: declared as `on`",
        ),
        (
            [("n", ctypes.c_uint32), ("kind", ctypes.c_int), ("on", ctypes.c_bool)],
            "toy_params.n: type of int32_t is c_uint",
        ),
        (
            [("n", ctypes.c_int64), ("kind", ctypes.c_int), ("on", ctypes.c_bool)],
            "struct toy_params.kind: is not at offset 8",
        ),
    ],
)
def test_wrong_structure_is_found(prove, declared, fields, problem):
    declared.classes["toy_params"] = make_params(*fields)
    assert problem in prove()


def test_structure_without_slots_is_found(prove, declared):
    fields = {"_fields_": toy_params._fields_}
    declared.classes["toy_params"] = type("toy_params", (ctypes.Structure,), fields)
    assert "toy_params: has no `__slots__ = ()`" in prove()


def test_missing_structure_and_callback_are_found(prove, declared):
    del declared.classes["toy_params"], declared.classes["toy_callback"]
    problems = prove()
    assert "toy_params: in toy.h, not declared" in problems
    assert "toy_callback: in toy.h, not declared" in problems


def test_wrong_callback_is_found(prove, declared):
    kind = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_double, ctypes.c_void_p)
    declared.classes["toy_callback"] = kind
    assert "toy_callback: is not the function type" in prove()


def test_result_returned_in_registers_must_not_be_enlarged(prove, declared):
    larger = type(
        "larger",
        (toy_params,),
        {"__slots__": (), "_fields_": [("reserved", ctypes.c_uint8 * 64)]},
    )
    declared.growing_returns[toy_params] = larger
    assert "toy_params: comes back in registers" in prove()


def test_declaration_that_cannot_be_read_is_an_error(tmp_path):
    (tmp_path / "odd.h").write_text("typedef union { int a; float b; } odd_union;\n")
    headers = abi_headers.HeaderSet((tmp_path,), ("odd.h",), ("odd.h",))
    with pytest.raises(abi_headers.HeaderError, match="odd_union"):
        abi_headers.read_headers(headers)


# -- the real thing ----------------------------------------------------------------


@pytest.fixture(scope="module")
def source() -> Path:
    folder = pin.build_root() / "upstream" / pin.read_pin().build
    if not (folder / "include" / "llama.h").is_file():
        pytest.skip(f"no llama.cpp source in {folder}: `make abi` fetches it")
    return folder


def test_bindings_are_proved_and_the_report_is_current(source, capsys):
    status = check_abi.main(["--source", str(source), "--check"])
    assert status == 0, capsys.readouterr().err


def test_report_that_would_change_fails_with_a_diff(source, tmp_path, capsys):
    declared = abi_proofs.declared_by_bindings()
    headers, problems = check_abi.check(source, declared)
    assert problems == []
    declared.omitted = {}
    text = check_abi.render(headers, declared)
    difference = "\n".join(check_abi.compare(text, write=False))
    assert "-- `ggml_backend_load_all`" in difference
    assert "check_abi.py --write" in difference


def test_wrong_context_layout_is_found(source):
    declared = abi_proofs.declared_by_bindings()
    declared.context_layouts = {
        "168": declared.context_layouts["160"],
        "160": declared.context_layouts["168"],
    }
    _, problems = check_abi.check(source, declared)
    text = "\n".join(problems)
    assert "struct llama_context_params: is not 160 bytes" in text
    assert "layout 160: struct derived_160: is not 168 bytes" in text
