"""Reranking: how well documents answer a query, in Jina's form and TEI's. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Protocol

from api.protocol.embedding.embeddings import usage
from api.protocol.fields import Body, Integer, boolean, json_type, text
from api.protocol.invalid import InvalidRequest
from api.protocol.prompt import PromptVocab
from llamactypes.engine.embedding.request import (
    UNCHANGED,
    EmbeddingRequest,
    EmbeddingResult,
)

__all__ = ("RerankCall", "RerankVocab", "read_rerank", "rerank_reply")

_TOP_N = Integer(("top_n",), 0)
_PLACE = re.compile(r"\{(query|document)\}")


class RerankVocab(PromptVocab, Protocol):
    """What putting a query and a document together needs of a vocabulary."""

    @property
    def sep(self) -> int | None:
        """The token between two texts."""

    @property
    def add_sep(self) -> bool:
        """Whether the model wants it."""


@dataclass(frozen=True, slots=True)
class RerankCall:
    """A request, read."""

    request: EmbeddingRequest
    documents: tuple[str, ...]
    top_n: int
    is_tei: bool
    """Hugging Face's text-embeddings-inference asked: the reply is a bare list."""
    has_text: bool
    """Each result repeats its document."""
    model: str


def read_rerank(
    body: Body, vocab: RerankVocab, template: str | None, model_id: str
) -> RerankCall:
    """Read a request.

    Args:
        body: The request.
        vocab: The model's vocabulary.
        template: The model's own form of a pair, with ``{query}`` and ``{document}``.
        model_id: The model's name, when the request gives it none.

    Raises:
        InvalidRequest: It cannot be honoured as it stands.
    """
    is_tei = body.get("texts") is not None
    query, documents = _query(body), _documents(body, "texts" if is_tei else "")
    pairs = tuple(_pair(query, one, vocab, template) for one in documents)
    if not all(pairs):
        raise InvalidRequest("Input content cannot be empty", "query")
    return RerankCall(
        EmbeddingRequest(pairs, normalize=UNCHANGED),
        documents,
        top_n=_TOP_N.read(body, len(documents)),
        is_tei=is_tei,
        has_text=boolean(body, "return_text" if is_tei else "return_documents", False),
        model=text(body, "model") or model_id,
    )


def rerank_reply(call: RerankCall, result: EmbeddingResult) -> Any:
    """Return the best documents, best first."""
    scores = [float(rows[0, 0]) for rows in result.rows]
    best = sorted(range(len(scores)), key=lambda index: -scores[index])[: call.top_n]
    if call.is_tei:
        return [
            {"index": index, "score": scores[index], **_text(call, index)}
            for index in best
        ]
    return {
        "model": call.model,
        "object": "list",
        "usage": usage(call.request),
        "results": [
            {"index": index, "relevance_score": scores[index], **_text(call, index)}
            for index in best
        ],
    }


def _text(call: RerankCall, index: int) -> dict[str, Any]:
    if not call.has_text:
        return {}
    document = call.documents[index]
    return {"text": document} if call.is_tei else {"document": {"text": document}}


def _query(body: Body) -> str:
    query = body.get("query")
    if query is None:
        raise InvalidRequest('"query" must be provided', "query")
    if not isinstance(query, str):
        raise InvalidRequest(
            f'"query" must be a string, but got {json_type(query)}', "query"
        )
    return query


def _documents(body: Body, other_name: str) -> tuple[str, ...]:
    # As llama-server: a request with both names is of the second one's kind, but the
    # documents are those of the first.
    name = "documents" if body.get("documents") is not None else other_name
    given = body.get(name)
    texts = [_document(each) for each in given] if isinstance(given, list) else []
    if not texts or not all(isinstance(each, str) for each in texts):
        raise InvalidRequest(
            '"documents" must be a non-empty string array', name or "documents"
        )
    return tuple(each for each in texts if each is not None)


def _document(given: Any) -> str | None:
    """Return a document's text; Jina's and Cohere's may be objects."""
    if isinstance(given, dict):
        given = given.get("text")
    return given if isinstance(given, str) else None


def _pair(
    query: str, document: str, vocab: RerankVocab, template: str | None
) -> tuple[int, ...]:
    if template is not None:
        # In one pass: a query may hold the word that stands for the document.
        words = {"query": query, "document": document}
        filled = _PLACE.sub(lambda found: words[found[1]], template)
        return tuple(vocab.tokenize(filled, add_special=False, parse_special=True))
    return tuple(
        token
        for token in (
            vocab.bos if vocab.add_bos else None,
            *vocab.tokenize(query, add_special=False, parse_special=False),
            _end(vocab),
            vocab.sep if vocab.add_sep else None,
            *vocab.tokenize(document, add_special=False, parse_special=False),
            _end(vocab),
        )
        if token is not None
    )


def _end(vocab: RerankVocab) -> int | None:
    """Return what ends each of the two texts."""
    if not vocab.add_eos:
        return None
    return vocab.sep if vocab.eos is None else vocab.eos
