"""How much of whom the next decode computes. Pure.

Running sequences go first: a long prompt must not stall tokens already streaming.
Prompts fill what is left, in the order they were admitted, within what the pace of the
streams and the reaction to a cancel allow.
"""

from __future__ import annotations

from llamactypes.engine.planning.adapters import AdapterTurns
from llamactypes.engine.planning.deterministic import Turns
from llamactypes.engine.planning.pace import Pace
from llamactypes.engine.planning.plan import Chunk, Plan
from llamactypes.engine.planning.reaction import Reaction
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.planning.tiles import chunk_length, whole_tiles

__all__ = ("Planner",)

_FEW_STREAMS = 4


class Planner:
    """Plans decodes, and learns from how long they took. Engine thread only."""

    def __init__(
        self,
        n_batch: int,
        *,
        n_rows: int = 256,
        is_unified: bool = False,
        turns: Turns | None = None,
        has_adapters: bool = False,
        pace: Pace | None = None,
        reaction: Reaction | None = None,
    ) -> None:
        """Begin without a plan.

        Args:
            n_batch: Most tokens in one plan.
            n_rows: Most rows of logits in one plan for the logprobs of prompts.
            is_unified: One KV buffer for all sequences.
            turns: Plans in deterministic mode.
            has_adapters: Sequences may differ in their LoRA adapters.
            pace: Limits prompts while others generate; None: no limit.
            reaction: Limits prompts at any time; None: no limit.
        """
        self.n_batch = n_batch
        self.turns = turns
        self._adapter_turns = AdapterTurns() if has_adapters else None
        self._n_rows = n_rows
        self._is_unified = is_unified
        self._pace = pace or Pace(0.0)
        self._reaction = reaction or Reaction(0, n_batch)
        self._steady: Plan | None = None

    @property
    def steady(self) -> Plan | None:
        """The plan that holds until `forget`: everyone generates. None: there is none.

        PERF: nothing must be looked at to plan such a step, which is nearly every one.
        """
        return self._steady

    def forget(self) -> None:
        """Look again: some sequence came, went, or lost a part of what is computed."""
        self._steady = None

    def note(self, plan: Plan, seconds: float) -> None:
        """Learn from a decode that was not interrupted, sampling included."""
        self._pace.note(plan.n_generating, plan.n_prompt, seconds)
        self._reaction.note(plan, seconds)

    def plan(self, running: list[Sequence]) -> Plan:
        """Return the next decode."""
        if self.turns is not None:
            return self.turns.plan(running)
        if self._steady is not None:
            return self._steady
        turn = running
        if self._adapter_turns is not None:
            turn = self._adapter_turns.choose(running)
        generating = tuple(one for one in turn if one.is_generating)
        if len(generating) == len(running):
            self._steady = Plan(generating)
            return self._steady
        forced = self._forced(turn, len(generating))
        n_streams = len(generating) + sum(chunk.n_tokens for chunk in forced)
        budget = self._budget(running, n_streams)
        prompts = self._prompts(turn, self.n_batch - n_streams, budget)
        return Plan(generating, (*forced, *prompts))

    def _forced(self, turn: list[Sequence], n_generating: int) -> list[Chunk]:
        """Return what streams compute that have more than one token.

        All of it at once where that costs less than one token in each step. With a
        buffer for each sequence the library computes the first token of everyone
        together, and what remains apart for each length (llama-batch.cpp,
        ``split_equal``).

        PERF: of JSON by a schema two fifths are forced. With a 135M model on a CPU, at
        once gives 1.35 times the tokens per second for 2 streams, 1.11 for 4, 0.94 for
        8; one by one 1.12, 1.03, 1.05.
        """
        streams = [one for one in turn if one.has_forced and one.is_entered]
        n_more = sum(one.n_missing - 1 for one in streams)
        n_room = self.n_batch - n_generating - len(streams)
        n_streams = n_generating + len(streams)
        is_worth = self._is_unified or (
            n_streams <= _FEW_STREAMS and n_more >= n_streams
        )
        if not is_worth or n_more > n_room:
            return [_forced_chunk(one, 1) for one in streams]
        return [_forced_chunk(one, one.n_missing) for one in streams]

    def _budget(self, running: list[Sequence], n_generating: int) -> int:
        """Return how many prompt tokens to take."""
        room = self.n_batch - n_generating
        has_streams = n_generating or any(
            one.is_generating or one.has_forced for one in running
        )
        n_abortable = self._reaction.n_prompt_max(running)
        limits = (self._pace.n_prompt_max if has_streams else None, n_abortable)
        limit = min((n for n in limits if n is not None), default=None)
        if limit is None:
            return room
        n_max = whole_tiles(limit, n_generating, is_unified=self._is_unified)
        return min(room, n_max)

    def _prompts(self, turn: list[Sequence], room: int, budget: int) -> list[Chunk]:
        """Return the next parts of prompts: `budget` tokens, `room` at the most."""
        chunks: list[Chunk] = []
        n_rows = self._n_rows
        for sequence in turn:
            if budget <= 0:
                break
            if sequence.is_generating or sequence.has_forced:
                continue
            if not sequence.is_entered:
                continue
            n_tokens = chunk_length(sequence.n_missing, budget, room)
            chunk = _prompt_chunk(sequence, n_tokens, n_rows)
            if chunk.n_tokens:
                chunks.append(chunk)
            room -= chunk.n_tokens
            budget -= chunk.n_tokens
            n_rows -= len(chunk.prompt_rows)
        return chunks


def _prompt_chunk(sequence: Sequence, budget: int, n_rows: int) -> Chunk:
    """Return the next part of a prompt: at most `budget` tokens, `n_rows` rows."""
    start = sequence.n_computed
    n_tokens = min(sequence.n_missing, sequence.n_until_cut, budget)
    rows = sequence.prompt_rows(start + n_tokens)
    if len(rows) > n_rows:
        rows = rows[:n_rows]
        n_tokens = rows.stop - start
    wants = n_tokens == sequence.n_missing and sequence.n_remaining != 0
    return Chunk(sequence, start, n_tokens, wants, rows)


def _forced_chunk(sequence: Sequence, n_tokens: int) -> Chunk:
    wants = n_tokens == sequence.n_missing and sequence.n_remaining != 0
    return Chunk(sequence, sequence.n_computed, n_tokens, wants, is_forced=True)
