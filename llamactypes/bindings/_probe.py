"""Judge a library in a process of its own.

Opening a library runs its constructors, and a refused one may stay in memory; a child
process keeps both away, and survives what would kill this one.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

from llamactypes.bindings._candidates import Candidate, Verdict
from llamactypes.errors import LibraryError, LibraryNotFound

_TIMEOUT_S = 60.0
_CHILD = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from llamactypes.bindings._probe import main; main(sys.argv[2])"
)


def probe(candidate: Candidate) -> Candidate:
    """Return `candidate` with its verdict, formed in a child process."""
    root = str(Path(__file__).resolve().parents[2])
    question = json.dumps([candidate.path, candidate.origin, list(candidate.needs_cpu)])
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-c", _CHILD, root, question],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return _refused(candidate, f"{candidate.path}: cannot be examined: {error}")
    if child.returncode != 0:
        return _refused(candidate, f"{candidate.path}: {_end_of(child)}")
    answer = json.loads(child.stdout.splitlines()[-1])
    return replace(
        candidate,
        verdict=Verdict(answer["verdict"]),
        reasons=tuple(answer["reasons"]),
        abi=answer["abi"],
        version=answer["version"],
    )


def main(question: str) -> None:
    """Answer in the child process: the verdict as one line of JSON."""
    # Not an import at the top: the loader imports this module.
    from llamactypes.bindings import _loader

    path, origin, needs_cpu = json.loads(question)
    candidate = Candidate(path, origin, needs_cpu=tuple(needs_cpu))
    try:
        library, identified = _loader.examine(candidate)
    except LibraryNotFound as error:
        candidate = replace(candidate, verdict=Verdict.ABSENT, reasons=(str(error),))
    except LibraryError as error:
        candidate = _refused(candidate, str(error))
    else:
        candidate = replace(
            candidate,
            verdict=Verdict.USABLE,
            abi=identified.layout.name,
            version=_loader.text_of(library, "llama_version"),
            reasons=(*library.notes, *dict.fromkeys(identified.withheld.values())),
        )
    answer = asdict(candidate) | {"verdict": candidate.verdict.value}
    print(json.dumps(answer))


def _refused(candidate: Candidate, reason: str) -> Candidate:
    return replace(candidate, verdict=Verdict.REFUSED, reasons=(reason,))


def _end_of(child: subprocess.CompletedProcess[str]) -> str:
    if child.returncode < 0:
        name = signal.Signals(-child.returncode).name
        return f"opening it ended the examining process with {name}"
    lines = child.stderr.strip().splitlines()
    last = lines[-1] if lines else "no message"
    return f"the examining process failed: {last}"
