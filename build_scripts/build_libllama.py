#!/usr/bin/env python3
"""Build libllama, its backends and libmtmd into llamactypes/lib/.

One build runs on machines with and without a GPU: every backend is a library of its
own that is loaded when the machine has what it needs, and the CPU backend exists in
one variant for each generation of processors.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import artefacts
from compiler_faults import header_to_include
from configuration import (
    BACKENDS,
    build_folder_name,
    choose_backends,
    compiler_flags,
    configure_flags,
    default_architectures,
    git_label_script,
    library_patterns,
    parse_architectures,
    parse_compute_capabilities,
    targets,
    without_paths,
)
from cuda_toolkit import CudaToolkit, arrange_toolkit, detect_architectures
from fetch_upstream import Source, headers_sha256, resolve_source
from pin import BuildError, Pin, build_root, read_pin, repository_root
from progress import run_logged, run_with_progress
from toolchain import Toolchain, find_tool, find_toolchain, measure_abi, system_name

__all__ = ("main",)


@dataclass(frozen=True, slots=True)
class Build:
    """Everything that one build is made of."""

    pin: Pin
    source: Source
    tools: Toolchain
    backends: tuple[str, ...]
    architectures: tuple[str, ...]
    """CUDA architectures; empty without the CUDA backend."""
    cuda_toolkit: str
    """Its version, such as 13.0; empty without the CUDA backend."""
    flags: tuple[str, ...]
    abi: str
    folder: Path
    """CMake's build tree."""
    output: Path
    peers: Path | None
    jobs: int


def main(arguments: list[str] | None = None) -> int:
    """Build, and say where the result is."""
    options = _parser().parse_args(arguments)
    started = time.monotonic()
    try:
        build = prepare(options)
        run(build, clean=options.clean)
    except BuildError as error:
        print(f"build_libllama: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("build_libllama: interrupted; run it again to go on", file=sys.stderr)
        return 130
    _say(f"done in {time.monotonic() - started:.0f} s: {build.output}")
    if build.peers:
        _say(f"benchmark programs: {build.peers / 'bin'}")
    return 0


def prepare(options: argparse.Namespace) -> Build:
    """Find the tools and the source, and decide the flags, before anything is built.

    Raises:
        BuildError: Something is missing, or the source's layout is not supported.
    """
    pin = read_pin()
    backends = choose_backends(options.backend, system_name())
    tools = find_toolchain()
    if "vulkan" in backends and find_tool("glslc") is None:
        raise BuildError(
            "the vulkan backend needs glslc and the Vulkan headers.\n"
            "  Debian, Ubuntu: sudo apt install glslc libvulkan-dev spirv-headers\n"
            "  Fedora:         sudo dnf install glslc vulkan-loader-devel"
        )
    source = resolve_source(pin, options.source, options.git)
    abi = require_supported_abi(
        pin, source, measure_abi(source.folder, tools.c_compiler)
    )
    architectures: tuple[str, ...] = ()
    toolkit = None
    if "cuda" in backends:
        toolkit = arrange_toolkit(pin, tools.c_compiler)
        architectures = choose_architectures(options.cuda_arch, pin, toolkit)
    peers = peers_folder(options)
    return Build(
        pin=pin,
        source=source,
        tools=tools,
        backends=backends,
        architectures=architectures,
        cuda_toolkit=".".join(map(str, toolkit.version)) if toolkit else "",
        flags=configure_flags(
            pin,
            backends,
            peers=peers is not None,
            system=system_name(),
            cuda=toolkit.flags(architectures) if toolkit else (),
            cuda_major=toolkit.version[0] if toolkit else 0,
        ),
        abi=abi,
        folder=build_root() / build_folder_name(backends),
        output=Path(options.output).resolve(),
        peers=peers,
        jobs=options.jobs,
    )


def run(build: Build, *, clean: bool = False) -> None:
    """Configure, compile and put the result into place.

    Raises:
        BuildError: A step failed; the message holds its first error.
    """
    _say(f"source: {build.source.origin} ({build.source.folder})")
    _say(f"backends: {', '.join(build.backends)}; {build.jobs} jobs")
    if build.architectures:
        _say(f"CUDA architectures: {' '.join(build.architectures)}")
    if clean or _belongs_to_another_source(build):
        shutil.rmtree(build.folder, ignore_errors=True)
    configure(build)
    compile_targets(build)
    built = build.folder / "bin"
    libraries = artefacts.place(
        artefacts.collect_libraries(built, library_patterns()),
        build.output,
        licence=build.source.folder / "LICENSE",
        compiler=build.tools.compiler_version,
    )
    info = artefacts.build_info(
        facts_of(build), libraries, datetime.datetime.now(datetime.UTC)
    )
    artefacts.write_build_info(info, build.output)
    if build.peers:
        artefacts.install_peers(built, build.peers)
    size = sum(path.stat().st_size for path in libraries.values())
    _say(f"{len(libraries)} libraries, {size / 1e6:.1f} MB, need glibc {info['glibc']}")


def configure(build: Build) -> None:
    """Run CMake; its output goes to configure.log in the build tree."""
    build.folder.mkdir(parents=True, exist_ok=True)
    label = build.folder / "git-label"
    label.write_text(git_label_script(build.source.label), encoding="utf-8")
    label.chmod(0o755)
    command = [build.tools.cmake, "-G", build.tools.generator]
    command += ["-S", str(build.source.folder), "-B", str(build.folder)]
    command += [f"-DCMAKE_C_COMPILER={build.tools.c_compiler}"]
    command += [f"-DCMAKE_CXX_COMPILER={build.tools.cxx_compiler}"]
    command += [f"-DGIT_EXE={label}", f"-DGIT_EXECUTABLE={label}", *build.flags]
    cuda = "cuda" in build.backends
    fix = header_to_include(build.tools.cxx_compiler)
    if fix:
        _say(f"this compiler needs {fix.name} for CPUs with AMX")
    command += compiler_flags(
        str(build.source.folder), os.environ, cuda=cuda, include=fix
    )
    _say("configuring")
    run_logged(command, build.folder / "configure.log", "configuring")


def compile_targets(build: Build) -> None:
    """Compile; the tool's whole output goes to build.log in the build tree."""
    command = [build.tools.cmake, "--build", str(build.folder)]
    command += ["--parallel", str(build.jobs), "--config", "Release"]
    command += ["--target", *targets(peers=build.peers is not None)]
    _say("compiling")
    run_with_progress(command, build.folder / "build.log", "compiling")


def require_supported_abi(pin: Pin, source: Source, abi: str) -> str:
    """Return `abi` if the bindings have that layout.

    Raises:
        BuildError: They have not: the library would be refused when it is loaded.
    """
    supported = {pin.abi, *(each.abi for each in pin.second_layout)}
    if abi not in supported:
        raise BuildError(
            f"{source.origin} has the layout {abi}; the bindings support "
            f"{' and '.join(sorted(supported))}.\n"
            f"  Build {pin.build}, or another one with these layouts."
        )
    return abi


def choose_architectures(
    asked: str | None, pin: Pin, toolkit: CudaToolkit
) -> tuple[str, ...]:
    """Return those asked for, else this machine's GPUs', else the pin's list."""
    if asked:
        return parse_architectures(asked)
    found = parse_compute_capabilities(detect_architectures())
    return found or default_architectures(pin, toolkit.version)


def peers_folder(options: argparse.Namespace) -> Path | None:
    """Return where the benchmark programs go, or None when nobody asked for them."""
    if options.peers_dir:
        return Path(options.peers_dir).resolve()
    return build_root() / "peers" if options.with_peers else None


def facts_of(build: Build) -> dict[str, object]:
    """Return what build_info.json says besides the files themselves."""
    pinned = build.source.sha256 == build.pin.sdist.sha256
    return {
        "build": build.source.label,
        "abi": build.abi,
        "source": build.source.origin,
        "source_sha256": build.source.sha256,
        "source_is_pinned": pinned,
        "headers_sha256": headers_sha256(build.source.folder),
        "backends": list(build.backends),
        "cuda_architectures": list(build.architectures),
        "cmake_flags": without_paths(build.flags),
        "cuda_toolkit": build.cuda_toolkit,
        "compiler": build.tools.compiler_version,
        "cmake": build.tools.cmake_version,
        "generator": build.tools.generator,
    }


def _belongs_to_another_source(build: Build) -> bool:
    """Tell whether the build tree was made from another folder or by another tool."""
    try:
        cache = (build.folder / "CMakeCache.txt").read_text(encoding="utf-8")
    except OSError:
        return False
    home = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache, re.MULTILINE)
    tool = re.search(r"^CMAKE_GENERATOR:INTERNAL=(.*)$", cache, re.MULTILINE)
    found = (home[1] if home else "", tool[1] if tool else "")
    return found != (str(build.source.folder), build.tools.generator)


def _say(text: str) -> None:
    print(f"build_libllama: {text}", file=sys.stderr, flush=True)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is no number of jobs")
    return value


def _default_jobs() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _parser() -> argparse.ArgumentParser:
    summary = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="build_libllama.py", description=summary)
    origin = parser.add_mutually_exclusive_group()
    origin.add_argument("--source", metavar="DIR", help="build this llama.cpp tree")
    origin.add_argument("--git", metavar="URL@TAG", help="clone and build this tag")
    parser.add_argument(
        "--backend",
        action="append",
        default=[],
        metavar="NAME",
        help=f"{', '.join(BACKENDS)}; repeat it for several; cpu is always built",
    )
    parser.add_argument(
        "--cuda-arch",
        metavar="LIST",
        help="such as 90 or 80,90; default: this machine's GPUs, else the list in "
        "upstream.json",
    )
    default_output = repository_root() / "llamactypes" / "lib"
    parser.add_argument(
        "--output",
        metavar="DIR",
        default=str(default_output),
        help="where the libraries go; default: llamactypes/lib",
    )
    parser.add_argument(
        "--jobs",
        "-j",
        type=_positive,
        metavar="N",
        default=_default_jobs(),
        help="compilers at a time; default: the cores this process may use",
    )
    parser.add_argument("--clean", action="store_true", help="start afresh")
    parser.add_argument(
        "--with-peers",
        action="store_true",
        help="also build llama-server and llama-batched-bench, for benchmarks",
    )
    parser.add_argument(
        "--peers-dir",
        metavar="DIR",
        help="where they go (implies --with-peers); default: .build/peers",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
