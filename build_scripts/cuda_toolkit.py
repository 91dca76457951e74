"""Find a CUDA toolkit, and complete it from wheels when parts of it are missing.

Compiling the CUDA backend needs nvcc, the runtime's headers, cuBLAS and something to
link as the driver (libcuda). A machine without a GPU has no driver, and toolkits put
together from wheels often have no cuBLAS. What is missing is fetched with pip into
`.build/cuda/`, and a folder of symbolic links joins both into one toolkit.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pin import BuildError, Pin, build_root
from toolchain import find_tool, output_of

__all__ = ("CudaToolkit", "arrange_toolkit", "detect_architectures", "missing_parts")

PARTS = {
    "nvcc": ("bin/nvcc",),
    "crt": ("include/crt/host_config.h",),
    "nvvm": ("nvvm/bin/cicc",),
    "cudart": (
        "include/cuda_runtime.h",
        "lib64/libcudart.so*|lib/libcudart.so*|targets/*/lib/libcudart.so*",
    ),
    "cccl": ("include/cccl/cub|include/cub|targets/*/include/cccl/cub",),
    "cublas": (
        "include/cublas_v2.h|targets/*/include/cublas_v2.h",
        "lib64/libcublas.so*|lib/libcublas.so*|targets/*/lib/libcublas.so*",
    ),
}
"""Each part to the files that prove it is there; `|` separates alternatives."""

DRIVER_STUBS = (
    "lib64/stubs/libcuda.so",
    "lib/stubs/libcuda.so",
    "targets/*/lib/stubs/libcuda.so",
)

FALLBACK_VERSION = "13.0"
"""Toolkit version that is fetched when the machine has none."""

SMI_QUERY = ("--query-gpu=compute_cap", "--format=csv,noheader")


@dataclass(frozen=True, slots=True)
class CudaToolkit:
    """A complete toolkit that CMake can be pointed to."""

    root: Path
    nvcc: Path
    version: tuple[int, int]

    def flags(self, architectures: Iterable[str]) -> tuple[str, ...]:
        """Return the CMake flags that select this toolkit and these architectures."""
        return (
            f"-DCUDAToolkit_ROOT={self.root}",
            f"-DCMAKE_CUDA_COMPILER={self.nvcc}",
            f"-DCMAKE_CUDA_ARCHITECTURES={';'.join(architectures)}",
        )


def arrange_toolkit(pin: Pin, c_compiler: str) -> CudaToolkit:
    """Return a complete CUDA toolkit: the installed one, or that one completed.

    Raises:
        BuildError: pip cannot fetch what is missing.
    """
    installed = find_installed()
    if installed is None:
        major, minor = (int(part) for part in FALLBACK_VERSION.split("."))
        lacking = tuple(PARTS)
    else:
        major, minor = toolkit_version(installed)
        lacking = missing_parts(installed)
    if installed and not lacking and _driver_to_link(installed):
        return CudaToolkit(installed, installed / "bin" / "nvcc", (major, minor))
    return _complete(pin, installed, lacking, (major, minor), c_compiler)


def find_installed(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the root of the installed toolkit, or None.

    The environment decides first, then the nvcc on PATH, then the usual folders.
    """
    candidates = [
        Path(environment[name])
        for name in ("CUDAToolkit_ROOT", "CUDA_HOME", "CUDA_PATH")
        if environment.get(name)
    ]
    nvcc = find_tool("nvcc")
    if nvcc and (root := _root_of(nvcc)):
        candidates.append(root)
    candidates.append(Path("/usr/local/cuda"))
    candidates += sorted(Path("/usr/local").glob("cuda-*"), reverse=True)
    candidates.append(Path("/opt/cuda"))
    for candidate in candidates:
        if (candidate / "bin" / "nvcc").is_file():
            return candidate
    return None


def missing_parts(root: Path) -> tuple[str, ...]:
    """Return the parts of a toolkit that are not under `root`."""
    return tuple(
        part
        for part, proofs in PARTS.items()
        if not all(_has_one(root, proof) for proof in proofs)
    )


def toolkit_version(root: Path) -> tuple[int, int]:
    """Ask nvcc for the toolkit's version.

    Raises:
        BuildError: nvcc does not run or says no release.
    """
    nvcc = root / "bin" / "nvcc"
    match = re.search(r"release (\d+)\.(\d+)", output_of(str(nvcc), "--version"))
    if match is None:
        raise BuildError(f"{nvcc} --version names no release; is it installed wholly?")
    return int(match[1]), int(match[2])


def detect_architectures() -> str:
    """Return what nvidia-smi says of this machine's GPUs; empty without a driver."""
    smi = find_tool("nvidia-smi")
    return output_of(smi, *SMI_QUERY) if smi else ""


def wheel_requirements(
    pin: Pin, parts: Iterable[str], version: tuple[int, int]
) -> tuple[str, ...]:
    """Return the requirements that bring `parts` at the toolkit's version.

    Up to CUDA 12 the packages carry the generation in their name.
    """
    major, minor = version
    suffix = "" if major >= 13 else f"-cu{major}"
    return tuple(
        f"{pin.cuda_wheels[part]}{suffix}=={major}.{minor}.*" for part in parts
    )


def _root_of(nvcc: str) -> Path | None:
    """Ask nvcc where it lives: the one on PATH may be a wrapper script."""
    listing = output_of(nvcc, "--dryrun", "-x", "cu", "-c", "/dev/null")
    match = re.search(r"^#\$ _HERE_=(.+)$", listing, re.MULTILINE)
    return Path(match[1]).parent if match else None


def _has_one(root: Path, alternatives: str) -> bool:
    return any(any(root.glob(each)) for each in alternatives.split("|"))


def _driver_to_link(root: Path) -> bool:
    if any(_has_one(root, stub) for stub in DRIVER_STUBS):
        return True
    return "libcuda.so " in output_of("/sbin/ldconfig", "-p")


def _complete(
    pin: Pin,
    installed: Path | None,
    lacking: tuple[str, ...],
    version: tuple[int, int],
    c_compiler: str,
) -> CudaToolkit:
    folder = build_root() / "cuda"
    name = f"{version[0]}.{version[1]}"
    wheels = folder / f"wheels-{name}"
    packaged = wheels / "nvidia" / f"cu{version[0]}"
    wanted = tuple(part for part in lacking if not _part_is_in(packaged, part))
    if wanted:
        _pip_install(wheel_requirements(pin, wanted, version), wheels, lacking)
    if (packaged / "lib").is_dir() and not (packaged / "lib64").exists():
        # The wheels' own nvcc links with what it finds in its neighbour lib64.
        (packaged / "lib64").symlink_to("lib")
    root = folder / f"toolkit-{name}"
    join_toolkits(root, [each for each in (installed, packaged) if each])
    link_unversioned(root / "lib64")
    if still := missing_parts(root):
        raise BuildError(
            f"the CUDA toolkit in {root} still has no {', '.join(still)}.\n"
            "  Install a whole CUDA toolkit and set CUDA_HOME to it."
        )
    make_driver_stub(root / "lib64" / "stubs", root / "include", c_compiler)
    # nvcc finds its own files from where it really is, so it runs from there.
    nvcc = (root / "bin" / "nvcc").resolve()
    return CudaToolkit(root, nvcc, version)


def _part_is_in(root: Path, part: str) -> bool:
    return all(_has_one(root, proof) for proof in PARTS[part])


def _pip_install(
    requirements: tuple[str, ...], folder: Path, lacking: Iterable[str]
) -> None:
    print(
        f"the CUDA toolkit has no {', '.join(lacking)}: "
        f"fetching {' '.join(requirements)} with pip",
        file=sys.stderr,
    )
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--upgrade", "--target", str(folder)]
    if subprocess.run([*command, *requirements], check=False).returncode:
        raise BuildError(
            f"pip could not fetch {' '.join(requirements)}.\n"
            "  Install a whole CUDA toolkit and set CUDA_HOME to it, "
            "or leave --backend cuda out."
        )


def join_toolkits(root: Path, parts: Iterable[Path]) -> None:
    """Make `root` one toolkit out of several by symbolic links; earlier parts win."""
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("bin", "include", "lib64", "nvvm"):
        (root / folder).mkdir(parents=True)
    (root / "lib").symlink_to("lib64")
    for part in parts:
        for source, target in _folders(part):
            for entry in sorted((part / source).iterdir()):
                link = root / target / entry.name
                # The stubs folder is ours, so that a stub can be put into it.
                if not link.exists() and entry.name != "stubs":
                    link.symlink_to(entry.resolve())


def _folders(part: Path) -> Iterable[tuple[str, str]]:
    """Return (folder in a toolkit, folder in the joined one) that exist."""
    wanted = [("bin", "bin"), ("include", "include"), ("nvvm", "nvvm")]
    wanted += [("lib64", "lib64"), ("lib", "lib64")]
    for target in sorted(part.glob("targets/*")):
        relative = str(target.relative_to(part))
        wanted += [(f"{relative}/include", "include"), (f"{relative}/lib", "lib64")]
    return [pair for pair in wanted if (part / pair[0]).is_dir()]


def link_unversioned(folder: Path) -> None:
    """Add the lib*.so names that a linker looks for beside lib*.so.N."""
    for library in sorted(folder.glob("lib*.so.*")):
        plain = folder / f"{library.name.partition('.so.')[0]}.so"
        if not plain.exists():
            plain.symlink_to(library.name)


def make_driver_stub(folder: Path, include: Path, c_compiler: str) -> Path:
    """Compile a libcuda to link with; the driver's own is used at run time.

    It defines every function of the header, each doing nothing: a linker that drops
    unused libraries would drop an empty one, and the CUDA backend would not ask for
    the driver when it is opened.

    Raises:
        BuildError: The compiler failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stub = folder / "libcuda.so"
    header = _compile(["-E", "-x", "c", str(include / "cuda.h")], "", c_compiler)
    text = "".join(
        f"int {name}(void) {{ return 0; }}\n" for name in _driver_api(header)
    )
    options = ["-shared", "-fPIC", "-nostdlib", "-fno-builtin", "-x", "c", "-"]
    options += ["-Wl,-soname,libcuda.so.1", "-o", str(stub)]
    _compile(options, text, c_compiler)
    return stub


def _driver_api(header: str) -> tuple[str, ...]:
    """Return the functions that preprocessed cuda.h declares, under their real names.

    Only after preprocessing are they right: cuMemAlloc is a macro for cuMemAlloc_v2.
    """
    found = re.findall(r"\bCUresult\s+(cu[A-Z]\w*)\s*\(", header)
    return tuple(dict.fromkeys(found))


def _compile(options: list[str], text: str, c_compiler: str) -> str:
    """Run the C compiler with `text` as its input and return its output."""
    command = [c_compiler, *options]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, input=text
    )
    if done.returncode:
        raise BuildError(f"cannot make the libcuda stub:\n{done.stderr}")
    return done.stdout
