"""``/v1/rerank`` and its other names, with an engine that only pretends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from api.protocol.embedding.rerank import read_rerank
from tests.support.fake_engine import BOS, EOS, FakeEngine, FakeVocab, make_info

SEP = 0
"""Stands between query and document where a test's vocabulary has it."""
PATHS = ("/rerank", "/reranking", "/v1/rerank", "/v1/reranking")


@pytest.fixture
def make_ranker(make_api: Callable[..., Any]) -> Callable[..., Any]:
    def make(pooling: str | None = "rank", **changes: Any) -> Any:
        facts = {"n_embd_out": 2, "n_tokens_input": 64} if pooling else {}
        return make_api(engine=FakeEngine(info=make_info(pooling=pooling, **facts)))

    return make


@pytest.fixture
def api(make_ranker: Callable[..., Any]) -> Any:
    return make_ranker()


def rank(api: Any, path: str = "/v1/rerank", **body: Any) -> Any:
    """The fake's score is the length of the pair: longer documents are better."""
    return api.post(path, {"query": "q", **body})


@pytest.mark.parametrize("path", PATHS)
def test_jinas_reply_is_sorted_best_first(api, path):
    reply = rank(api, path, documents=["aa", "a", "aaa"], model="any")
    assert reply.status_code == 200
    assert reply.json == {
        "model": "any",
        "object": "list",
        "usage": {"prompt_tokens": 12, "total_tokens": 12},
        "results": [
            {"index": 2, "relevance_score": 5.0},
            {"index": 0, "relevance_score": 4.0},
            {"index": 1, "relevance_score": 3.0},
        ],
    }


def test_teis_reply_is_a_bare_list(api):
    reply = rank(api, texts=["a", "aa"], return_text=True)
    assert reply.json == [
        {"index": 1, "score": 4.0, "text": "aa"},
        {"index": 0, "score": 3.0, "text": "a"},
    ]


def test_equal_scores_keep_the_order_of_the_documents(api):
    results = rank(api, documents=["b", "a", "c"]).json["results"]
    assert [one["index"] for one in results] == [0, 1, 2]


@pytest.mark.parametrize(("top_n", "n"), [(None, 3), (2, 2), (3, 3), (99, 3), (0, 0)])
def test_top_n_cuts_the_list(api, top_n, n):
    given = {} if top_n is None else {"top_n": top_n}
    assert len(rank(api, documents=["a", "b", "c"], **given).json["results"]) == n
    assert len(rank(api, texts=["a", "b", "c"], **given).json) == n


def test_documents_come_back_when_asked_for(api):
    reply = rank(api, documents=["a", {"text": "bb"}], return_documents=True)
    assert [one["document"] for one in reply.json["results"]] == [
        {"text": "bb"},
        {"text": "a"},
    ]


@pytest.mark.parametrize(
    ("body", "param", "words"),
    [
        ({"query": None, "documents": ["a"]}, "query", '"query" must be provided'),
        ({"query": 1, "documents": ["a"]}, "query", '"query" must be a string'),
        *(
            ({"documents": given}, "documents", "must be a non-empty string array")
            for given in ([], None, 123, [1, 2], [None], [{"title": "a"}])
        ),
        ({"documents": ["a"], "top_n": -1}, "top_n", "between"),
        ({"documents": ["a"], "top_n": "1"}, "top_n", "integer"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(api, body, param, words):
    reply = rank(api, **body)
    assert reply.status_code == 400
    assert reply.json["error"]["param"] == param
    assert words in reply.json["error"]["message"]


@pytest.mark.parametrize("pooling", [None, "mean"])
def test_a_server_that_does_not_rank_answers_501(make_ranker, pooling):
    reply = rank(make_ranker(pooling), documents=["a"])
    assert reply.status_code == 501
    assert "Start it with `--reranking`" in reply.json["error"]["message"]


# -- how a pair becomes one input ----------------------------------------------------


def pair(vocab: Any, template: str | None = None, query: str = "q") -> list[int]:
    body = {"query": query, "documents": ["d"]}
    return list(read_rerank(body, vocab, template, "id").request.inputs[0])


def make_vocab(**facts: Any) -> Any:
    vocab = FakeVocab()
    for name, value in facts.items():
        setattr(vocab, name, value)
    return vocab


@pytest.mark.parametrize(
    ("facts", "tokens"),
    [
        ({}, [BOS, 113, 100]),
        ({"add_bos": False}, [113, 100]),
        ({"add_eos": True}, [BOS, 113, EOS, 100, EOS]),
        (
            {"add_eos": True, "add_sep": True, "sep": SEP},
            [BOS, 113, EOS, SEP, 100, EOS],
        ),
        ({"add_eos": True, "eos": None, "sep": SEP}, [BOS, 113, SEP, 100, SEP]),
    ],
)
def test_a_pair_is_put_together_as_the_vocabulary_says(facts, tokens):
    assert pair(make_vocab(**facts)) == tokens


def test_special_tokens_in_texts_are_text():
    assert pair(make_vocab(), query="</s>") == [BOS, *b"</s>", 100]


def test_a_template_says_all_of_a_pair():
    assert pair(make_vocab(), "<s>{query}:{document}") == [BOS, *b"q:d"]


def test_a_query_that_looks_like_a_place_stays_as_it_is():
    tokens = pair(make_vocab(), "{query}|{document}", query="{document}")
    assert bytes(tokens) == b"{document}|d"
