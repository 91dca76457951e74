"""Where a sequence meets an end: a limit, the end of its text, a full context. Pure."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from llamactypes.engine.planning.plan import Shift
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.request import FinishReason

__all__ = ("Limits",)


class Limits:
    """What ends a sequence, or makes it lose its middle. Immutable."""

    def __init__(
        self,
        n_ctx_slot: int,
        end_tokens: AbstractSet[int],
        *,
        context_shift: bool = False,
        n_keep_extra: int = 0,
    ) -> None:
        """Know the limits.

        Args:
            n_ctx_slot: Most tokens one sequence may hold.
            end_tokens: By which the model says that it is done.
            context_shift: Go on when a context is full, losing its middle.
            n_keep_extra: Tokens always kept at a shift: 1 when prompts begin with BOS.
        """
        self._n_ctx_slot = n_ctx_slot
        self._end_tokens = end_tokens
        self._context_shift = context_shift
        self._n_keep_extra = n_keep_extra

    def reason(self, sequence: Sequence, token: int) -> FinishReason | None:
        """Return why a sequence ends with the `token` just added; None: it goes on.

        The text decides only where `Sequence.is_watched`.
        """
        text = sequence.read() if sequence.is_watched else ""
        if sequence.text.stopping_word:
            return FinishReason.STOP_WORD
        if token in self._end_tokens:
            return FinishReason.STOP_EOS
        if sequence.text.was_cut or sequence.n_decoded == sequence.request.max_tokens:
            return FinishReason.LENGTH
        if len(sequence.tokens) >= self._n_ctx_slot and not self._context_shift:
            sequence.truncated = True
            return FinishReason.LENGTH
        return FinishReason.LENGTH if _is_late(sequence, text) else None

    def shifts(self, running: list[Sequence]) -> list[Shift]:
        """Shorten the sequences whose context is full; return what to move."""
        if not self._context_shift:
            return []
        n_full = self._n_ctx_slot - 1
        return [
            self._shift(sequence)
            for sequence in running
            if sequence.n_computed >= n_full and sequence.is_generating
        ]

    def _shift(self, sequence: Sequence) -> Shift:
        # [0, keep) stays, [keep, keep + discard) goes, the rest up to end moves down.
        end = sequence.n_computed
        keep = sequence.request.n_keep
        keep = (sequence.n_prompt if keep < 0 else keep) + self._n_keep_extra
        keep = min(self._n_ctx_slot - 4, keep)
        n_left = end - keep
        discard = sequence.request.n_discard or n_left // 2
        discard = min(max(discard, 0), max(0, n_left - 1))
        del sequence.tokens[keep : keep + discard]
        sequence.n_trusted = min(keep, sequence.n_trusted or keep)
        sequence.checkpoints = ()
        sequence.n_computed -= discard
        sequence.use = sequence.use.shifted(keep, discard)
        sequence.truncated = True
        assert sequence.slot is not None
        return Shift(sequence.slot, keep, discard, end)


def _is_late(sequence: Sequence, new_text: str) -> bool:
    """Whether a line ended after the time the request allows."""
    limit_ms = sequence.request.t_max_predict_ms
    if limit_ms <= 0 or "\n" not in new_text:
        return False
    return (sequence.t_last - sequence.t_first) * 1e3 > limit_ms
