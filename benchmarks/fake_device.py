"""A model whose decode takes a set time and computes nothing: what is left is ours.

The runner, the batch, scheduler, logs and readers are the real ones. Under them stands
a context that sleeps, or spins, without the GIL, and a sampler that is a short call
into C: it lets go of the GIL as the real one does.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from llamactypes.cpus import usable_cpus
from llamactypes.engine import EngineConfig, GenerationRequest, ModelInfo
from llamactypes.engine.compute.runner import LlamaRunner
from llamactypes.engine.prefixes.checkpoints import MemoryTraits

__all__ = ("Device", "FakeLoaded")

_PR_SET_TIMERSLACK = 29
_WORDS = [b" the", b" lamp", b" stood", b" in", b" a", b" window", b",", b" and"]
_EOG = 0


class Device:
    """How long a decode takes, and what the engine thread did around it.

    `gaps` are the seconds from the end of a decode to the beginning of the next, as the
    device would see them; `own_cpu_s` is the engine thread's CPU time in them.
    """

    def __init__(self, decode_s: float, *, is_spinning: bool = False) -> None:
        self.decode_s = decode_s
        self.gaps: list[float] = []
        self.own_cpu_s = 0.0
        self.n_full = 0
        """Rows of a decode that counts; others (prompts, the end) do not."""
        self._wait = _spin if is_spinning else _sleep
        self._ended_at = 0.0
        self._cpu_at_end = 0.0

    def decode(self, n_rows: int, compute: Callable[[], None]) -> None:
        """Take the time of one decode, in which `compute` is called."""
        began_at, cpu = time.perf_counter(), time.thread_time()
        if self._ended_at and n_rows == self.n_full:
            self.gaps.append(began_at - self._ended_at)
            self.own_cpu_s += cpu - self._cpu_at_end
        if not self._ended_at:
            _be_punctual()
        compute()
        self._wait(self.decode_s - (time.perf_counter() - began_at))
        # The time to get the GIL back is not the device's: it is part of the gap.
        self._ended_at = began_at + self.decode_s
        self._cpu_at_end = time.thread_time()


@dataclass
class _Sampler:
    """Gives the next word; as a call into C, without the GIL."""

    seed: int = 1
    is_quick: bool = True
    _token: int = 0

    def sample(self, context: Any, index: int) -> int:
        context.logits_row(index)
        return self.sample_beside(context, index)

    def sample_beside(self, context: Any, index: int) -> int:
        _strlen(b"")
        self._token = self._token % len(_WORDS) + 1
        return self._token

    def close(self) -> None:
        pass


class _Vocab:
    n_tokens = len(_WORDS) + 1
    add_bos = False
    eog_tokens = (_EOG,)

    def tokenize(self, text: str, **_: Any) -> list[int]:
        return [1] * len(text.split())

    def piece(self, token: int, *, special: bool = True) -> bytes:
        return _WORDS[token - 1] if token else b""

    def is_eog(self, token: int) -> bool:
        return token == _EOG


class _Memory:
    """Believes what it is told."""

    can_shift = True

    def __init__(self) -> None:
        self.computed = np.zeros(1024, np.int32)

    def note(self, batch: Any) -> None:
        """Hold the tokens of a batch, whose tokens are of one sequence each."""
        raw, shape = batch.raw, (batch.n_tokens,)
        slots = np.ctypeslib.as_array(raw.seq_id[0], shape)
        self.computed[slots] = np.ctypeslib.as_array(raw.pos, shape) + 1

    def seq_pos_min(self, slot: int) -> int:
        return 0 if self.computed[slot] else -1

    def seq_pos_max(self, slot: int) -> int:
        return int(self.computed[slot]) - 1

    def seq_rm(self, slot: int, start: int, end: int) -> bool:
        self.computed[slot] = max(start, 0)
        return True

    def seq_cp(self, source: int, slot: int, start: int = 0, end: int = -1) -> None:
        self.computed[slot] = self.computed[source]


class _Context:
    """What `LlamaRunner` asks of a `Context`."""

    n_batch = 2048
    n_ctx_seq = 4096
    model = SimpleNamespace(n_ctx_train=0)

    def __init__(self, device: Device) -> None:
        self.params = SimpleNamespace(kv_unified=False)
        self.memory = _Memory()
        self.n_threads = usable_cpus()  # so that sampling stays on the engine's thread
        self._device = device

    def set_abort(self, flag: object) -> None:
        pass

    def decode(self, batch: Any) -> None:
        self._device.decode(batch.n_tokens, lambda: self.memory.note(batch))

    def logits_row(self, index: int) -> None:
        _strlen(b"")


class FakeLoaded:
    """Stands at the engine's seam: ``Engine(config, load=FakeLoaded(device).load)``."""

    def __init__(self, device: Device, n_ctx_slot: int = 4096) -> None:
        context: Any = _Context(device)
        vocab: Any = _Vocab()
        self.vocab = vocab
        self.runner = LlamaRunner(context, vocab)
        self.n_batch = context.n_batch
        self.memory = MemoryTraits()
        self.embedder = None
        self.n_ctx_slot = n_ctx_slot
        self.info: ModelInfo

    def load(self, config: EngineConfig, progress: Callable[[float], bool]) -> Any:
        self.info = ModelInfo(
            path=config.model_path,
            description="fake",
            ftype="F32",
            size_bytes=1,
            n_params=1,
            n_ctx=self.n_ctx_slot * config.n_slots,
            n_ctx_slot=self.n_ctx_slot,
            n_ctx_train=self.n_ctx_slot,
            n_embd=1,
            n_vocab=_Vocab.n_tokens,
            vocab_type=1,
            vocab_kind="spm",
            n_slots=config.n_slots,
            bos_token="",
            eos_token="",
            chat_template=None,
            chat_templates={},
            library="none",
            devices=(),
            n_threads=1,
        )
        return self

    def make_sampler(self, request: GenerationRequest) -> Any:
        return _Sampler()

    def render_legacy(
        self, template: str, messages: Sequence[tuple[str, str]], add_prompt: bool
    ) -> str:
        raise NotImplementedError

    def close(self) -> None:
        self.runner.close()


def _sleep(seconds: float) -> None:
    time.sleep(max(0.0, seconds))


def _spin(seconds: float) -> None:
    """Keep a CPU busy without the GIL, as a thread that waits for a GPU does."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        _strlen(_LONG)


def _be_punctual() -> None:
    """Let this thread's sleeps end on time (Linux rounds them up by 50 µs)."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)


_strlen = ctypes.CDLL(None).strlen
_strlen.argtypes = [ctypes.c_char_p]
_strlen.restype = ctypes.c_size_t
_LONG = b"x" * (1 << 21)
