#!/usr/bin/env python3
"""Prove the bindings against llama.cpp's headers with a C compiler.

Nothing in ``llamactypes/bindings`` is believed. Every prototype is compiled again after
the headers, and compared with them word by word; ``argtypes`` and ``restype`` are
compared with the prototype; every size, offset, enumerator and constant is asserted by
the compiler; and whatever the headers have must be declared, deprecated or omitted with
a reason. The result is ``abi_report.md``; ``--check`` fails when it would change.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

from abi_headers import CHeaders, HeaderError, HeaderSet, read_headers  # noqa: E402
from abi_proofs import Declared, declared_by_bindings, prove  # noqa: E402
from abi_report import render  # noqa: E402

__all__ = ("REPORT", "check", "check_160", "compare", "header_set", "main")

REPORT = Path(__file__).resolve().parent / "abi_report.md"


def header_set(source: Path, partial: tuple[str, ...]) -> HeaderSet:
    """Return the headers of the llama.cpp tree `source` that the bindings cover."""
    return HeaderSet(
        include_dirs=(
            source / "include",
            source / "ggml" / "include",
            source / "tools" / "mtmd",
        ),
        includes=("llama.h", "mtmd.h", "mtmd-helper.h", "ggml-rpc.h"),
        complete=("llama.h", "mtmd.h", "mtmd-helper.h"),
        partial=partial,
    )


def check(source: Path, declared: Declared) -> tuple[CHeaders, list[str]]:
    """Return the headers of `source` and every proof that failed."""
    headers = header_set(source, tuple(declared.partial))
    found = read_headers(headers)
    return found, prove(headers, found, declared)


def check_160(source: Path, declared: Declared) -> list[str]:
    """Return the failed proofs against headers of the age of the 160 layout.

    Only what those headers have is proved: functions they lack must be optional.
    """
    headers = header_set(source, tuple(declared.partial))
    return prove(headers, read_headers(headers), declared, context_layout="160")


def main(arguments: list[str] | None = None) -> int:
    """Check the bindings; returns the exit status."""
    options = _parse(arguments)
    declared = declared_by_bindings()
    try:
        source = options.source or _pinned_source()
        headers, problems = check(source, declared)
        older = options.source_160 or _fetched_160()
        problems += check_160(older, declared) if older else []
    except HeaderError as error:
        problems = [str(error)]
    if not problems:
        problems = compare(render(headers, declared), write=options.write)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"{len(declared.functions)} functions proved against {source}")
        print(f"layout 160 proved against {older or 'the pin without moe_cache_size'}")
    return 1 if problems else 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--source", type=Path, help="llama.cpp tree (default: the pin's, fetched)"
    )
    parser.add_argument(
        "--source-160",
        type=Path,
        help="llama.cpp tree of b10952 to b11434 that proves the 160 layout too "
        "(default: one that fetch_upstream.py left in .build, if any)",
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--check", action="store_true", help="fail if the report would change (default)"
    )
    mode.add_argument("--write", action="store_true", help="write abi_report.md")
    return parser.parse_args(arguments)


def _pinned_source() -> Path:
    from fetch_upstream import ensure_source

    return ensure_source()


def _fetched_160() -> Path | None:
    from pin import build_root, read_pin

    folders = (build_root() / "upstream" / s.build for s in read_pin().second_layout)
    return next((path for path in folders if (path / "include").is_dir()), None)


def compare(report: str, *, write: bool) -> list[str]:
    """Return how `report` differs from the committed one; `write` replaces that."""
    if write:
        REPORT.write_text(report, encoding="utf-8")
        return []
    committed = REPORT.read_text(encoding="utf-8") if REPORT.exists() else ""
    if committed == report:
        return []
    lines = difflib.unified_diff(
        committed.splitlines(), report.splitlines(), "committed", "now", lineterm=""
    )
    hint = f"{REPORT.name} would change; check_abi.py --write updates it"
    return [*lines, hint]


if __name__ == "__main__":
    sys.exit(main())
