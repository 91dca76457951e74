"""Native sampler chains: which token comes next."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from llamactypes import bindings as C  # noqa: N812
from llamactypes._handle import NativeObject
from llamactypes._text import decode
from llamactypes.errors import SamplingError
from llamactypes.sampling_params import SamplingParams

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from llamactypes.context import Context
    from llamactypes.model import Model

__all__ = ("TOKEN_DATA", "Candidates", "SamplerChain")

TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""`llama_token_data` for numpy."""

_MIROSTAT_TOKENS = 100  # common/sampling.cpp passes this constant
_BREAKER_BYTES = 40  # longer DRY breakers are cut by the library, at any byte
_token_data_p = ctypes.POINTER(C.llama_token_data)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a chain left of the vocabulary, and what it picked."""

    data: NDArray[np.void]
    """Rows of `TOKEN_DATA`, a copy; ``p`` is filled by the chain's last sampler."""
    selected: int
    """The token picked (an id, not an index)."""
    is_sorted: bool
    """Whether the rows are in descending order of logit."""

    @property
    def ids(self) -> NDArray[np.int32]:
        """The tokens left."""
        return self.data["id"]

    @property
    def logits(self) -> NDArray[np.float32]:
        """Their logits after the chain."""
        return self.data["logit"]

    @property
    def probs(self) -> NDArray[np.float32]:
        """Their probabilities."""
        return self.data["p"]


class SamplerChain(NativeObject[C.llama_sampler_p]):
    """An ordered chain of samplers that ends in a pick. One thread at a time."""

    @classmethod
    def from_params(cls, model: Model, params: SamplingParams) -> SamplerChain:
        """Build the chain that llama.cpp's own tools build from these parameters.

        Raises:
            SamplingError: A parameter is out of range.

        C: common/sampling.cpp `common_sampler_init`, without a grammar.
        """
        params.check(model.vocab.n_tokens)
        chain = cls(model)
        try:
            for sampler in _samplers(model, params):
                chain._add(sampler)
        except BaseException:
            chain.close()
            raise
        return chain

    def __init__(self, model: Model) -> None:
        """Make an empty chain; `from_params` fills one."""
        native = C.llama_sampler_chain_default_params()
        handle = C.llama_sampler_chain_init(native)
        if not handle:
            raise SamplingError("the library could not make a sampler chain")
        self._own(handle, _free_chain, parent=model)
        self._n_vocab = model.vocab.n_tokens
        self._buffer: NDArray[np.void] | None = None

    def _add(self, sampler: Any) -> None:
        if not sampler:
            raise SamplingError("the library refused a sampler's parameters")
        C.llama_sampler_chain_add(self.raw, sampler)  # the chain owns it from here

    def sample(self, context: Context, index: int) -> int:
        """Pick the next token from one output row and tell the chain about it.

        Args:
            context: Its owning thread calls this.
            index: As in `Context.logits`.

        Raises:
            IndexError: That token produced no logits.

        C: llama.h `llama_sampler_sample`.
        """
        context.logits_row(index)  # the library aborts the process without the row
        return int(C.llama_sampler_sample(self.raw, context.raw, index))

    def sample_beside(self, context: Context, index: int) -> int:
        """Do the same on another thread than the context's, while its owner waits.

        The owner must have looked at ``context.logits_row(index)`` since the decode:
        that check is not repeated, and the first look may reorder the rows.
        """
        return int(C.llama_sampler_sample(self.raw, context.raw, index))

    def apply(self, logits: NDArray[np.float32]) -> Candidates:
        """Run the chain on a row of logits, without accepting the pick.

        Args:
            logits: Shape (n_vocab,); not changed.

        Raises:
            SamplingError: Wrong shape, or no sampler of the chain picks a token.

        C: llama.h `llama_sampler_apply`.
        """
        if logits.shape != (self._n_vocab,):
            raise SamplingError(
                f"logits of shape {logits.shape}; the vocabulary has {self._n_vocab}"
            )
        data = self._fill(logits)
        array = C.llama_token_data_array()
        array.data = ctypes.cast(data.ctypes.data, _token_data_p)
        array.size = self._n_vocab
        array.selected = -1
        array.sorted = False
        C.llama_sampler_apply(self.raw, ctypes.byref(array))
        if not 0 <= array.selected < array.size:
            raise SamplingError("no sampler of this chain picks a token")
        left = _copy_rows(array)
        return Candidates(left, int(left["id"][array.selected]), bool(array.sorted))

    def accept(self, token: int) -> None:
        """Tell the chain that `token` was taken (penalties, DRY, mirostat).

        Raises:
            SamplingError: No such token.
        """
        if not 0 <= token < self._n_vocab:
            raise SamplingError(f"token {token} is outside 0 … {self._n_vocab - 1}")
        C.llama_sampler_accept(self.raw, token)

    def reset(self) -> None:
        """Forget accepted tokens and start the random numbers again."""
        C.llama_sampler_reset(self.raw)

    @property
    def seed(self) -> int:
        """The seed in use: the one drawn when the parameters left it to chance."""
        return int(C.llama_sampler_get_seed(self.raw))

    def names(self) -> tuple[str, ...]:
        """Return the samplers' names in order; "?" marks one that is off."""
        chain = self.raw
        count = C.llama_sampler_chain_n(chain)
        samplers = (C.llama_sampler_chain_get(chain, index) for index in range(count))
        return tuple(decode(C.llama_sampler_name(one) or b"") for one in samplers)

    def _fill(self, logits: NDArray[np.float32]) -> NDArray[np.void]:
        if self._buffer is None:
            self._buffer = np.empty(self._n_vocab, dtype=TOKEN_DATA)
        data = self._buffer
        data["id"] = np.arange(self._n_vocab, dtype=np.int32)
        data["logit"] = logits
        data["p"] = 0.0
        return data


def _copy_rows(array: Any) -> NDArray[np.void]:
    # A sampler may point `data` elsewhere: read where it points now.
    kind = ctypes.POINTER(C.llama_token_data * array.size)
    rows = ctypes.cast(array.data, kind).contents
    return np.frombuffer(rows, dtype=TOKEN_DATA).copy()


# -- the chain of common/sampling.cpp ----------------------------------------------


def _samplers(model: Model, params: SamplingParams) -> Iterator[Any]:
    biases = _logit_biases(model, params)
    n_vocab = model.vocab.n_tokens
    if biases:
        array = (C.llama_logit_bias * len(biases))(
            *(C.llama_logit_bias(token, bias) for token, bias in biases)
        )
        yield C.llama_sampler_init_logit_bias(n_vocab, len(biases), array)
    if params.mirostat:
        yield C.llama_sampler_init_temp(params.temperature)
        yield _mirostat(n_vocab, params)
        return
    for name in params.samplers:
        if name != "adaptive_p":  # it picks, and therefore comes last
            yield _sampler(name, model, params)
    yield _picker(params)


def _logit_biases(
    model: Model, params: SamplingParams
) -> tuple[tuple[int, float], ...]:
    forbidden = tuple((token, -np.inf) for token in model.vocab.suppress_tokens)
    return (*params.logit_bias, *forbidden)


def _mirostat(n_vocab: int, params: SamplingParams) -> Any:
    if params.mirostat == 1:
        return C.llama_sampler_init_mirostat(
            n_vocab,
            params.seed,
            params.mirostat_tau,
            params.mirostat_eta,
            _MIROSTAT_TOKENS,
        )
    return C.llama_sampler_init_mirostat_v2(
        params.seed, params.mirostat_tau, params.mirostat_eta
    )


def _picker(params: SamplingParams) -> Any:
    if "adaptive_p" in params.samplers:
        return C.llama_sampler_init_adaptive_p(
            params.adaptive_target, params.adaptive_decay, params.seed
        )
    if params.is_greedy():
        return C.llama_sampler_init_greedy()
    return C.llama_sampler_init_dist(params.seed)


def _sampler(name: str, model: Model, params: SamplingParams) -> Any:
    match name:
        case "penalties":
            return C.llama_sampler_init_penalties(
                model.vocab.n_tokens,
                params.repeat_last_n,
                params.repeat_penalty,
                params.frequency_penalty,
                params.presence_penalty,
            )
        case "dry":
            return _dry(model, params)
        case "top_n_sigma":
            return C.llama_sampler_init_top_n_sigma(params.top_n_sigma)
        case "temperature":
            return C.llama_sampler_init_temp_ext(
                params.temperature, params.dynatemp_range, params.dynatemp_exponent
            )
        case "infill":
            return C.llama_sampler_init_infill(C.llama_model_get_vocab(model.raw))
    return _truncating(name, params)


def _truncating(name: str, params: SamplingParams) -> Any:
    match name:
        case "top_k":
            return C.llama_sampler_init_top_k(params.top_k)
        case "top_p":
            return C.llama_sampler_init_top_p(params.top_p, params.min_keep)
        case "min_p":
            return C.llama_sampler_init_min_p(params.min_p, params.min_keep)
        case "typ_p":
            return C.llama_sampler_init_typical(params.typical_p, params.min_keep)
        case "xtc":
            return C.llama_sampler_init_xtc(
                params.xtc_probability,
                params.xtc_threshold,
                params.min_keep,
                params.seed,
            )
    raise SamplingError(f"unknown sampler {name!r}")


def _dry(model: Model, params: SamplingParams) -> Any:
    breakers = [_breaker(text) for text in params.dry_sequence_breakers]
    array = (ctypes.c_char_p * len(breakers))(*breakers)
    return C.llama_sampler_init_dry(
        C.llama_model_get_vocab(model.raw),
        params.dry_multiplier,
        params.dry_base,
        params.dry_allowed_length,
        params.dry_penalty_last_n,
        array,
        len(breakers),
    )


def _breaker(text: str) -> bytes:
    """Return a breaker that the library's cut cannot split inside a character."""
    data = text.encode("utf-8", "replace")[:_BREAKER_BYTES]
    return data.decode("utf-8", "ignore").encode("utf-8")


def _free_chain(handle: C.llama_sampler_p) -> None:
    C.llama_sampler_free(handle)
