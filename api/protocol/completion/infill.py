"""``/infill``: text between a prefix and a suffix, as code models learn it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from api.protocol.fields import Body
from api.protocol.invalid import InvalidRequest
from api.protocol.prompt import tokenize_mixed
from api.protocol.sampling_fields import Tokenizer

__all__ = (
    "FillVocab",
    "Infill",
    "InfillLimits",
    "InfillVocab",
    "infill_prompt",
    "read_infill",
)

_PROJECT = "myproject\n"
_FILE = "filename\n"
_UNNAMED = "tmp"
_SNIPPET = "\n\n--- snippet ---\n\n"
_MISSING = (("fim_pre", "prefix"), ("fim_suf", "suffix"), ("fim_mid", "middle"))


class FillVocab(Tokenizer, Protocol):
    """What filling in needs of a vocabulary; None: there is no such token."""

    @property
    def bos(self) -> int | None:
        """The beginning of a sequence."""

    @property
    def add_bos(self) -> bool:
        """Whether prompts begin with it."""

    @property
    def fim_pre(self) -> int | None:
        """Before the prefix."""

    @property
    def fim_suf(self) -> int | None:
        """Before the suffix."""

    @property
    def fim_mid(self) -> int | None:
        """Before what is to be filled in."""


class InfillVocab(FillVocab, Protocol):
    """What an infill prompt with other files needs beside that."""

    @property
    def longest_piece_bytes(self) -> int:
        """Bytes of the longest piece."""

    @property
    def fim_rep(self) -> int | None:
        """Before the name of a repository."""

    @property
    def fim_sep(self) -> int | None:
        """Before the name of a file."""


@dataclass(frozen=True, slots=True)
class InfillLimits:
    """How much of the context each part may take."""

    n_batch: int
    n_predict: int
    """The server's; -1: no limit."""
    n_ctx: int

    @property
    def n_extra(self) -> int:
        """Most tokens of what may help."""
        return max(0, self.n_ctx - self.n_batch - 2 * self.n_predict)


@dataclass(frozen=True, slots=True)
class Infill:
    """A request, read."""

    prefix: list[int]
    suffix: list[int]
    prompt: list[int]
    """Belongs to the prefix, and is never cut."""
    extra: tuple[tuple[str, str], ...]
    """(file name, text) of what may help."""


def read_infill(
    body: Body, vocab: InfillVocab, bounded: Tokenizer, limits: InfillLimits
) -> Infill:
    """Read a request.

    Args:
        body: The request.
        vocab: The model's vocabulary.
        bounded: The same for what is never cut, and must fit.
        limits: Of the server; of long texts only what may count is looked at.

    Raises:
        InvalidRequest: The model has no tokens for it (501), or a field is malformed.
    """
    missing = [what for name, what in _MISSING if getattr(vocab, name) is None]
    if missing:
        reasons = "".join(f"{what} token is missing. " for what in missing)
        raise InvalidRequest(
            f"Infill is not supported by this model: {reasons}",
            status=501,
            kind="not_supported_error",
        )
    prompt = body.get("prompt")
    if prompt is not None and not isinstance(prompt, str):
        raise InvalidRequest('"prompt" must be a string', "prompt")
    # As much text as so many tokens may have at most.
    n_most = limits.n_batch * vocab.longest_piece_bytes
    return Infill(
        prefix=_part(body, "input_prefix", vocab, slice(-n_most, None)),
        suffix=_part(body, "input_suffix", vocab, slice(n_most)),
        prompt=bounded.tokenize(prompt or "", parse_special=True),
        extra=_extra(
            body.get("input_extra"), limits.n_extra * vocab.longest_piece_bytes
        ),
    )


def infill_prompt(
    infill: Infill, vocab: InfillVocab, limits: InfillLimits, *, is_spm: bool
) -> tuple[int, ...]:
    """Return the prompt: extra files, then prefix, suffix and the mark of the middle.

    Prefix and suffix share one batch, three to one; the end of the prefix and the
    beginning of the suffix count most. The end of the extra files fills what is left.

    Args:
        infill: The request.
        vocab: It has the three tokens; see `read_infill`.
        limits: Of the server.
        is_spm: The suffix comes first, as some models prefer it.
    """
    quarter = limits.n_batch // 4
    n_suffix = max(0, quarter - 2 - len(infill.prompt))
    prefix = [*_of(vocab.fim_pre), *_last(infill.prefix, 3 * quarter), *infill.prompt]
    suffix = [*_of(vocab.fim_suf), *infill.suffix[:n_suffix]]
    first, second = (suffix, prefix) if is_spm else (prefix, suffix)
    extra = _last(_extra_tokens(infill.extra, vocab), limits.n_extra)
    bos = _of(vocab.bos) if vocab.add_bos else []
    return (*extra, *bos, *first, *second, *_of(vocab.fim_mid))


def _last(tokens: list[int], n: int) -> list[int]:
    return tokens[max(0, len(tokens) - n) :]


def _of(token: int | None) -> list[int]:
    return [] if token is None else [token]


def _extra_tokens(extra: tuple[tuple[str, str], ...], vocab: InfillVocab) -> list[int]:
    """Return the files in the repository form of arXiv:2409.12186."""
    tokens: list[int] = []
    if vocab.fim_rep is not None:
        tokens += [vocab.fim_rep, *_plain(_PROJECT, vocab)]
    for name, content in extra:
        if vocab.fim_sep is None:
            tokens += _plain(_SNIPPET, vocab)
        else:
            tokens += [vocab.fim_sep, *_plain(name + "\n", vocab)]
        tokens += _plain(content, vocab)
    if vocab.fim_sep is not None:
        tokens += [vocab.fim_sep, *_plain(_FILE, vocab)]
    return tokens


def _plain(text: str, vocab: Tokenizer) -> list[int]:
    return vocab.tokenize(text, add_special=False, parse_special=False)


def _part(body: Body, name: str, vocab: InfillVocab, part: slice) -> list[int]:
    value = body.get(name)
    if value is None:
        raise InvalidRequest(f'"{name}" is required', name)
    if not isinstance(value, str | list):
        raise InvalidRequest(f'"{name}" must be a string', name)
    return tokenize_mixed(
        value[part],
        vocab,
        lambda text: _plain(text, vocab),
        parse_special=False,
        param=name,
    )


def _extra(value: Any, n_most: int) -> tuple[tuple[str, str], ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidRequest(
            '"input_extra" must be an array of {"filename": string, "text": string}',
            "input_extra",
        )
    chunks = [_extra_chunk(chunk) for chunk in value]
    # The last count most; one that is cut keeps its end.
    kept: list[tuple[str, str]] = []
    for name, content in reversed(chunks):
        if n_most <= 0:
            break
        kept.append((name, content[-n_most:]))
        n_most -= len(content)
    return tuple(reversed(kept))


def _extra_chunk(chunk: Any) -> tuple[str, str]:
    content = chunk.get("text") if isinstance(chunk, dict) else None
    if not isinstance(content, str):
        raise InvalidRequest(
            'extra_context chunk must contain a "text" field with a string value',
            "input_extra",
        )
    name = chunk.get("filename", _UNNAMED)
    if not isinstance(name, str):
        raise InvalidRequest(
            'extra_context chunk\'s "filename" field must be a string', "input_extra"
        )
    return name, content
