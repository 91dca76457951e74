"""Known faults of compilers, and what mends them."""

from __future__ import annotations

import subprocess
from pathlib import Path

__all__ = ("breaks_amx", "header_to_include", "intrinsics_header")

_AMX_FIX = Path(__file__).resolve().with_name("amx_tile_config.h")
_LOADS_TILES = "_tile_loadconfig"
_TOO_SMALL = "const void **"


def header_to_include(cxx_compiler: str) -> Path | None:
    """Return a header that every C++ file must include first; None: none is needed."""
    return _AMX_FIX if breaks_amx(intrinsics_header(cxx_compiler)) else None


def intrinsics_header(cxx_compiler: str) -> str:
    """Return immintrin.h as `cxx_compiler` sees it; empty where there is none."""
    done = subprocess.run(
        [cxx_compiler, "-E", "-mamx-tile", "-x", "c++", "-"],
        input="#include <immintrin.h>\n",
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    return done.stdout if done.returncode == 0 else ""


def breaks_amx(header: str) -> bool:
    """Tell whether loading an AMX tile configuration loses part of it.

    amx_tile_config.h says how. Seen with GCC 12.2: the library's variant for Sapphire
    Rapids ends the process with an illegal instruction at the first quantized model.
    """
    _, found, after = header.partition(_LOADS_TILES)
    body = after.partition("}")[0]
    return bool(found) and _TOO_SMALL in body
