"""Turn the pure wheel into one with the native library inside."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from elf import Needs
from pin import BuildError

__all__ = (
    "add_library",
    "build_tag",
    "platform_tag",
    "require_self_contained",
    "wheel_file_name",
)

LIBRARY_FOLDER = "llamactypes/lib/"
EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time stamp of every file, so that the same input gives the same wheel."""

SYSTEM_LIBRARIES = frozenset(
    {
        "ld-linux-x86-64.so.2",
        "ld-linux-aarch64.so.1",
        "libc.so.6",
        "libdl.so.2",
        "libgcc_s.so.1",
        "libm.so.6",
        "libpthread.so.0",
        "librt.so.1",
        "libstdc++.so.6",
    }
)
"""What every machine of a manylinux tag has."""

GPU_LIBRARIES = re.compile(r"lib(cuda|cudart|cublas|cublasLt|vulkan)\.so\.\d+")
"""What a GPU backend asks for. Without it that backend is skipped, not the library."""


def platform_tag(system: str, machine: str, glibc: str, fallback: str) -> str:
    """Return the wheel's platform tag.

    Args:
        system: As platform.system() names it.
        machine: As platform.machine() names it.
        glibc: The newest glibc that the libraries ask for, such as 2.34.
        fallback: sysconfig.get_platform(), for systems other than Linux.

    Raises:
        BuildError: On Linux, when the needed glibc is unknown.
    """
    if system != "Linux":
        return re.sub(r"[.-]", "_", fallback)
    if not re.fullmatch(r"\d+\.\d+", glibc):
        raise BuildError(
            f"the glibc that the libraries need is unknown ({glibc!r}); rebuild them "
            "with build_libllama.py, which writes it into build_info.json"
        )
    return f"manylinux_{glibc.replace('.', '_')}_{machine}"


def build_tag(build: str, backends: Iterable[str]) -> str:
    """Return the wheel's build tag: llama.cpp's build and the GPU backends.

    It tells a wheel with CUDA from one without at the same version.
    """
    number = re.match(r"b?(\d+)", build)
    extra = "".join(sorted(set(backends) - {"cpu"}))
    return f"{number[1] if number else 0}{extra}"


def require_self_contained(needs: Mapping[str, Needs]) -> None:
    """Check that the libraries ask only for each other, the system and GPU runtimes.

    Args:
        needs: File name to what the file needs.

    Raises:
        BuildError: One needs something that other machines lack.
    """
    for name, each in needs.items():
        for library in each.libraries:
            known = library in needs or library in SYSTEM_LIBRARIES
            if not known and not GPU_LIBRARIES.fullmatch(library):
                raise BuildError(
                    f"{name} needs {library}, which is neither beside it nor on "
                    "every machine; a wheel with it would not load elsewhere"
                )
        if "$ORIGIN" not in each.run_path.split(":") and set(each.libraries) & set(
            needs
        ):
            raise BuildError(
                f"{name} would not find its neighbours: its run path is "
                f"{each.run_path!r}, not $ORIGIN"
            )


def wheel_file_name(pure: str, build: str, tag: str) -> str:
    """Return the platform wheel's name out of the pure wheel's.

    Raises:
        BuildError: `pure` is no pure wheel's name.
    """
    match = re.fullmatch(r"([^-]+-[^-]+)-py3-none-any\.whl", pure)
    if match is None:
        raise BuildError(f"{pure} is not a pure Python wheel")
    return f"{match[1]}-{build}-py3-none-{tag}.whl"


def add_library(pure: Path, files: Iterable[Path], target: Path, tag: str) -> None:
    """Write `target`: the pure wheel's content, the library files and a new RECORD.

    Args:
        pure: The wheel that setuptools built.
        files: What goes into llamactypes/lib/.
        target: The platform wheel; its name carries the build tag.
        tag: The platform tag.
    """
    content: dict[str, bytes] = {}
    with zipfile.ZipFile(pure) as source:
        for name in source.namelist():
            native = name.startswith(LIBRARY_FOLDER) and not name.endswith("README.md")
            if not native and not name.endswith(("/", ".dist-info/RECORD")):
                content[name] = source.read(name)
    for path in files:
        content[LIBRARY_FOLDER + path.name] = path.read_bytes()
    info = next(name for name in content if name.endswith(".dist-info/WHEEL"))
    build = target.name.split("-")[2]
    content[info] = retag(content[info].decode(), build, tag).encode()
    record = info.removesuffix("WHEEL") + "RECORD"
    content[record] = _record(content, record).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, data in content.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = _mode(name) << 16
            wheel.writestr(entry, data)


def retag(text: str, build: str, tag: str) -> str:
    """Return a WHEEL file that says: build number, platform tag, not pure."""
    dropped = ("Root-Is-Purelib:", "Tag:", "Build:")
    lines = [
        line for line in text.splitlines() if line and not line.startswith(dropped)
    ]
    lines += ["Root-Is-Purelib: false", f"Tag: py3-none-{tag}", f"Build: {build}"]
    return "\n".join(lines) + "\n"


def facts_line(info: Mapping[str, Any]) -> str:
    """Return one line about what build_info.json says is inside."""
    backends = ", ".join(info["backends"])
    return f"llama.cpp {info['build']}, layout {info['abi']}, backends {backends}"


def _record(content: Mapping[str, bytes], record: str) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for name, data in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
        writer.writerow((name, f"sha256={digest.decode()}", len(data)))
    writer.writerow((record, "", ""))
    return stream.getvalue()


def _mode(name: str) -> int:
    return 0o100755 if ".so" in name or name.endswith(".dylib") else 0o100644
