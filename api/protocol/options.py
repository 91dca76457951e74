"""Everything a completion request may ask for, beside its prompt. Pure.

One table for the native, the OpenAI and the chat routes: llama-server's. A parameter is
honoured, ignored by design (docs/http_api.md lists those), or refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from api.protocol.fields import Body, Integer, boolean, json_type, strings
from api.protocol.invalid import InvalidRequest, NotSupported
from api.protocol.lora import read_lora
from api.protocol.output_form import one_form, read_output_form
from api.protocol.sampling_fields import Tokenizer, read_sampling
from api.protocol.thinking import limiting_field
from llamactypes.constraints.constraint import CompiledConstraint
from llamactypes.constraints.output_form import OutputForm
from llamactypes.engine.request import GenerationRequest, ThinkingLimit
from llamactypes.sampling_params import RANDOM_SEED, SamplingParams

__all__ = (
    "BOOLEANS",
    "CompletionOptions",
    "INTEGERS",
    "OptionDefaults",
    "read_options",
)

_INT64_MAX = 2**63 - 1
_MAX_STOPS = 1024
_MANY_PROBS = 128
"""Alternatives for each token that any request may ask for (OpenAI: 20)."""
_MAX_PROBS_TOTAL = 1 << 20
"""Alternatives of a whole request that asks for more: some hundred megabytes."""
_TOKEN_IN_PROBS = 2
"""What a token's own entries take, in alternatives."""

_MAX_TOKENS = Integer(("n_predict", "max_completion_tokens", "max_tokens"), -1)
_N_KEEP = Integer(("n_keep",), -1)
_N_DISCARD = Integer(("n_discard",), 0)
_N_INDENT = Integer(("n_indent",), 0)
_N_CACHE_REUSE = Integer(("n_cache_reuse",), 0)
_T_MAX_PREDICT = Integer(("t_max_predict_ms",), -1, _INT64_MAX)
_ID_SLOT = Integer(("id_slot",), -1)
_PING = Integer(("sse_ping_interval",), -1)
_N_CHOICES = ("n_cmpl", "n")

INTEGERS = (
    *(_MAX_TOKENS, _N_KEEP, _N_DISCARD, _N_INDENT, _N_CACHE_REUSE, _T_MAX_PREDICT),
    *(_ID_SLOT, _PING, Integer(_N_CHOICES, 1)),
)
"""Whole numbers beside the sampling parameters'."""

BOOLEANS = (
    *("stream", "timings_per_token", "return_tokens", "return_progress", "verbose"),
    *("cache_prompt", "ignore_eos", "post_sampling_probs"),
)
"""Switches, under the names that `CompletionOptions` has for them, too."""


@dataclass(frozen=True, slots=True)
class OptionDefaults:
    """What a request gets where it is silent: the server's flags."""

    sampling: SamplingParams = field(default_factory=SamplingParams)
    n_predict: int = -1
    n_keep: int = 0
    stop: tuple[str, ...] = ()
    cache_prompt: bool = True
    n_cache_reuse: int = 0
    ignore_eos: bool = False
    sse_ping_interval_s: int = 30
    verbose: bool = False
    special: bool = False
    form: OutputForm | None = None


@dataclass(frozen=True, slots=True)
class CompletionOptions:
    """A request's parameters, read and checked."""

    sampling: SamplingParams = field(default_factory=SamplingParams)
    n_predict: int = -1
    stop: tuple[str, ...] = ()
    n_choices: int = 1
    """Completions for each prompt."""
    stream: bool = False
    include_usage: bool = False
    timings_per_token: bool = False
    return_tokens: bool = False
    return_progress: bool = False
    sse_ping_interval_s: int = 30
    """Seconds of silence before a comment is sent; 0 or less: never."""
    verbose: bool = False
    cache_prompt: bool = True
    n_cache_reuse: int = 0
    ignore_eos: bool = False
    id_slot: int = -1
    n_keep: int = 0
    n_discard: int = 0
    n_indent: int = 0
    t_max_predict_ms: int = -1
    post_sampling_probs: bool = False
    response_fields: tuple[str, ...] = ()
    special: bool = False
    lora: tuple[tuple[int, float], ...] | None = None
    """(adapter, scale); None: the server's."""
    prompt_logprobs: bool = False
    """Logprobs of the prompts, too: with the first choice of each."""
    form: OutputForm | None = None
    """The form of every choice, as it was asked for."""
    constraint: CompiledConstraint | None = None
    """What every choice must match."""
    preserved_tokens: frozenset[int] = frozenset()
    """Control tokens whose text is needed to read the answer."""
    thinking: ThinkingLimit | None = None
    """How long every choice may think."""

    def requests(self, prompts: list[tuple[int, ...]]) -> list[GenerationRequest]:
        """Return the generations to submit: every choice of every prompt, in order.

        Raises:
            InvalidRequest: The probabilities asked for would not fit any memory.
        """
        self._check_probs(len(prompts))
        if self.prompt_logprobs:
            self._check_prompt_probs(self.n_choices * sum(map(len, prompts)))
        return [
            self._request(tokens, choice)
            for tokens in prompts
            for choice in range(self.n_choices)
        ]

    def _check_probs(self, n_prompts: int) -> None:
        n_probs = self.sampling.n_probs
        if n_probs <= _MANY_PROBS:
            return
        n_tokens = self.n_predict * self.n_choices * n_prompts
        if self.n_predict < 0 or n_tokens * n_probs > _MAX_PROBS_TOTAL:
            raise InvalidRequest.field(
                "n_probs",
                f"{n_probs} alternatives for each token need an n_predict of at most "
                f"{_MAX_PROBS_TOTAL // n_probs} tokens in all choices together; more "
                f"tokens may have {_MANY_PROBS}",
            )

    def _check_prompt_probs(self, n_tokens: int) -> None:
        n_probs = self.sampling.n_probs
        n_most = _MAX_PROBS_TOTAL // (n_probs + _TOKEN_IN_PROBS)
        if n_tokens > n_most:
            raise InvalidRequest.field(
                "n_probs",
                f"{n_probs} alternatives are possible for at most {n_most} tokens of "
                f"all prompts and choices together, not for {n_tokens}; ask for fewer, "
                "or send fewer prompts",
            )

    def _request(self, tokens: tuple[int, ...], choice: int) -> GenerationRequest:
        return GenerationRequest(
            prompt_tokens=tokens,
            sampling=_with_seed(self.sampling, choice),
            max_tokens=self.n_predict,
            stop=self.stop,
            ignore_eos=self.ignore_eos,
            cache_prompt=self.cache_prompt,
            n_cache_reuse=self.n_cache_reuse,
            # Several choices cannot share one slot: the first gets it, the rest any.
            id_slot=self.id_slot if choice == 0 else -1,
            n_keep=self.n_keep,
            n_discard=self.n_discard,
            n_indent=self.n_indent,
            t_max_predict_ms=self.t_max_predict_ms,
            post_sampling_probs=self.post_sampling_probs,
            return_progress=self.return_progress and self.stream,
            special_pieces=self.special,
            thinking=self.thinking,
            preserved_tokens=self.preserved_tokens,
            constraint=self.constraint,
            lora=self.lora,
            prompt_probs=(
                self.sampling.n_probs if self.prompt_logprobs and choice == 0 else None
            ),
        )


def _with_seed(sampling: SamplingParams, choice: int) -> SamplingParams:
    """Seeds of the choices count up from the request's; random stays random."""
    if choice == 0 or sampling.seed == RANDOM_SEED:
        return sampling
    return replace(sampling, seed=(sampling.seed + choice) % RANDOM_SEED)


def read_options(
    body: Body,
    defaults: OptionDefaults,
    vocab: Tokenizer,
    n_slots: int,
    form: OutputForm | None = None,
) -> CompletionOptions:
    """Read every parameter of a completion request.

    Args:
        body: The request.
        defaults: The server's flags.
        vocab: For logit biases given as text.
        n_slots: Most choices of one prompt.
        form: Of the answer, where the protocol has a field of its own for it.

    Raises:
        InvalidRequest: A field has the wrong type, is out of a hard range, or asks for
            something this server cannot honour.
    """
    _refuse_reasoning(body)
    n_choices = Integer(_N_CHOICES, 1, n_slots)
    n_predict = _MAX_TOKENS.read(body, -1)
    return CompletionOptions(
        sampling=read_sampling(body, defaults.sampling, vocab),
        n_predict=defaults.n_predict if n_predict < 0 else n_predict,
        stop=_stop(body, defaults.stop),
        n_choices=n_choices.read(body, 1),
        include_usage=_include_usage(body),
        sse_ping_interval_s=_PING.read(body, defaults.sse_ping_interval_s),
        n_cache_reuse=_N_CACHE_REUSE.read(body, defaults.n_cache_reuse),
        id_slot=_ID_SLOT.read(body, -1),
        n_keep=_N_KEEP.read(body, defaults.n_keep),
        n_discard=_N_DISCARD.read(body, 0),
        n_indent=_N_INDENT.read(body, 0),
        t_max_predict_ms=_T_MAX_PREDICT.read(body, -1),
        response_fields=strings(body, "response_fields") or (),
        special=defaults.special,
        lora=read_lora(body.get("lora")),
        form=one_form(form, read_output_form(body)) or defaults.form,
        preserved_tokens=_preserved_tokens(body, vocab),
        **_switches(body, defaults),
    )


def _switches(body: Body, defaults: OptionDefaults) -> dict[str, Any]:
    return {
        name: boolean(body, name, getattr(defaults, name, False)) for name in BOOLEANS
    }


def _include_usage(body: Body) -> bool:
    options = body.get("stream_options")
    if options is None:
        return False
    if not isinstance(options, dict):
        raise InvalidRequest.field(
            "stream_options", f"Value must be an object, but got {json_type(options)}"
        )
    return boolean(options, "include_usage", False)


def _stop(body: Body, default: tuple[str, ...]) -> tuple[str, ...]:
    value = body.get("stop")
    if value is None:
        return default
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(w, str) for w in words):
        raise InvalidRequest.field("stop", "Value must be a string or array of strings")
    if len(words) > _MAX_STOPS:
        raise InvalidRequest.field(
            "stop", f"Value must hold at most {_MAX_STOPS} strings, not {len(words)}"
        )
    # An empty stop sequence would match at once; a list of none means the default.
    return tuple(word for word in words if word) or default


def _preserved_tokens(body: Body, vocab: Tokenizer) -> frozenset[int]:
    """Return the tokens whose text is shown; a text of several tokens always is."""
    found = (vocab.tokenize(text) for text in strings(body, "preserved_tokens") or ())
    return frozenset(tokens[0] for tokens in found if len(tokens) == 1)


# -- what is refused by name ---------------------------------------------------------


def _refuse_reasoning(body: Body) -> None:
    limiting = limiting_field(body)
    if limiting is not None:
        raise NotSupported(limiting, "only on the routes of chats")
    if boolean(body, "parse_tool_calls", False):
        raise NotSupported("parse_tool_calls", "only on the routes of chats")
    name = body.get("reasoning_format")
    if name in (None, "none", "auto"):
        return
    if name in ("deepseek", "deepseek-legacy"):
        raise NotSupported("reasoning_format", "only on the routes of chats")
    raise InvalidRequest.field("reasoning_format", "Unknown reasoning format")
