"""Scores of given texts over HTTP, as evaluation harnesses ask for them.

They send context and continuation as one prompt, let one token be generated, and sum
the logprobs of the tokens between: ``token_logprobs[n_context:-1]``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest

from llamactypes import Batch, Context, ContextParams, Model
from tests.support.server_process import ServerProcess
from tests.support.streams import ENDLESS, StreamReader
from tests.support.waiting import eventually

N_BATCH = 32
N_CTX_SLOT = 512
ASK = {"echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0}
PAIRS = [
    ("Once upon a time there was a", " little girl named Lily."),
    ("Lily liked to", " play with her toys"),
    ("The dog", " eats $5 of law"),
    ('She said: "Hi \N{GRINNING FACE}', '\N{GRINNING FACE}" and smiled.'),
    (" ".join(["One day, a little boy went to the park."] * 9), " He was happy."),
]


class Direct:
    """Computes the same through the object layer, each text in one decode."""

    def __init__(self, context: Context) -> None:
        self.vocab = context.model.vocab
        self._context = context

    def tokens(self, text: str, *, bos: bool = True) -> list[int]:
        return self.vocab.tokenize(text, add_special=bos)

    def split(self, pair: tuple[str, str]) -> tuple[list[int], list[int]]:
        context = self.tokens(pair[0])
        return context, self.tokens("".join(pair))[len(context) :]

    def logprobs(self, tokens: list[int]) -> np.ndarray:
        """Return the log-softmax after each token; shape (n_tokens, n_vocab)."""
        self._context.memory.clear(True)
        with Batch(len(tokens)) as batch:
            for position, token in enumerate(tokens):
                batch.add(token, position, 0, True)
            self._context.decode(batch)
        rows = [self._context.logits(i) for i in range(len(tokens))]
        logits = np.array(rows, dtype=np.float64)
        logits -= logits.max(axis=1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))

    def score(self, context: list[int], continuation: list[int]) -> tuple[float, bool]:
        """Return the continuation's logprob, and whether greedy would write it."""
        rows = self.logprobs(context + continuation)[len(context) - 1 : -1]
        total = sum(row[token] for row, token in zip(rows, continuation, strict=True))
        return total, rows.argmax(axis=1).tolist() == continuation


def harness_score(choice: dict[str, Any], n_context: int) -> tuple[float, bool]:
    """Return what lm-eval reads from a choice."""
    values = choice["logprobs"]["token_logprobs"][n_context:-1]
    tops = choice["logprobs"]["top_logprobs"][n_context:-1]
    is_greedy = all(v == max(t.values()) for v, t in zip(values, tops, strict=True))
    return sum(values), is_greedy


@pytest.fixture(scope="module")
def direct(stories_model_path: Path) -> Iterator[Direct]:
    params = ContextParams(n_ctx=1024, n_batch=1024, n_threads=1)
    with Model(stories_model_path) as model, Context(model, params) as context:
        yield Direct(context)


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stories_model_path: Path
) -> Iterator[ServerProcess]:
    """A server whose batch is smaller than the prompts."""
    sizes = ("-np", "4", "-c", str(4 * N_CTX_SLOT), "-b", str(N_BATCH))
    flags = ("-m", str(stories_model_path), "--port", "0", *sizes, "--context-shift")
    with ServerProcess(tmp_path_factory.mktemp("server"), flags) as process:
        process.wait_ready()
        yield process


def complete(server: ServerProcess, **body: Any) -> list[dict[str, Any]]:
    reply = server.post("/v1/completions", {**ASK, **body})
    assert reply.status_code == 200, reply.text
    choices: list[dict[str, Any]] = reply.json()["choices"]
    return choices


def check(direct: Direct, pair: tuple[str, str], choice: dict[str, Any]) -> None:
    context, continuation = direct.split(pair)
    found, is_greedy = harness_score(choice, len(context))
    expected, expected_greedy = direct.score(context, continuation)
    assert found == pytest.approx(expected, abs=1e-3)
    assert is_greedy is expected_greedy


@pytest.mark.parametrize("pair", PAIRS)
def test_scores_are_those_of_a_direct_computation(
    server: ServerProcess, direct: Direct, pair: tuple[str, str]
) -> None:
    for _ in range(2):  # the second time a cache holds the prompt
        (choice,) = complete(server, prompt=direct.tokens("".join(pair)))
        check(direct, pair, choice)


def test_greedy_continuation_is_called_greedy(
    server: ServerProcess, direct: Direct
) -> None:
    context = direct.tokens("Once upon a time")
    written: list[int] = []
    for _ in range(6):
        written.append(int(direct.logprobs(context + written)[-1].argmax()))
    (choice,) = complete(server, prompt=context + written)
    assert harness_score(choice, len(context))[1] is True


def test_scores_of_several_prompts_in_requests_beside_streams(
    server: ServerProcess, direct: Direct
) -> None:
    readers = [StreamReader(server.url + "/completion", ENDLESS) for _ in range(2)]
    try:
        eventually(lambda: all(len(reader.events) > 2 for reader in readers), 30)
        prompts = [direct.tokens("".join(pair)) for pair in PAIRS]
        with ThreadPoolExecutor(3) as pool:
            replies = list(
                pool.map(lambda part: complete(server, prompt=part), [prompts] * 3)
            )
        assert not any(reader.has_finish for reader in readers)
    finally:
        for reader in readers:
            reader.close()
    for choices in replies:
        for pair, choice in zip(PAIRS, choices, strict=True):
            check(direct, pair, choice)


def test_text_gets_a_bos_that_the_lists_do_not_show(
    server: ServerProcess, direct: Direct
) -> None:
    text = "Once upon a time"
    (as_text,) = complete(server, prompt=text)
    (as_tokens,) = complete(server, prompt=direct.tokens(text))
    shown, full = as_text["logprobs"], as_tokens["logprobs"]
    assert as_text["text"].startswith(text)
    assert full["tokens"] == ["<s>", *shown["tokens"]]
    assert full["token_logprobs"][0] is shown["token_logprobs"][0] is None
    assert full["token_logprobs"][2:] == pytest.approx(shown["token_logprobs"][1:])
    plain = direct.tokens(text, bos=False)
    assert len(shown["tokens"]) == len(plain) + 1
    offsets = shown["text_offset"]
    places = zip(offsets, shown["tokens"], strict=True)
    assert offsets[0] == 0
    assert all(as_text["text"].startswith(t, at) for at, t in list(places)[1:])


def test_offsets_point_at_the_tokens_of_a_prompt_with_split_characters(
    server: ServerProcess, direct: Direct
) -> None:
    tokens = direct.tokens("x \N{GRINNING FACE}\N{GRINNING FACE} y")
    (choice,) = complete(server, prompt=tokens, max_tokens=0)
    lists, text = choice["logprobs"], choice["text"]
    assert sum(token.startswith("bytes:\\x") for token in lists["tokens"]) == 8
    for token, at in zip(lists["tokens"], lists["text_offset"], strict=True):
        assert token.startswith("bytes:") or text.startswith(token, at)
    after = lists["tokens"].index(" y")
    assert text[lists["text_offset"][after] :] == " y"


def test_stream_joins_to_the_whole_reply(server: ServerProcess, direct: Direct) -> None:
    body = {**ASK, "prompt": direct.tokens(PAIRS[-1][0]), "n": 2, "max_tokens": 4}
    whole = server.post("/v1/completions", body).json()["choices"]
    lists: list[dict[str, list[Any]]] = [{}, {}]
    texts = ["", ""]
    with server.post("/v1/completions", {**body, "stream": True}) as reply:
        for line in reply.text.splitlines():
            if line.startswith("data: {"):
                (choice,) = json.loads(line.removeprefix("data: "))["choices"]
                texts[choice["index"]] += choice["text"]
                for key, values in (choice["logprobs"] or {}).items():
                    lists[choice["index"]].setdefault(key, []).extend(values)
    for index, choice in enumerate(whole):
        assert texts[index] == choice["text"]
        found, expected = lists[index], choice["logprobs"]
        assert found["tokens"] == expected["tokens"]
        assert found["text_offset"] == expected["text_offset"]
        assert found["token_logprobs"][1:] == pytest.approx(
            expected["token_logprobs"][1:], abs=1e-3
        )


def test_longest_prompt_is_scored_and_a_longer_one_has_openais_code(
    server: ServerProcess, direct: Direct
) -> None:
    tokens = [1, *(300 + i % 150 for i in range(N_CTX_SLOT - 1))]
    (choice,) = complete(server, prompt=tokens[:-1])
    assert len(choice["logprobs"]["tokens"]) == N_CTX_SLOT
    total = harness_score(choice, 1)[0]
    assert total == pytest.approx(direct.score(tokens[:1], tokens[1:-1])[0], rel=1e-4)
    with openai.OpenAI(base_url=server.url + "/v1", api_key="none") as client:
        with pytest.raises(openai.BadRequestError) as caught:
            client.completions.create(model="any", prompt=tokens, **ASK)
        assert caught.value.code == "context_length_exceeded"
        assert caught.value.body["n_prompt_tokens"] == N_CTX_SLOT
        assert caught.value.body["n_ctx"] == N_CTX_SLOT
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(
                model="any",
                messages=[{"role": "user", "content": "word " * 4000}],
                stream=True,
            )
        assert caught.value.code == "context_length_exceeded"


def test_openai_client_reads_the_lists(server: ServerProcess) -> None:
    with openai.OpenAI(base_url=server.url + "/v1", api_key="none") as client:
        reply = client.completions.create(
            model="any", prompt="Once upon", echo=True, logprobs=2, max_tokens=2
        )
    lists = reply.choices[0].logprobs
    n = len(lists.tokens)
    assert n == len(lists.token_logprobs) == len(lists.top_logprobs)
    assert n == len(lists.text_offset) == reply.usage.total_tokens - 1
    assert all(2 <= len(top) <= 3 for top in lists.top_logprobs[1:])


def test_forbidden_token_is_never_written_and_keeps_its_raw_logprob(
    server: ServerProcess, direct: Direct
) -> None:
    tokens = direct.tokens("Once upon a")
    row = direct.logprobs(tokens)[-1]
    best = int(row.argmax())
    (choice,) = complete(server, prompt=tokens, logit_bias=[[best, False]])
    text = direct.vocab.piece(best).decode()
    assert choice["logprobs"]["tokens"][-1] != text
    top = choice["logprobs"]["top_logprobs"][-1]
    assert top[text] == pytest.approx(row[best], abs=1e-3)
