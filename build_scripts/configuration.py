"""Decide the CMake command line: backends, GPU architectures, flags. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pin import BuildError, Pin

__all__ = (
    "BACKENDS",
    "PEERS",
    "build_folder_name",
    "choose_backends",
    "configure_flags",
    "default_architectures",
    "git_label_script",
    "library_patterns",
    "parse_architectures",
    "parse_compute_capabilities",
    "compiler_flags",
    "targets",
    "without_paths",
)

BACKENDS = ("cpu", "cuda", "vulkan", "metal")

PEERS = ("llama-server", "llama-batched-bench")
"""Programs of the same tree that benchmarks compare with."""

CUDA_RPATH = "../../nvidia/cu{major}/lib"
"""From site-packages/llamactypes/lib to where the nvidia wheels put their libraries."""

# First CUDA toolkit that knows each architecture of the default list, and the last
# toolkit generation's floor: CUDA 13 dropped everything before Turing.
_NEEDS_TOOLKIT = {"89": (11, 8), "90": (11, 8), "120a": (12, 8)}


def choose_backends(asked: Iterable[str], system: str) -> tuple[str, ...]:
    """Return the backends to build: those asked for, always with the CPU.

    Args:
        asked: Names, each may hold several separated by commas.
        system: The operating system as platform.system() names it.

    Raises:
        BuildError: A name is unknown, or its system is another one.
    """
    names = {name.strip() for each in asked for name in each.split(",")} - {""}
    if unknown := names - set(BACKENDS):
        raise BuildError(
            f"unknown backend {', '.join(sorted(unknown))}; "
            f"known: {', '.join(BACKENDS)}"
        )
    if "metal" in names and system != "Darwin":
        raise BuildError("the metal backend can only be built on macOS")
    if "cuda" in names and system == "Darwin":
        raise BuildError("the cuda backend cannot be built on macOS; use metal")
    return tuple(name for name in BACKENDS if name == "cpu" or name in names)


def parse_compute_capabilities(listing: str) -> tuple[str, ...]:
    """Return architectures out of what nvidia-smi prints, one `9.0` a line.

    C: `nvidia-smi --query-gpu=compute_cap --format=csv,noheader`.
    """
    found = re.findall(r"^\s*(\d+)\.(\d)\s*$", listing, re.MULTILINE)
    return tuple(sorted({major + minor for major, minor in found}, key=int))


def parse_architectures(text: str) -> tuple[str, ...]:
    """Return CUDA architectures as CMake writes them.

    `90`, `sm_90`, `9.0`, `90-real`, `90-virtual` and `120a-real` are understood,
    separated by commas, semicolons or spaces.

    Raises:
        BuildError: An entry is none of these.
    """
    entries = [entry for entry in re.split(r"[,;\s]+", text) if entry]
    if not entries:
        raise BuildError("--cuda-arch is empty; say for example --cuda-arch 90")
    found = []
    for entry in entries:
        match = re.fullmatch(
            r"(?:sm_|compute_)?(\d{1,2})\.?(\d)([af]?)(-real|-virtual)?", entry
        )
        if match is None:
            raise BuildError(
                f"--cuda-arch: {entry!r} is no architecture; "
                "say 90, 9.0, sm_90, 90-real or 90-virtual"
            )
        found.append("".join(part or "" for part in match.groups()))
    return tuple(dict.fromkeys(found))


def default_architectures(pin: Pin, toolkit: tuple[int, int]) -> tuple[str, ...]:
    """Return the pin's architectures that this CUDA toolkit version can compile."""
    return tuple(
        each
        for each in pin.cuda_architectures
        if toolkit >= _NEEDS_TOOLKIT.get(each.partition("-")[0], (0, 0))
    )


def configure_flags(
    pin: Pin,
    backends: Sequence[str],
    *,
    peers: bool,
    system: str,
    cuda: Sequence[str] = (),
    cuda_major: int = 0,
) -> tuple[str, ...]:
    """Return every -D flag of a build, each variable once.

    Args:
        pin: Holds the flags by part.
        backends: From choose_backends().
        peers: Whether the programs for benchmarks are built too.
        system: The operating system as platform.system() names it.
        cuda: Flags that name the toolkit and the architectures.
        cuda_major: Generation of the toolkit, for the run path; 0 without CUDA.
    """
    flags = list(pin.cmake_common)
    for backend in backends:
        flags += pin.cmake_backends[backend]
    if peers:
        flags += pin.cmake_peers
    flags += cuda
    merged = {flag.partition("=")[0]: flag for flag in flags}
    merged["-DCMAKE_INSTALL_RPATH"] = (
        f"-DCMAKE_INSTALL_RPATH={_rpath(system, cuda_major)}"
    )
    if system == "Darwin" and "metal" not in backends:
        merged["-DGGML_METAL"] = "-DGGML_METAL=OFF"
    return tuple(merged.values())


def compiler_flags(
    source: str,
    environment: Mapping[str, str],
    *,
    cuda: bool,
    include: Path | None = None,
) -> tuple[str, ...]:
    """Return CMake's variables with compiler flags.

    The build machine's paths are kept out of the libraries: ggml's messages name their
    source file, which is then `llama.cpp/...` on any machine. CMake takes CFLAGS and
    its like only when its own variable is unset: they are kept.

    Args:
        source: llama.cpp's folder.
        environment: Of the process: CFLAGS, CXXFLAGS, CUDAFLAGS.
        cuda: Whether CUDA is a language of the build.
        include: A header that every C++ file includes first.
    """
    shorten = f"-ffile-prefix-map={source}=llama.cpp"
    cxx = f"{shorten} -include {include}" if include else shorten
    languages = {"C": ("CFLAGS", shorten), "CXX": ("CXXFLAGS", cxx)}
    if cuda:
        languages["CUDA"] = ("CUDAFLAGS", f"-Xcompiler={shorten}")
    return tuple(
        f"-DCMAKE_{language}_FLAGS={environment.get(variable, '')} {flag}"
        for language, (variable, flag) in languages.items()
    )


def without_paths(flags: Iterable[str]) -> list[str]:
    """Return the flags that mean something on another machine, for build_info.json."""
    machine = ("-DCUDAToolkit_ROOT=", "-DCMAKE_CUDA_COMPILER=")
    return [flag for flag in flags if not flag.startswith(machine)]


def targets(*, peers: bool) -> tuple[str, ...]:
    """Return the CMake targets: `ggml` brings every backend with it."""
    return ("ggml", "llama", "mtmd", *(PEERS if peers else ()))


def git_label_script(label: str) -> str:
    """Return a shell script that answers llama.cpp's questions to git with `label`.

    The source is mostly not a checkout, and inside another project's checkout git
    would answer with that project's commit. ggml_commit() then says `label`.
    """
    quoted = re.sub(r"[^\w.+-]", "_", label)
    number = label[1:] if re.fullmatch(r"b\d+", label) else "0"
    return (
        "#!/bin/sh\n"
        'case "$1" in\n'
        '  --version) echo "git version 2.0.0" ;;\n'
        f"  rev-parse) echo {quoted} ;;\n"
        f"  rev-list) echo {number} ;;\n"
        "esac\n"
        "exit 0\n"
    )


def build_folder_name(backends: Sequence[str]) -> str:
    """Return the build tree's name: one tree for each set of backends."""
    return "build-" + "-".join(backends)


def _rpath(system: str, cuda_major: int) -> str:
    here = "@loader_path" if system == "Darwin" else "$ORIGIN"
    if not cuda_major:
        return here
    return f"{here};{here}/{CUDA_RPATH.format(major=cuda_major)}"


def library_patterns() -> tuple[str, ...]:
    """Return the names of the shared libraries that belong in the result."""
    return ("libllama.*", "libggml.*", "libggml-*", "libmtmd.*")
