"""Native sampler chains: which token comes next."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from llamactypes import bindings as C  # noqa: N812
from llamactypes.candidates import CandidateBuffer, Candidates
from llamactypes.errors import SamplingError
from llamactypes.offload import OffloadableChain
from llamactypes.sampling_params import SamplingParams
from llamactypes.shortlist import MOST_CANDIDATES, Shortlist

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from llamactypes.context import Context
    from llamactypes.model import Model

__all__ = ("SamplerChain",)

_MIROSTAT_TOKENS = 100  # common/sampling.cpp passes this constant
_BREAKER_BYTES = 40  # longer DRY breakers are cut by the library, at any byte


class SamplerChain(OffloadableChain):
    """An ordered chain of samplers that ends in a pick. One thread at a time."""

    @classmethod
    def from_params(
        cls,
        model: Model,
        params: SamplingParams,
        *,
        dry: SamplerChain | None = None,
    ) -> SamplerChain:
        """Build the chain that llama.cpp's own tools build from these parameters.

        Args:
            model: Whose vocabulary.
            params: See there.
            dry: A chain whose DRY sampler is the one asked for, and has seen no token:
                a copy is made of it, for a new one takes milliseconds.

        Raises:
            SamplingError: A parameter is out of range.

        C: common/sampling.cpp `common_sampler_init`, without a grammar.
        """
        params.check(model.vocab.n_tokens)
        chain = cls(model)
        biases = _logit_biases(model, params)
        chain._shortlist = Shortlist.for_chain(params, biases, model.vocab.n_tokens)
        try:
            for sampler in _samplers(model, params, biases, dry):
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
        self.model = model
        self._n_vocab = model.vocab.n_tokens
        self._buffer: CandidateBuffer | None = None
        self._short_buffer: CandidateBuffer | None = None
        self._shortlist: Shortlist | None = None

    def clone(self) -> SamplerChain:
        """Return a copy with the same random numbers and history, set on no context.

        C: llama.h `llama_sampler_clone`, sampler by sampler.
        """
        twin = SamplerChain(self.model)
        twin._shortlist = copy.copy(self._shortlist)
        for index in range(C.llama_sampler_chain_n(self.raw)):
            sampler = C.llama_sampler_chain_get(self.raw, index)
            twin._add(C.llama_sampler_clone(sampler))
        return twin

    def copy_of(self, name: str) -> Any:
        """Return a native copy of the sampler with this name; the caller frees it."""
        sampler = C.llama_sampler_chain_get(self.raw, self.names().index(name))
        return C.llama_sampler_clone(sampler)

    def _add(self, sampler: Any) -> None:
        if not sampler:
            raise SamplingError("the library refused a sampler's parameters")
        C.llama_sampler_chain_add(self.raw, sampler)  # the chain owns it from here

    def sample(self, context: Context, index: int) -> int:
        """Pick the next token from one output row and tell the chain about it.

        Args:
            context: Its owning thread calls this.
            index: As in `Context.logits`; of the chain's own sequence when a graph runs
                the chain.

        Raises:
            IndexError: That token produced no logits.
            SamplingError: The chain was taken out of its context; see `check_usable`.

        C: llama.h `llama_sampler_sample`.
        """
        if self._needs_graph:
            self.check_usable()
        elif self._shortlist is not None:
            logits = context.logits(index)
            tokens = self._shortlist.pick(logits)
            if tokens is not None:
                return self._sample_from(tokens, logits)
        context.logits_row(index)  # the library aborts the process without the row
        return int(C.llama_sampler_sample(self.raw, context.raw, index))

    @property
    def is_quick(self) -> bool:
        """Whether `sample` looks at too little to be worth another thread."""
        return self._shortlist is not None or self._needs_graph

    def _sample_from(
        self, tokens: NDArray[np.int64], logits: NDArray[np.float32]
    ) -> int:
        """Pick from `tokens` alone and tell the chain about it."""
        raw = self.raw
        token = self._buffer_for(len(tokens)).apply(raw, tokens, logits[tokens])
        C.llama_sampler_accept(raw, token)
        return token

    def sample_beside(self, context: Context, index: int) -> int:
        """Do the same on another thread than the context's, while its owner waits.

        The owner must have looked at ``context.logits_row(index)`` since the decode:
        that check is not repeated, and the first look may reorder the rows.
        """
        return int(C.llama_sampler_sample(self.raw, context.raw, index))

    def draw(
        self,
        logits: NDArray[np.float32],
        among: NDArray[np.integer[Any]] | None = None,
    ) -> int:
        """Pick from a row of logits, without accepting the pick.

        Args:
            logits: Shape (n_vocab,); not changed.
            among: The only tokens to pick from, in ascending order; None: all.

        Raises:
            SamplingError: No sampler of the chain picks a token.
        """
        if self._shortlist is not None and (
            among is None or len(among) > MOST_CANDIDATES
        ):
            if among is not None:
                logits = _only(among, logits)
            short = self._shortlist.pick(logits)
            among = among if short is None else short
        if among is None:
            among = self._every_token
        buffer = self._buffer_for(len(among))
        return buffer.apply(self.raw, among, logits[among])

    @cached_property
    def _every_token(self) -> NDArray[np.integer[Any]]:
        return np.arange(self._n_vocab, dtype=np.int32)

    def _buffer_for(self, n: int) -> CandidateBuffer:
        if n <= MOST_CANDIDATES:
            if self._short_buffer is None:
                self._short_buffer = CandidateBuffer(MOST_CANDIDATES)
            return self._short_buffer
        if self._buffer is None:
            self._buffer = CandidateBuffer(self._n_vocab)
        return self._buffer

    def apply(
        self,
        logits: NDArray[np.float32],
        among: NDArray[np.integer[Any]] | None = None,
    ) -> Candidates:
        """Run the chain on a row of logits, without accepting the pick.

        Args:
            logits: Shape (n_vocab,); not changed.
            among: See `draw`.

        Raises:
            SamplingError: Wrong shape, no sampler of the chain picks a token, or a
                context runs or ran a part of it.

        C: llama.h `llama_sampler_apply`.
        """
        if self._needs_graph:
            raise SamplingError(
                "a context runs a part of this chain; apply a clone() of it"
            )
        if logits.shape != (self._n_vocab,):
            raise SamplingError(
                f"logits of shape {logits.shape}; the vocabulary has {self._n_vocab}"
            )
        tokens = self._every_token if among is None else among
        buffer = self._buffer_for(len(tokens))
        return buffer.left(buffer.apply(self.raw, tokens, logits[tokens]))

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


def _only(
    tokens: NDArray[np.integer[Any]], logits: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return a copy of `logits` with minus infinity for all but `tokens`."""
    left = np.full_like(logits, -np.inf)
    left[tokens] = logits[tokens]
    return left


# -- the chain of common/sampling.cpp ----------------------------------------------


def _samplers(
    model: Model,
    params: SamplingParams,
    biases: tuple[tuple[int, float], ...],
    dry: SamplerChain | None,
) -> Iterator[Any]:
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
        if name == "dry" and dry is not None:
            yield dry.copy_of("dry")
        elif name != "adaptive_p":  # it picks, and therefore comes last
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
