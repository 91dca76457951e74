"""The rows of the flag table for embeddings, reranking and infill."""

from __future__ import annotations

from collections.abc import Mapping

from api.settings.flags import choice, integer, section, switch, valued

__all__ = ("EMBEDDING_FLAGS",)

_SERVE = ("serve",)
_POOLING = choice("none", "mean", "cls", "last", "rank")


def _ranking(is_on: object) -> Mapping[str, object]:
    return {"engine.embeddings": True, "engine.pooling": "rank"} if is_on else {}


EMBEDDING_FLAGS = section(
    "Embeddings and infill",
    switch(
        "--embedding --embeddings",
        "engine.embeddings",
        "Serve embeddings only: /v1/embeddings and /embedding. The whole of an input "
        "must fit --ubatch-size, and --batch-size is never more than that.",
        "LLAMA_ARG_EMBEDDINGS",
        commands=_SERVE,
    ),
    valued(
        "--pooling",
        "engine.pooling",
        _POOLING,
        "TYPE",
        "How the rows of an input's tokens become one: none (they stay), mean, cls, "
        "last, or rank (scores); not given: the model's own. Needs --embeddings.",
        "LLAMA_ARG_POOLING",
        commands=_SERVE,
    ),
    valued(
        "--embd-normalize",
        "embd_normalize",
        integer(-1),
        "N",
        "Length of embeddings: -1 as they are, 0 largest number is 32760, 1 taxicab, "
        "2 Euclidean, more: that p-norm.",
        commands=_SERVE,
    ),
    switch(
        "--rerank --reranking",
        "engine.pooling",
        "Serve /v1/rerank; the same as --embeddings --pooling rank.",
        "LLAMA_ARG_RERANKING",
        commands=_SERVE,
        expand=_ranking,
    ),
    switch(
        "--spm-infill",
        "spm_infill",
        "/infill puts the suffix before the prefix, as some models prefer it.",
        commands=_SERVE,
    ),
)
