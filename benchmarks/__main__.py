"""Our server against its peers: same model, library, threads and work, in one run.

python -m benchmarks --quick                      a few minutes, with what is here
python -m benchmarks --only decode --rounds 5     some scenarios, more rounds
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from api.settings.demo_model import find_demo_model
from api.settings.flags import SettingsError
from benchmarks import comparison, report
from benchmarks.machine import describe, headline
from benchmarks.options import parse, places
from benchmarks.peers import PEERS, Missing, Peer, find_peers
from benchmarks.ratios import Result
from benchmarks.scenario import Scenario
from benchmarks.scenarios import scenarios

_NOBODY = (
    "There is nobody to compare with, so these are our own figures. The quickest way "
    "to a comparison: pip install xllamacpp, which has llama-server inside."
)


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; return the process's exit status."""
    options = parse(arguments)
    try:
        if options.plot:
            _require_plot()
        if options.from_json:
            machine, results = report.read_report(options.from_json)
        else:
            machine, results = _measure(options)
    except (RuntimeError, SettingsError, OSError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    _write(options, machine, results)
    return 0


def _measure(options: argparse.Namespace) -> tuple[dict[str, Any], list[Result]]:
    peers, missing = find_peers(places(options), tuple(options.peer or PEERS))
    _require_named(options, missing)
    model = options.model or Path(find_demo_model())
    machine = describe(options.threads, model)
    print(headline(machine))
    for peer in peers:
        print(f"peer: {peer.name} {peer.version}, library {peer.library}")
    if not peers:
        print(_NOBODY)
    session = _Session(options, model, peers)
    session.run()
    skipped = report.notes(missing, session.failed)
    print("\n".join(["", *skipped]))
    if options.json:
        report.write_report(
            options.json,
            machine,
            peers,
            session.results,
            skipped,
            session.failed,
            session.rounds,
        )
    if session.failed and not session.results:
        raise RuntimeError("nothing could be measured, see above")
    return machine, session.results


class _Session:
    """All scenarios of a run; a peer that fails is named and the run goes on."""

    def __init__(
        self, options: argparse.Namespace, model: Path, peers: list[Peer]
    ) -> None:
        self.results: list[Result] = []
        self.rounds: list[dict[str, Any]] = []
        self.failed: dict[str, str] = {}
        self._peers = peers
        self._chosen = options.peer or ()
        self._plan = comparison.Plan(
            model,
            options.threads,
            options.rounds,
            ends_at=time.monotonic() + 60 * options.minutes,
            has_full_warm_up=not options.quick,
        )
        self._scenarios = [
            one
            for one in scenarios(quick=options.quick)
            if options.only in one.name
            or any(options.only in row.name for row in one.rows)
        ]

    def run(self) -> None:
        """Measure each scenario against each peer that it is for."""
        print(report.HEADER)
        pairs = [
            (scenario, peer)
            for scenario in self._scenarios
            for peer in self._peers
            if scenario.rows_against(peer, stands_in=self._stands_in(peer))
        ]
        if math.isfinite(self._plan.ends_at):  # what matters most before time is up
            pairs.sort(key=lambda pair: self._peers.index(pair[1]))
        for scenario, peer in pairs:
            self._run_one(scenario, peer)
        if not self._peers:
            for scenario in self._scenarios:
                self._run_one(scenario, None)

    def _run_one(self, scenario: Scenario, peer: Peer | None) -> None:
        if self._plan.is_over:
            what = f"{scenario.name}, {peer.name}" if peer else scenario.name
            self.failed[what] = "the time was up, see --minutes"
            return
        try:
            rounds = comparison.run(self._plan, scenario, peer)
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            if peer is None:
                raise
            self.failed[f"{scenario.name}, {peer.name}"] = str(error)
            return
        stands_in = peer is not None and self._stands_in(peer)
        results = comparison.results(scenario, peer, rounds, stands_in=stands_in)
        for result in results:
            print(report.line(result), flush=True)
        self.results += results
        self.rounds.append(
            {
                "scenario": scenario.name,
                "peer": peer.name if peer else None,
                "rounds": [asdict(one) for one in rounds],
            }
        )

    def _stands_in(self, peer: Peer) -> bool:
        """Tell whether `peer` takes llama-server's place: asked for, or in its absence.

        Two of a kind in every scenario would only take twice the time.
        """
        return peer.name in self._chosen or all(
            one.name != "llama-server" for one in self._peers
        )


def _require_named(options: argparse.Namespace, missing: list[Missing]) -> None:
    """Refuse to go on without a peer that the command line names."""
    for one in missing:
        if options.peer or (options.peers and one.name == "llama-server"):
            raise RuntimeError(f"{one.name} is not here. {one.how_to_get}")


def _require_plot() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise RuntimeError(
            "--plot needs matplotlib: pip install 'llamactypes[bench]'"
        ) from None


def _write(
    options: argparse.Namespace, machine: dict[str, Any], results: list[Result]
) -> None:
    if options.markdown:
        options.markdown.write_text(report.markdown(machine, results))
    if options.plot:
        from benchmarks.plot import draw

        draw(options.plot, machine, results)


if __name__ == "__main__":
    raise SystemExit(main())
