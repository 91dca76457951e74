"""The command line."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from benchmarks.peers import PEERS, Places

__all__ = ("DEFAULT_BINARIES", "parse", "places")

DEFAULT_BINARIES = Path(".build/peers/bin")
_QUICK_ROUNDS, _ROUNDS = 2, 3
_QUICK_MINUTES = 2.0  # nothing is begun after that: 3 with what was begun before


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line; what depends on --quick gets its default here."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks",
        description="Our server against its peers: same model, library, threads and "
        "work, side by side in one run. Machines are noisy: the work alternates "
        "between the servers, and only the ratio within a round counts.",
    )
    _add_what(parser)
    _add_where(parser)
    _add_output(parser)
    options = parser.parse_args(arguments)
    if options.rounds is None:
        options.rounds = _QUICK_ROUNDS if options.quick else _ROUNDS
    if options.minutes is None:
        options.minutes = _QUICK_MINUTES if options.quick else math.inf
    if options.rounds < 1 or options.threads < 1:
        parser.error("--rounds and --threads must be at least 1")
    return options


def places(options: argparse.Namespace) -> Places:
    """Return where to look for peers."""
    return Places(
        options.peers or DEFAULT_BINARIES,
        options.xllamacpp_python,
        options.llama_cpp_python,
    )


def _add_what(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quick", action="store_true", help="fewer and shorter scenarios"
    )
    parser.add_argument(
        "--only", default="", help="a part of the names of scenarios to run"
    )
    parser.add_argument(
        "--peer",
        action="append",
        choices=PEERS,
        help="compare with this one, repeatable; default: all that are here",
    )
    parser.add_argument("--model", type=Path, help="GGUF; default: the demo model")
    parser.add_argument("--threads", type=int, default=1, help="default: 1")
    parser.add_argument(
        "--rounds",
        type=int,
        help=f"default: {_ROUNDS}, with --quick {_QUICK_ROUNDS}",
    )

    parser.add_argument(
        "--minutes",
        type=float,
        help="begin nothing after this time; default: no limit, with --quick "
        f"{_QUICK_MINUTES}",
    )


def _add_where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--peers",
        type=Path,
        help="folder with llama-server, llama-batched-bench and their library; "
        f"default: {DEFAULT_BINARIES}",
    )
    parser.add_argument(
        "--xllamacpp-python",
        type=Path,
        default=Path(sys.executable),
        help="interpreter that has xllamacpp; default: this one",
    )
    parser.add_argument(
        "--llama-cpp-python",
        type=Path,
        default=Path(sys.executable),
        help="interpreter that has llama-cpp-python[server]; default: this one",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--markdown", type=Path, help="write a table to this file")
    parser.add_argument(
        "--plot", type=Path, help="draw the ratios into this file (.png, .svg)"
    )
    parser.add_argument(
        "--from-json",
        type=Path,
        help="measure nothing: write table and plot of this earlier run",
    )
