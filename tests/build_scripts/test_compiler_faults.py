from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from compiler_faults import breaks_amx, header_to_include, intrinsics_header

PROGRAM = """
#include <immintrin.h>
void configure() {
    alignas(64) unsigned char config[64] = {1};
    for (int i = 16; i < 56; i++) config[i] = 16;
    _tile_loadconfig(config);
}
"""

GCC = """
extern __inline void
_tile_loadconfig (const void *__config)
{
  __asm__ volatile ("ldtilecfg\\t%X0" :: "m" (*((const void **)__config)));
}
"""
CLANG = """
static __inline__ void _tile_loadconfig(const void *__config) {
  __builtin_ia32_tile_loadconfig(__config);
}
"""


def test_header_that_reads_one_pointer_of_the_configuration_is_unsound():
    assert breaks_amx(GCC)


@pytest.mark.parametrize("header", [CLANG, "", "int main();"])
def test_other_headers_are_sound(header):
    assert not breaks_amx(header)


def test_header_mends_what_the_compiler_breaks(tmp_path):
    compiler = shutil.which("g++")
    if compiler is None or not breaks_amx(intrinsics_header(compiler)):
        pytest.skip("no g++ with the fault here")
    assert stores(compiler, tmp_path, ()) < 64
    fix = header_to_include(compiler)
    assert stores(compiler, tmp_path, ("-include", str(fix))) >= 64


def stores(compiler: str, folder: Path, flags: tuple[str, ...]) -> int:
    """Return how many bytes of a tile configuration survive the optimiser."""
    source = folder / "tiles.cpp"
    source.write_text(PROGRAM)
    command = [compiler, "-O2", "-mamx-tile", *flags, "-S", "-o", "-", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    vectors = re.findall(r"mov[au]ps|movdq[au]", done.stdout)
    words = re.findall(r"movq\s.*\(%rsp\)", done.stdout)
    return 16 * len(vectors) + 8 * len(words)


def test_compiler_that_does_not_exist_for_this_cpu_needs_no_header():
    assert header_to_include("true") is None
