"""The routes that embed and rank."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import falcon

from api.context import ServingContext
from api.prompt_vocab import BoundedVocab
from api.protocol.embedding.embeddings import (
    EmbeddingDefaults,
    native_embeddings,
    openai_embeddings,
    read_embedding,
)
from api.protocol.embedding.rerank import read_rerank, rerank_reply
from api.protocol.invalid import InvalidRequest
from api.resources.base import Resource, send_json
from api.streams.client import Client
from api.streams.jobs import wait_for
from llamactypes.engine import EmbeddingRequest, EmbeddingResult
from llamactypes.errors import InputTooLarge, PromptTooLong

__all__ = ("NativeEmbeddings", "OpenAIEmbeddings", "Rerank")


class _Embedding(Resource):
    """Submits a request's inputs and waits for their rows."""

    def _vocab(self) -> BoundedVocab:
        """Return a vocabulary that refuses what no batch could hold."""
        engine = self._context.engine
        return BoundedVocab(engine.vocab, engine.info.n_tokens_input + 1)

    def _rows(self, req: falcon.Request, request: EmbeddingRequest) -> EmbeddingResult:
        client = Client(req.env)
        (job,) = self._context.key_limit.submit(
            req.context.key_index,
            [request],
            lambda requests: [self._context.engine.embed(one) for one in requests],
        )
        return wait_for(job, client)


class NativeEmbeddings(_Embedding):
    """``POST /embedding``: llama-server's own format."""

    _is_openai = False

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer the embedding of every input."""
        _require(self._context, "embeddings", "any")
        context, info = self._context, self._context.engine.info
        defaults = EmbeddingDefaults(
            context.settings.embd_normalize,
            info.n_embd_out,
            info.pooling != "none",
            context.model_id,
        )
        body = self._read_json(req)
        with _worded_for_inputs(context):
            call = read_embedding(
                body, self._vocab(), defaults, is_openai=self._is_openai
            )
        result = self._rows(req, call.request)
        reply = native_embeddings if call.is_native else openai_embeddings
        send_json(resp, reply(call, result))


class OpenAIEmbeddings(NativeEmbeddings):
    """``POST /v1/embeddings``."""

    _is_openai = True


class Rerank(_Embedding):
    """``POST /v1/rerank``: Jina's format, and TEI's."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer how well each document answers the query."""
        _require(self._context, "reranking", "rank")
        context = self._context
        body = self._read_json(req)
        template = context.engine.info.chat_templates.get("rerank")
        with _worded_for_inputs(context):
            call = read_rerank(body, self._vocab(), template, context.model_id)
        send_json(resp, rerank_reply(call, self._rows(req, call.request)))


def _require(context: ServingContext, what: str, pooling: str) -> None:
    """Refuse what the server was not started for."""
    found = context.engine.info.pooling
    if found is None or pooling not in ("any", found):
        raise InvalidRequest(
            f"This server does not support {what}. Start it with `--{what}`",
            status=501,
            kind="not_supported_error",
        )


@contextmanager
def _worded_for_inputs(context: ServingContext) -> Iterator[None]:
    """Say of a text refused unread what is said of too many tokens."""
    n_most = context.engine.info.n_tokens_input
    try:
        yield
    except PromptTooLong as error:
        if n_most < context.settings.engine.n_ubatch:
            raise
        raise InputTooLarge(error.n_prompt_tokens, n_most) from error
