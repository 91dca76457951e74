"""A real server for embeddings, and OpenAI's own Python client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
import requests

from tests.support.server_process import ServerProcess
from tests.support.tiny_bert import N_EMBD

TEXTS = ["the cat sat", "hello world", "machine learning"]


def started(folder: Path, model: Path, *flags: str) -> ServerProcess:
    return ServerProcess(folder, ("-m", str(model), "--port", "0", *flags))


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, bert_path: Path
) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("server")
    with started(folder, bert_path, "--embeddings", "--metrics") as process:
        process.wait_ready()
        yield process


@pytest.fixture
def client(server: ServerProcess) -> Iterator[openai.OpenAI]:
    url = f"{server.url}/v1"
    with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        yield client


def similarity(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def test_create_returns_embeddings_in_order(client: openai.OpenAI) -> None:
    reply = client.embeddings.create(model="any", input=TEXTS)
    assert (reply.model, reply.object) == ("any", "list")
    assert [item.index for item in reply.data] == [0, 1, 2]
    assert [len(item.embedding) for item in reply.data] == [N_EMBD] * 3
    assert reply.usage.prompt_tokens == reply.usage.total_tokens > 3


def test_the_clients_base64_and_numbers_are_the_same(client: openai.OpenAI) -> None:
    (packed,) = client.embeddings.create(model="any", input=TEXTS[0]).data
    (plain,) = client.embeddings.create(
        model="any", input=TEXTS[0], encoding_format="float"
    ).data
    assert packed.embedding == pytest.approx(plain.embedding)
    assert similarity(plain.embedding, plain.embedding) == pytest.approx(1)


def test_tokens_are_embedded_as_they_are(
    client: openai.OpenAI, server: ServerProcess
) -> None:
    body = {"content": TEXTS[0], "add_special": True}
    tokens = requests.post(f"{server.url}/tokenize", json=body, timeout=5).json()
    reply = client.embeddings.create(model="any", input=[tokens["tokens"], [7, 8]])
    (text,) = client.embeddings.create(model="any", input=TEXTS[0]).data
    assert similarity(reply.data[0].embedding, text.embedding) > 0.9999


def test_dimensions_shorten_embeddings(client: openai.OpenAI) -> None:
    (item,) = client.embeddings.create(model="any", input="cat", dimensions=4).data
    assert len(item.embedding) == 4
    assert similarity(item.embedding, item.embedding) == pytest.approx(1)


def test_an_input_that_is_too_long_is_an_error(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.embeddings.create(model="any", input="cat " * 500)
    assert "exceeds the available context size" in caught.value.message


def test_completions_are_refused(client: openai.OpenAI) -> None:
    messages: Any = [{"role": "user", "content": "hi"}]
    with pytest.raises(openai.APIStatusError) as caught:
        client.chat.completions.create(model="any", messages=messages)
    assert caught.value.status_code == 501


def test_metrics_and_slots_know_of_embeddings(server: ServerProcess) -> None:
    def counted() -> float:
        text = requests.get(f"{server.url}/metrics", timeout=5).text
        line = next(
            one for one in text.splitlines() if one.startswith("llamacpp:prompt_tokens")
        )
        return float(line.split()[1])

    before = counted()
    body = {"input": [[7, 8, 9], [7]]}
    requests.post(f"{server.url}/embedding", json=body, timeout=5).raise_for_status()
    assert counted() == before + 4
    slots = requests.get(f"{server.url}/slots", timeout=5).json()
    assert [slot["is_processing"] for slot in slots] == [False] * 32


def test_a_reranker_sorts_documents(tmp_path: Path, reranker_path: Path) -> None:
    with started(tmp_path, reranker_path, "--rerank") as server:
        server.wait_ready()
        body = {"query": "the cat", "documents": TEXTS, "top_n": 2}
        reply = requests.post(f"{server.url}/v1/rerank", json=body, timeout=5).json()
        scores = [one["relevance_score"] for one in reply["results"]]
        assert len(scores) == 2
        assert scores == sorted(scores, reverse=True)


def test_infill_completes_with_the_models_tokens(
    tmp_path: Path, infill_path: Path
) -> None:
    with started(tmp_path, infill_path, "-c", "512", "-np", "1") as server:
        server.wait_ready()
        body = {"input_prefix": "the ", "input_suffix": " day", "n_predict": 4}
        reply = requests.post(f"{server.url}/infill", json=body, timeout=20)
        assert reply.status_code == 200
        assert reply.json()["tokens_predicted"] == 4
