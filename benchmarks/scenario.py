"""What a scenario is, and which rows of the table come from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from benchmarks.peers import Contender, Peer
from benchmarks.raw_decode import RawDecode
from benchmarks.servers import Server

__all__ = ("Figures", "Row", "Scenario", "measure")

Figures = dict[str, float]
"""What one measurement of one server gave, by name."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: one of a scenario's figures, compared."""

    name: str
    key: str
    """Of the scenario's figures."""
    unit: str
    targets: Mapping[str, float | None]
    """Peers it is compared with → least ratio, if any; above 1 ours is better."""
    less_is_better: bool = False
    """The ratio is theirs over ours."""
    limit: float | None = None
    """The most that ours may need, in `unit`."""
    details: Mapping[str, str] = field(default_factory=dict)
    """Label → key of further figures that the table shows."""

    def compares(self, peer: Peer, *, stands_in: bool) -> bool:
        """Tell whether it is measured against `peer`, see `target`."""
        return peer.name in self.targets or (
            stands_in and peer.is_llama_server and "llama-server" in self.targets
        )

    def target(self, peer: Peer) -> float | None:
        """Return the least ratio to `peer`; to llama-server's kind, llama-server's."""
        if self.targets.get(peer.name) is None and peer.is_llama_server:
            return self.targets.get("llama-server")
        return self.targets.get(peer.name)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Work for one server at a time, and the rows that its figures go to."""

    name: str
    n_slots: int
    n_ctx: int
    """Tokens of all slots together."""
    work: Callable[[Server, int], Figures]
    """(server, round) → figures; the round makes every round's prompts new."""
    rows: tuple[Row, ...]
    decode_shape: tuple[int, int] | None = None
    """Streams and tokens of each, where it is plain decoding."""
    weighs_memory: bool = False
    """Each measurement also has what `benchmarks.memory.weigh` gives."""

    def rows_against(self, peer: Peer, *, stands_in: bool) -> tuple[Row, ...]:
        """Return the rows that `peer` is measured for."""
        return tuple(
            row for row in self.rows if row.compares(peer, stands_in=stands_in)
        )


def measure(
    contender: Contender, scenario: Scenario, round: int, n_prompt: int
) -> Figures:
    """Have one contender do the work once.

    Args:
        contender: A running server, or the bare decoding.
        scenario: What it has to do.
        round: Makes the prompts new.
        n_prompt: Tokens of each prompt as ours counted them, for the bare decoding.
    """
    if isinstance(contender, RawDecode):
        if scenario.decode_shape is None:
            raise ValueError(f"{scenario.name} is more than decoding")
        n_streams, n_tokens = scenario.decode_shape
        rate = contender.rate(n_prompt, n_tokens, n_streams)
        return {"decode_tokens_per_second": rate}
    return scenario.work(contender, round)
