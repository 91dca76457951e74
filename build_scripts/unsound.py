"""Libraries that a known fault of the compiler makes unusable."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

__all__ = ("AMX_VARIANT", "breaks_amx", "unsound_libraries", "without")

AMX_VARIANT = "libggml-cpu-sapphirerapids.so"

_LOADS_TILES = "_tile_loadconfig"
_TOO_SMALL = "const void **"


def unsound_libraries(cxx_compiler: str) -> dict[str, str]:
    """Return the names of built libraries to leave out, each with the reason."""
    if not breaks_amx(intrinsics_header(cxx_compiler)):
        return {}
    reason = (
        "this compiler drops most of the AMX tile configuration, so that the variant "
        "ends the process with an illegal instruction on CPUs with AMX; they use the "
        "next best variant. A compiler that is sound here is Clang"
    )
    return {AMX_VARIANT: reason}


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
    """Tell whether loading a tile configuration loses part of it.

    GCC's header declares that ``ldtilecfg`` reads one pointer's worth of memory, where
    it reads 64 bytes: the optimiser then deletes the stores to the other 56, and the
    first instruction on a tile is illegal. Seen with GCC 12.2 on a Xeon with AMX.
    """
    _, found, after = header.partition(_LOADS_TILES)
    body = after.partition("}")[0]
    return bool(found) and _TOO_SMALL in body


def without(libraries: Mapping[str, Path], names: Mapping[str, str]) -> dict[str, Path]:
    """Return `libraries` less those named."""
    return {name: path for name, path in libraries.items() if name not in names}
