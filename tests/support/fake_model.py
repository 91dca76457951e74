"""A model without a library, for tests of the engine: put at the `Loader` seam."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from llamactypes.engine.config import EngineConfig, ModelInfo
from llamactypes.engine.planning.plan import Plan, PromptProbs, Sampled, Shift
from llamactypes.engine.prefixes.checkpoints import MemoryTraits
from llamactypes.engine.prefixes.chunk_reuse import Move
from llamactypes.engine.request import TokenProbs
from llamactypes.errors import LlamaError, ModelLoadCancelled

__all__ = ("FakeModel", "FakeRunner", "FakeSampler", "FakeVocab")


class FakeVocab:
    """Token n is the character with that code; token 0 ends."""

    n_tokens = 0x10000
    add_bos = False
    eog_tokens = (0,)
    bos = None

    @property
    def control_tokens(self) -> dict[str, int]:
        return {}

    def tokenize(self, text: str, **_: Any) -> list[int]:
        return [ord(character) for character in text]

    def piece(self, token: int, *, special: bool = True) -> bytes:
        return chr(token).encode() if token else b""


class FakeSampler:
    def __init__(self, log: list[str]) -> None:
        self.seed = 1
        self._log = log

    def close(self) -> None:
        self._log.append("sampler freed")


class FakeRunner:
    """Answers every prompt by its last token plus one, and so on."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []
        self.computed: dict[int, int] = {}
        self.errors: list[Exception] = []
        """Raised by the next runs, first one first."""
        self.before_run: Callable[[], None] = lambda: None
        self.interrupted = threading.Event()
        self.attached: dict[int, FakeSampler] = {}
        self.shared: list[tuple[int, int, int]] = []
        self.loaded: list[tuple[int, int]] = []

    def attach(self, sequence: Any, sampler: Any) -> None:
        self.attached[sequence.id] = sampler

    def detach(self, sequence: Any) -> None:
        sampler = self.attached.pop(sequence.id, None)
        if sampler is not None:
            sampler.close()

    def run(self, plan: Plan) -> Sampled:
        self.plans.append(plan)
        self.before_run()
        if self.errors:
            raise self.errors.pop(0)
        sequences, tokens = [], []
        for chunk in plan.chunks:
            sequence = chunk.sequence
            self.computed[sequence.slot] = chunk.start + chunk.n_tokens
            if chunk.wants_logits:
                sequences.append(sequence)
                tokens.append((sequence.tokens[-1] + 1) % FakeVocab.n_tokens)
        return Sampled(sequences, tokens)

    def prompt_probs(self) -> list[PromptProbs]:
        """Return minus the row's position as the logprob of each prompt token."""
        found = []
        for chunk in self.plans[-1].chunks:
            if chunk.prompt_rows:
                sequence = chunk.sequence
                probs = [
                    _token_probs(sequence.tokens[row + 1], -row)
                    for row in chunk.prompt_rows
                ]
                found.append(PromptProbs(sequence, tuple(probs)))
        return found

    def forget(self, slot: int, start: int, back: Any = None) -> int:
        self.computed[slot] = min(self.computed.get(slot, 0), start)
        return self.computed[slot]

    def share(self, source: int, slot: int, n_tokens: int, back: Any = None) -> int:
        self.shared.append((source, slot, n_tokens))
        self.computed[slot] = min(self.computed.get(source, 0), n_tokens)
        return self.computed[slot]

    def save(self, slot: int) -> bytearray:
        return bytearray(self.computed.get(slot, 0).to_bytes(4, "little"))

    def load(self, slot: int, data: bytes, n_tokens: int, back: Any = None) -> int:
        self.loaded.append((slot, n_tokens))
        self.computed[slot] = min(int.from_bytes(data, "little"), n_tokens)
        return self.computed[slot]

    is_settled = True

    def restore(self, slot: int, data: bytearray, start: int) -> int:
        self.computed[slot] = int.from_bytes(data[start : start + 4], "little")
        return 4

    def shift(self, shift: Shift) -> None:
        self.computed[shift.slot] = shift.end - shift.discard

    def move(self, slot: int, moves: tuple[Move, ...]) -> int:
        self.computed[slot] = moves[-1].end
        return self.computed[slot]

    def n_computed(self, slot: int) -> int:
        return self.computed.get(slot, 0)

    def interrupt(self) -> None:
        self.interrupted.set()


def _token_probs(token: int, value: float) -> TokenProbs:
    return TokenProbs(token, FakeVocab().piece(token), value, ())


class FakeModel:
    """Also its own loader: ``Engine(config, load=FakeModel().load)``."""

    def __init__(self, *, n_ctx_slot: int = 64, n_batch: int = 32) -> None:
        self.runner = FakeRunner()
        self.embedder: Any = None
        self.vocab = FakeVocab()
        self.memory = MemoryTraits()
        self.n_batch = n_batch
        self.n_ctx_slot = n_ctx_slot
        self.log: list[str] = []
        self.n_loads = 0
        self.load_error: LlamaError | None = None
        self.may_load = threading.Event()
        self.may_load.set()
        self.info: ModelInfo

    def load(self, config: EngineConfig, progress: Callable[[float], bool]) -> Any:
        while not self.may_load.wait(0.01):
            if not progress(0.5):
                raise ModelLoadCancelled("stopped")
        if self.load_error is not None:
            raise self.load_error
        self.info = self._info(config)
        self.n_loads += 1
        return self

    def _info(self, config: EngineConfig) -> ModelInfo:
        return ModelInfo(
            path=config.model_path,
            description="fake",
            ftype="F32",
            size_bytes=1,
            n_params=1,
            n_ctx=self.n_ctx_slot * config.n_slots,
            n_ctx_slot=self.n_ctx_slot,
            n_ctx_train=self.n_ctx_slot,
            n_embd=1,
            n_vocab=FakeVocab.n_tokens,
            vocab_type=1,
            vocab_kind="spm",
            n_slots=config.n_slots,
            bos_token="",
            eos_token="",
            chat_template=None,
            chat_templates={},
            library="b0-fake",
            devices=(),
            n_threads=1,
            **self._embedding_facts(),
        )

    def _embedding_facts(self) -> dict[str, Any]:
        embedder = self.embedder
        if embedder is None:
            return {}
        return {
            "pooling": embedder.pooling,
            "n_embd_out": embedder.width,
            "n_tokens_input": embedder.n_tokens_input,
        }

    def make_sampler(self, request: Any) -> FakeSampler:
        return FakeSampler(self.log)

    def render_legacy(self, template: str, messages: Any, add_prompt: bool) -> str:
        return f"{template}:{len(messages)}:{add_prompt}"

    def close(self) -> None:
        self.log.append("model freed")
        self.runner.computed.clear()
