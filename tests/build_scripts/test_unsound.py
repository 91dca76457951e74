from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from unsound import (
    AMX_VARIANT,
    breaks_amx,
    intrinsics_header,
    unsound_libraries,
    without,
)

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


def test_amx_variant_is_left_out_with_its_reason():
    compiler = shutil.which("g++")
    if compiler is None or not breaks_amx(intrinsics_header(compiler)):
        pytest.skip("no g++ with the fault here")
    assert "Clang" in unsound_libraries(compiler)[AMX_VARIANT]


def test_compiler_that_does_not_exist_for_this_cpu_leaves_nothing_out():
    assert unsound_libraries("true") == {}


def test_without_keeps_the_rest():
    libraries = {"a": Path("a"), "b": Path("b")}
    assert without(libraries, {"a": "why"}) == {"b": Path("b")}
