"""``/v1/completions``: OpenAI's legacy text completions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import falcon

from api.protocol.completion.best_of import BestOf, read_best_of
from api.protocol.completion.echo import Echo, read_echoes
from api.protocol.completion.echoed_stream import completion_stream
from api.protocol.completion.openai import (
    completion_reply,
    read_echo,
    read_legacy_logprobs,
)
from api.protocol.completion.suffix import read_suffix, with_suffix
from api.protocol.invalid import InvalidRequest
from api.protocol.prompt import read_prompts
from api.protocol.reply import ReplyFacts
from api.resources.generate import openai_codes
from api.resources.generating import Generating, Shape

__all__ = ("TextCompletion",)

_TEXT = Shape(completion_reply, completion_stream)


class TextCompletion(Generating):
    """``POST /v1/completions``: OpenAI's legacy format."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Complete every prompt."""
        with openai_codes():
            self._complete(req, resp)

    def _complete(self, req: falcon.Request, resp: falcon.Response) -> None:
        body, n_top = read_legacy_logprobs(self._read_json(req))
        best_of = read_best_of(body, self._context.engine.info.n_slots)
        if best_of is not None:
            body = best_of.body(body)
        prompts, echoes = self._prompts(body)
        facts = self._facts(body, prompts, echoes=echoes, n_top_shown=n_top)
        has_logprobs = facts.options.sampling.n_probs > 0
        if echoes and has_logprobs:
            facts = _with_prompt_logprobs(facts, body)
        shape = _TEXT
        if best_of is not None:
            facts = replace(facts, options=best_of.scored(facts.options))
            shape = _best_shape(best_of, has_logprobs)
        self._respond(req, resp, facts, shape)

    def _prompts(
        self, body: dict[str, Any]
    ) -> tuple[Sequence[tuple[int, ...]], Sequence[Echo]]:
        """Return the prompts as the model gets them, and as replies repeat them."""
        vocab = self._context.prompt_vocab
        prompts = read_prompts(body, vocab)
        echoes = read_echoes(body, prompts, vocab) if read_echo(body) else ()
        suffix = read_suffix(body)
        if suffix is None:
            return prompts, echoes
        is_spm = self._context.settings.spm_infill
        tokens = self._context.engine.vocab
        return with_suffix(prompts, suffix, tokens, is_spm=is_spm), echoes


def _with_prompt_logprobs(facts: ReplyFacts, body: dict[str, Any]) -> ReplyFacts:
    if read_suffix(body) is not None:
        raise InvalidRequest.field(
            "suffix",
            "the prompt has no logprobs of its own beside a suffix: leave out echo or "
            "logprobs",
        )
    return replace(facts, options=replace(facts.options, prompt_logprobs=True))


def _best_shape(best_of: BestOf, shows_logprobs: bool) -> Shape:
    reply = partial(best_of.reply, shows_logprobs=shows_logprobs)
    return Shape(reply, completion_stream)
