"""Compile small libraries that look like a libllama, each wrong in one way."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from llamactypes.bindings import REGISTRY

REQUIRED = tuple(name for name, entry in REGISTRY.items() if not entry.optional)


def compile_library(path: Path, source: str, *flags: str) -> Path:
    """Compile C `source` to the shared library `path`."""
    compiler = os.environ.get("CC") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    file = path.with_suffix(".c")
    file.write_text(source)
    command = [compiler, "-shared", "-fPIC", "-o", str(path), str(file), *flags]
    subprocess.run(command, check=True, timeout=60)
    return path


def model_defaults(size: int = 80) -> bytes:
    """Return what ``llama_model_default_params()`` gives, cut or padded to `size`."""
    data = bytearray(4096)
    struct.pack_into("<iiii", data, 16, -1, 1, -1, 1)
    data[72:78] = b"\0\0\1\0\0\0"
    return bytes(data[:size])


def context_defaults(size: int = 168, switches_at: int | None = None) -> bytes:
    """Return what ``llama_context_default_params()`` gives in a layout of `size`."""
    data = bytearray(4096)
    struct.pack_into("<IIII", data, 0, 512, 2048, 512, 1)
    struct.pack_into("<Iii", data, 24, 1, 4, 4)
    struct.pack_into("<iiii", data, 40, -1, -1, -1, -1)
    struct.pack_into("<ffff", data, 64, -1, -1, -1, -1)
    struct.pack_into("<f", data, 84, -1)
    struct.pack_into("<ii", data, 104, 1, 1)
    start = size - 32 if switches_at is None else switches_at
    data[start : start + 6] = b"\0\1\1\1\1\0"
    return bytes(data[:size])


@dataclass(frozen=True)
class FakeLlama:
    """A library that exports every required function and answers the probes."""

    model: bytes = field(default_factory=model_defaults)
    context: bytes = field(default_factory=context_defaults)
    mtmd: bytes | None = None
    omit: Collection[str] = ()

    def build(self, path: Path, *flags: str) -> Path:
        """Compile to `path`."""
        answers = {
            "llama_model_default_params": self.model,
            "llama_context_default_params": self.context,
        }
        if self.mtmd is not None:
            answers["mtmd_context_params_default"] = self.mtmd
        special = {*answers, "llama_batch_get_one", *self.omit}
        names = [name for name in REQUIRED if name not in special]
        lines = ["#include <string.h>", "#include <stdint.h>", _BATCH]
        lines += [f"void {name}(void) {{}}" for name in names]
        lines += [_returning(name, data) for name, data in answers.items()]
        return compile_library(path, "\n".join(lines), *flags)


_BATCH = """
struct batch { int32_t n; void *token; void *rest[5]; };
struct batch llama_batch_get_one(void *token, int32_t n) {
    struct batch b = { n, token, { 0 } };
    return b;
}"""


def _returning(name: str, data: bytes) -> str:
    values = ",".join(map(str, data))
    return (
        f"struct s_{name} {{ unsigned char b[{len(data)}]; }};\n"
        f"static const unsigned char d_{name}[] = {{{values}}};\n"
        f"struct s_{name} {name}(void) {{ struct s_{name} s; "
        f"memcpy(&s, d_{name}, sizeof s); return s; }}"
    )
