"""The state of one request inside the engine: counters that only grow. Pure.

There is no prefill phase and no decode phase: a sequence has ``tokens``, of which
``n_computed`` are in the KV cache, and wants to catch up.

    tokens    [ p p p p p p p p | g g g s ]        p prompt, g generated, s just sampled
    n_prompt   ───────────────▶ 8
    n_computed ──────────────────────▶ 11          = len(tokens) - 1 while generating
"""

from __future__ import annotations

import enum
from collections.abc import Callable

from llamactypes.engine.measures.timings import Timings
from llamactypes.engine.planning.adapters import NO_ADAPTERS, AdapterUse, Scales
from llamactypes.engine.prefixes.checkpoints import Checkpoints
from llamactypes.engine.request import (
    Delta,
    FinishReason,
    GenerationRequest,
    Progress,
    Result,
    TokenProbs,
)
from llamactypes.engine.text.text_stream import TextStream
from llamactypes.errors import LlamaError

__all__ = ("MOST_FORCED", "Sequence", "SequenceState")

MOST_FORCED = 32
"""Tokens that a constraint may add to a sampled one: fewer than make others wait."""


class SequenceState(enum.IntEnum):
    """Ordered: a later state is never left for an earlier one but by preemption."""

    WAITING = 0
    RUNNING = 1
    FINISHED = 2


class Sequence:
    """One request, from its submission to its result. Engine thread only."""

    __slots__ = (
        "_n_read",
        "_pending_probs",
        "_pending_text",
        "_pending_tokens",
        "checkpoints",
        "cuts",
        "id",
        "is_entered",
        "is_watched",
        "n_cached",
        "n_computed",
        "n_decoded",
        "n_prompt",
        "n_prompt_computed",
        "n_prompt_probs",
        "n_trusted",
        "n_wanted",
        "piece_of",
        "request",
        "result",
        "seed",
        "slot",
        "state",
        "t_due",
        "t_first",
        "t_last",
        "t_start",
        "t_submit",
        "text",
        "tokens",
        "truncated",
        "use",
        "waits_for",
    )

    def __init__(
        self,
        id: int,
        request: GenerationRequest,
        seed: int = 0,
        use: AdapterUse = NO_ADAPTERS,
    ) -> None:
        self.id = id
        self.request = request
        self.seed = seed
        self.use = use
        self.tokens: list[int] = [*request.prompt_tokens, *request.generated]
        self.n_prompt = len(request.prompt_tokens)
        self.n_computed = 0
        self.n_cached = 0
        self.n_prompt_computed = 0
        self.n_prompt_probs = 0
        self.n_trusted: int | None = None
        self.checkpoints: Checkpoints = ()
        self.cuts: list[int] = []
        self.waits_for: Sequence | None = None
        self.n_wanted = 0
        self.n_decoded = len(request.generated)
        self.slot: int | None = None
        self.is_entered = False
        self.state = SequenceState.WAITING
        self.text = TextStream(request.stop, request.n_indent)
        self.piece_of: Callable[[int], bytes] = _no_piece
        self.is_watched = bool(
            request.stop or request.n_indent or request.t_max_predict_ms > 0
        )
        self.truncated = False
        self.result: Result | None = None
        self.t_submit = 0.0
        self.t_start = 0.0
        self.t_first = 0.0
        self.t_last = 0.0
        self.t_due = 0.0
        self._pending_text = ""
        self._pending_tokens: list[int] = []
        self._pending_probs: list[TokenProbs] = []
        self._n_read = 0

    @property
    def scales(self) -> Scales:
        """The LoRA adapters that its next token is computed with."""
        return self.use.at(self.n_computed)

    @property
    def n_missing(self) -> int:
        """Tokens not in the KV cache yet."""
        return len(self.tokens) - self.n_computed

    @property
    def n_skippable(self) -> int:
        """Most leading tokens whose computation can be left out.

        One is computed at least, for its logits are needed; of a prompt whose logprobs
        are wanted, every token whose successor has none yet.
        """
        wanted = self.request.prompt_probs is not None
        if wanted and self.n_prompt_probs < self.n_prompt - 1:
            return self.n_prompt_probs
        return len(self.tokens) - 1

    def prompt_rows(self, end: int) -> range:
        """Return the positions below `end` whose logits prompt logprobs need."""
        if self.request.prompt_probs is None:
            return range(0)
        first = max(self.n_computed, self.n_prompt_probs)
        return range(first, max(first, min(end, self.n_prompt - 1)))

    @property
    def n_until_cut(self) -> int:
        """Tokens up to the next of `cuts`, where a checkpoint is wished."""
        ahead = (cut for cut in self.cuts if cut > self.n_computed)
        return min(ahead, default=len(self.tokens)) - self.n_computed

    @property
    def n_reusable(self) -> int:
        """Computed tokens that stand for themselves.

        After a context shift those behind the gap were computed with what is gone.
        """
        if self.n_trusted is None:
            return self.n_computed
        return min(self.n_computed, self.n_trusted)

    @property
    def is_held(self) -> bool:
        """Whether it still waits for another to compute the prefix both share."""
        other = self.waits_for
        return (
            other is not None
            and other.state is SequenceState.RUNNING
            and other.n_computed < self.n_wanted
        )

    @property
    def n_remaining(self) -> int:
        """Tokens the limit still allows; -1: no limit."""
        limit = self.request.max_tokens
        return -1 if limit < 0 else max(0, limit - self.n_decoded)

    @property
    def is_generating(self) -> bool:
        """Whether its next chunk is one sampled token."""
        return self.n_decoded > 0 and self.n_missing == 1

    @property
    def has_forced(self) -> bool:
        """Whether its next chunk begins with what was sampled, and more was forced."""
        is_behind_prompt = self.n_computed >= self.n_prompt and self.n_decoded > 0
        return is_behind_prompt and 1 < self.n_missing <= MOST_FORCED + 1

    def start(self, n_cached: int, now: float) -> None:
        """Begin in its slot, of whose KV cache the first `n_cached` tokens are ours."""
        self.is_entered = True
        self.n_computed = n_cached
        if not self.t_start:
            self.t_start = now
            self.n_cached = n_cached

    def resume(self) -> None:
        """Be where an earlier generation was after `GenerationRequest.generated`."""
        for token in self.request.generated:
            self.text.feed(self.piece_of(token))

    def add_token(self, token: int, now: float) -> None:
        """Append a sampled token; its text is read when somebody needs it."""
        if not self.t_first:
            self.t_first = now
        self.t_last = now
        self.n_decoded += 1
        self.tokens.append(token)
        self._pending_tokens.append(token)

    def add_probs(self, probs: TokenProbs) -> None:
        """Note the logprobs of the token added last."""
        self._pending_probs.append(probs)

    def read(self) -> str:
        """Read the text of all tokens so far; return what of it may be sent now.

        PERF: many tokens at once cost hardly more than one, so that only those of an
        `is_watched` sequence, whose text may end it, are read one by one.
        """
        unread = self._pending_tokens[self._n_read :]
        text = self.text.feed(b"".join(map(self.piece_of, unread)))
        self._n_read += len(unread)
        self._pending_text += text
        return text

    @property
    def has_new_line(self) -> bool:
        """Whether the text so far has one. Any thread."""
        unread = self._pending_tokens[self._n_read :]
        return self.text.has_new_line or any(
            b"\n" in self.piece_of(token) for token in unread
        )

    def take_delta(self) -> Delta | None:
        """Bundle all since the last delta; None when nothing is due.

        Tokens wait for the character or the stop sequence they may be part of.
        """
        self.read()
        text = self._pending_text
        if not text and (self.state is not SequenceState.FINISHED):
            return None
        if not text and not self._pending_tokens:
            return None
        delta = Delta(
            text,
            tuple(self._pending_tokens),
            tuple(self._pending_probs),
            self.n_decoded,
            self.timings(),
        )
        self._pending_text = ""
        self._pending_tokens.clear()
        self._pending_probs.clear()
        self._n_read = 0
        return delta

    def progress_delta(self, now: float) -> Delta:
        """Return a delta that only says how far the prompt is."""
        progress = Progress(
            self.n_prompt,
            self.n_cached,
            min(self.n_computed, self.n_prompt),
            (now - self.t_start) * 1e3,
        )
        return Delta("", (), (), self.n_decoded, self.timings(now), progress)

    def prompt_delta(self, probs: tuple[TokenProbs, ...]) -> Delta:
        """Return a delta with the logprobs of the next prompt tokens."""
        self.n_prompt_probs += len(probs)
        timings = self.timings()
        return Delta("", (), (), self.n_decoded, timings, prompt_probs=probs)

    def timings(self, now: float = 0.0) -> Timings:
        """Return counts and durations as of the last token.

        Before the first one the prompt is timed until `now`.
        """
        t_prompt = self.t_first or now
        n_decoded = self.n_decoded - len(self.request.generated)
        return Timings(
            self.n_cached,
            self.n_prompt_computed,
            (t_prompt - self.t_start) * 1e3 if t_prompt else 0.0,
            n_decoded,
            max(1e-3, (self.t_last - self.t_first) * 1e3) if n_decoded else 0.0,
        )

    def finish(self, reason: FinishReason, error: LlamaError | None = None) -> Result:
        """End with `reason`; the slot is the scheduler's to give back."""
        self.state = SequenceState.FINISHED
        self.read()
        self._pending_text += self.text.finish()
        self.result = self._result(reason, error)
        return self.result

    def lost(self, error: LlamaError) -> Result:
        """Return a result for readers while whoever owns the sequence is stuck.

        Nothing is changed: any thread may ask.
        """
        return self._result(FinishReason.ERROR, error)

    def _result(self, reason: FinishReason, error: LlamaError | None) -> Result:
        return Result(
            finish=reason,
            stopping_word=self.text.stopping_word,
            n_prompt=self.n_prompt,
            n_decoded=self.n_decoded,
            n_cached=self.n_cached,
            n_tokens_in_slot=self.n_computed,
            truncated=self.truncated,
            has_new_line=self.text.has_new_line,
            timings=self.timings(),
            id_slot=-1 if self.slot is None else self.slot,
            seed=self.seed,
            error=error,
        )


def _no_piece(token: int) -> bytes:
    raise LookupError(f"token {token} of a sequence that was never submitted")
