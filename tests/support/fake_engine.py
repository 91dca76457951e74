"""An engine without a model, for tests of the HTTP layer.

It stands at the engine's seam: what the app calls on `Engine` exists here, and its
generations are real `Generation` logs that a script, or the test itself, appends to.
Its vocabulary has one token for each byte, and a few special ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from api.settings import Settings
from llamactypes.constraints.constraint import CompiledConstraint, Constraint
from llamactypes.engine import (
    AdapterInfo,
    EmbeddingJob,
    EmbeddingRequest,
    EmbeddingResult,
    EngineMetrics,
    EngineState,
    Generation,
    ModelInfo,
    SlotOrder,
    SlotState,
)
from llamactypes.engine.constraints import Constraints
from llamactypes.engine.embedding.request import shaped
from llamactypes.engine.measures.timings import Timings
from llamactypes.engine.planning.adapters import scales_of
from llamactypes.engine.request import (
    Delta,
    FinishReason,
    GenerationRequest,
    Progress,
    Result,
    TokenProbs,
)
from llamactypes.errors import (
    EngineLoading,
    EngineStopped,
    PromptTooLong,
    TemplateError,
)
from llamactypes.vocab import SpecialToken

__all__ = (
    "BOS",
    "EOS",
    "FakeEngine",
    "FakeVocab",
    "delta",
    "make_info",
    "make_settings",
    "progress_delta",
    "prompt_delta",
    "result",
    "text_deltas",
    "token_probs",
)

BOS, EOS = 256, 257
_SPECIAL = {BOS: b"<s>", EOS: b"</s>"}


class FakeVocab:
    """A token for each byte; ``<s>`` and ``</s>`` are special."""

    n_tokens = 258
    bos, eos, sep = BOS, EOS, None
    add_eos = add_sep = False
    fim_pre = fim_suf = fim_mid = fim_rep = fim_sep = None
    eog_tokens = (EOS,)
    longest_piece_bytes = 4

    def __init__(self, *, add_bos: bool = True) -> None:
        self.add_bos = add_bos

    @property
    def special_tokens(self) -> tuple[SpecialToken, ...]:
        return tuple(
            SpecialToken(token, piece.decode()) for token, piece in _SPECIAL.items()
        )

    @property
    def control_tokens(self) -> dict[str, int]:
        return {piece.decode(): token for token, piece in _SPECIAL.items()}

    def tokenize(
        self,
        text: str | bytes,
        *,
        add_special: bool = False,
        parse_special: bool = True,
    ) -> list[int]:
        tokens = [BOS] if add_special and self.add_bos else []
        data = text.encode() if isinstance(text, str) else text
        while data:
            for token, piece in _SPECIAL.items():
                if parse_special and data.startswith(piece):
                    tokens.append(token)
                    data = data[len(piece) :]
                    break
            else:
                tokens.append(data[0])
                data = data[1:]
        return tokens

    def piece(self, token: int, *, special: bool = True) -> bytes:
        if token in _SPECIAL:
            return _SPECIAL[token] if special else b""
        return bytes([token])


def make_info(**changes: Any) -> ModelInfo:
    info = ModelInfo(
        path="/models/tiny.gguf",
        description="tiny",
        ftype="all F32",
        size_bytes=1000,
        n_params=500,
        n_ctx=512,
        n_ctx_slot=256,
        n_ctx_train=2048,
        n_embd=64,
        n_vocab=FakeVocab.n_tokens,
        vocab_type=1,
        vocab_kind="spm",
        n_slots=2,
        bos_token="<s>",
        eos_token="</s>",
        chat_template=None,
        chat_templates={},
        library="b11549-86a2835",
        devices=("CPU",),
        n_threads=1,
    )
    return dataclasses.replace(info, **changes)


def make_settings(**changes: Any) -> Settings:
    return dataclasses.replace(Settings(), **changes)


def delta(text: str, tokens: Sequence[int] = (), **changes: Any) -> Delta:
    values = {"probs": (), "n_decoded": 1, "timings": Timings()} | changes
    return Delta(text=text, tokens=tuple(tokens), **values)


def progress_delta(total: int, cache: int, processed: int) -> Delta:
    return delta("", progress=Progress(total, cache, processed, 1.5), n_decoded=0)


def prompt_delta(
    request: GenerationRequest, start: int = 1, end: int = 1 << 31
) -> Delta:
    """Return minus its position as the logprob of each prompt token in a range."""
    tokens = request.prompt_tokens
    probs = tuple(
        TokenProbs(token, FakeVocab().piece(token), -float(i), ())
        for i, token in enumerate(tokens)
        if start <= i < end
    )
    return delta("", n_decoded=0, prompt_probs=probs)


def text_deltas(text: str) -> list[Delta]:
    """Return one delta for each character, with its bytes as tokens."""
    return [
        delta(char, char.encode(), n_decoded=n) for n, char in enumerate(text, start=1)
    ]


def token_probs(piece: bytes, value: float = -0.5, n_top: int = 2) -> TokenProbs:
    top = tuple((i, bytes([97 + i]), -0.5 - i) for i in range(n_top))
    return TokenProbs(piece[0], piece, value, top)


def result(**changes: Any) -> Result:
    values: dict[str, Any] = {
        "finish": FinishReason.LENGTH,
        "stopping_word": "",
        "n_prompt": 5,
        "n_decoded": 3,
        "n_cached": 2,
        "n_tokens_in_slot": 8,
        "truncated": False,
        "has_new_line": False,
        "timings": Timings(2, 3, 30.0, 3, 20.0),
        "id_slot": 1,
        "seed": 42,
    }
    return Result(**(values | changes))


def _row(tokens: tuple[int, ...], info: ModelInfo) -> NDArray[np.float32]:
    rows = np.zeros((len(tokens) if info.pooling == "none" else 1, info.n_embd_out))
    rows[:, :2] = len(tokens), tokens[0]
    return rows.astype(np.float32)


Script = Callable[[GenerationRequest], tuple[Sequence[Delta], Result | None]]


class FakeEngine:
    """Answers every request from `script`, or leaves it to the test (``script=None``).

    Attributes:
        requests: What was submitted, in order.
        generations: Their logs.
        cancelled: Those that somebody cancelled.
    """

    def __init__(
        self,
        text: str = "abc",
        *,
        script: Script | None = None,
        is_manual: bool = False,
        info: ModelInfo | None = None,
        vocab: FakeVocab | None = None,
    ) -> None:
        self.state = EngineState.READY
        self.failure: BaseException | None = None
        self.load_progress = 1.0
        self.info = info or make_info()
        self.vocab = vocab or FakeVocab()
        self.requests: list[GenerationRequest] = []
        self.generations: list[Generation] = []
        self.cancelled: list[Generation] = []
        self.embedded: list[EmbeddingRequest] = []
        self.cancelled_jobs: list[EmbeddingJob] = []
        self.refusal: Exception | None = None
        self.slot_states = [SlotState(i, 256, False) for i in range(self.info.n_slots)]
        self.engine_metrics = EngineMetrics()
        self.n_inside = 0
        self.constraints: list[Constraint] = []
        """What was compiled, by the real compiler for the fake vocabulary."""
        self._compiled = Constraints()
        self.scales: dict[int, float] = {}
        self.orders: list[SlotOrder[Any]] = []
        self.answer: Callable[[SlotOrder[Any]], None] | None = None
        """What answers orders; None: nobody does."""
        self.rendered: list[tuple[str, list[tuple[str, str]]]] = []
        self._script = script or (lambda request: _scripted(text, request))
        self._is_manual = is_manual
        self._ids = count()

    request_limit = 8

    def submit(self, request: GenerationRequest) -> Generation:
        return self.submit_many([request])[0]

    def submit_many(self, requests: Sequence[GenerationRequest]) -> list[Generation]:
        self._refuse(requests)
        return [self._start(request) for request in requests]

    def compile_constraint(self, constraint: Constraint) -> CompiledConstraint:
        self._refuse(())
        self.constraints.append(constraint)
        return self._compiled.compile(constraint, cast(Any, self.vocab))

    @contextmanager
    def awake(self) -> Iterator[None]:
        """Wake up, and note who is inside."""
        self.n_inside += 1
        self.state = (
            EngineState.READY if self.state is EngineState.SLEEPING else self.state
        )
        try:
            yield
        finally:
            self.n_inside -= 1

    @property
    def adapters(self) -> list[tuple[AdapterInfo, float]]:
        return [
            (info, self.scales.get(id, 0.0))
            for id, info in enumerate(self.info.adapters)
        ]

    def set_adapters(self, scales: Mapping[int, float]) -> None:
        scales_of(scales, len(self.info.adapters))
        self.scales = dict(scales)

    def order(self, order: SlotOrder[Any]) -> None:
        """Note the order, and let the test answer it."""
        if order.slot >= len(self.slot_states):
            raise ValueError("Invalid slot ID: the slots are 0 to 1")
        self.orders.append(order)
        if self.answer is not None:
            order.done.set_running_or_notify_cancel()
            self.answer(order)

    def embed(self, request: EmbeddingRequest) -> EmbeddingJob:
        """Answer (length, first token, 0 …) for each input, and for each token."""
        self._refuse(())
        job = EmbeddingJob(next(self._ids), request, self.cancelled_jobs.append)
        self.embedded.append(request)
        if not self._is_manual:
            rows = (_row(tokens, self.info) for tokens in request.inputs)
            job.end(EmbeddingResult(tuple(shaped(each, request) for each in rows)))
        return job

    def slots(self) -> list[SlotState]:
        return self.slot_states

    def metrics(self) -> EngineMetrics:
        return self.engine_metrics

    def retry_after_s(self, n_ahead: int, n_at_once: int) -> float:
        return n_ahead / n_at_once

    def render_legacy(
        self,
        template: str,
        messages: Sequence[tuple[str, str]],
        *,
        add_generation_prompt: bool = True,
    ) -> str:
        self.rendered.append((template, list(messages)))
        if template not in ("chatml", "llama3"):
            raise TemplateError(f"unknown template {template}")
        lines = [f"[{template}:{role}]{content}" for role, content in messages]
        return "".join(lines) + ("[assistant]" if add_generation_prompt else "")

    def _refuse(self, requests: Sequence[GenerationRequest]) -> None:
        if self.refusal is not None:
            raise self.refusal
        if self.state is EngineState.LOADING:
            raise EngineLoading("Loading model")
        if self.state is not EngineState.READY:
            raise EngineStopped("the server is shutting down")
        for request in requests:
            n = len(request.prompt_tokens)
            if n >= self.info.n_ctx_slot:
                raise PromptTooLong(n, self.info.n_ctx_slot)

    def _start(self, request: GenerationRequest) -> Generation:
        generation = Generation(next(self._ids), request, self._on_cancel)
        self.requests.append(request)
        self.generations.append(generation)
        if not self._is_manual:
            deltas, end = self._script(request)
            for each in deltas:
                generation.append(each, None)
            if end is not None:
                generation.append(None, end)
        return generation

    def _on_cancel(self, generation: Generation) -> None:
        self.cancelled.append(generation)


def _scripted(text: str, request: GenerationRequest) -> tuple[list[Delta], Result]:
    text = text if request.max_tokens < 0 else text[: request.max_tokens]
    deltas = text_deltas(text)
    if request.prompt_probs is not None:
        deltas.insert(0, prompt_delta(request))
    n_prompt = len(request.prompt_tokens)
    return deltas, result(n_decoded=len(deltas), n_prompt=n_prompt)
