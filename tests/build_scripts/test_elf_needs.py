from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import elf
import pytest
from elf import highest, needs_of, parse_dynamic, parse_versions
from pin import BuildError

LISTING = """
Dynamic section at offset 0x2df0 contains 30 entries:
  Tag        Type                         Name/Value
 0x0000000000000001 (NEEDED)             Shared library: [libggml.so.0]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x000000000000000e (SONAME)             Library soname: [libllama.so.0]
 0x000000000000001d (RUNPATH)            Library runpath: [$ORIGIN]

Version definition section '.gnu.version_d' contains 2 entries:
  000000: Rev: 1  Flags: BASE  Index: 1  Cnt: 1  Name: libllama.so.0
  0x001c: Rev: 1  Flags: none  Index: 2  Cnt: 1  Name: GLIBC_9.9

Version needs section '.gnu.version_r' contains 2 entries:
  000000: Version: 1  File: libc.so.6  Cnt: 3
  0x0010:   Name: GLIBC_2.2.5  Flags: none  Version: 5
  0x0020:   Name: GLIBC_2.34  Flags: none  Version: 4
  0x0030:   Name: GLIBC_2.4  Flags: none  Version: 3
  0x0040: Version: 1  File: libstdc++.so.6  Cnt: 2
  0x0050:   Name: GLIBCXX_3.4.29  Flags: none  Version: 2
  0x0060:   Name: CXXABI_1.3  Flags: none  Version: 6
"""

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="ELF is Linux's format")


def test_parse_dynamic_finds_name_needs_and_run_path():
    wanted = ("libllama.so.0", ("libggml.so.0", "libc.so.6"), "$ORIGIN")
    assert parse_dynamic(LISTING) == wanted


def test_parse_versions_leaves_out_what_the_library_defines():
    versions = parse_versions(LISTING)
    assert versions["GLIBC"] == {"2.2.5", "2.34", "2.4"}
    assert versions["GLIBCXX"] == {"3.4.29"}


def test_highest_compares_numbers_and_not_text():
    assert highest({"2.9", "2.34", "2.4"}) == "2.34"
    assert highest(()) == ""


@linux_only
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_needs_of_reads_a_real_library(tmp_path: Path):
    library = tmp_path / "libtiny.so"
    source = tmp_path / "tiny.c"
    source.write_text("#include <stdio.h>\nvoid f(void) { puts(0); }\n")
    command = ["cc", "-shared", "-fPIC", source, "-o", library]
    command += ["-Wl,-soname,libtiny.so.7", "-Wl,-rpath,$ORIGIN"]
    subprocess.run(command, check=True, timeout=30)
    needs = needs_of(library)
    assert needs.soname == "libtiny.so.7"
    assert "libc.so.6" in needs.libraries
    assert needs.run_path == "$ORIGIN"
    assert needs.glibc.startswith("2.")


def test_needs_of_refuses_what_is_no_library(tmp_path: Path):
    (tmp_path / "text").write_text("no library")
    with pytest.raises(BuildError, match=r"not an ELF|readelf is not"):
        needs_of(tmp_path / "text")


def test_needs_of_says_how_to_get_readelf(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(elf, "find_tool", lambda name: None)
    with pytest.raises(BuildError, match="apt install binutils"):
        needs_of(tmp_path)
