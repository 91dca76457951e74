"""--key-concurrency: generations of one API key at a time."""

from __future__ import annotations

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from falcon import testing

from api.errors import KeyBusy
from api.http.key_limit import KeyLimit
from api.protocol.invalid import InvalidRequest
from api.settings import Settings, SettingsError
from llamactypes.engine import FinishReason, GenerationRequest
from llamactypes.errors import EngineOverloaded
from tests.api.conftest import Api
from tests.support.fake_engine import FakeEngine, result
from tests.support.waiting import eventually

REQUEST = GenerationRequest((1,))


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine(is_manual=True)


@pytest.fixture
def limit(engine: FakeEngine) -> KeyLimit:
    return KeyLimit(2, engine.retry_after_s)


@pytest.mark.parametrize("reason", list(FinishReason))
def test_a_generation_counts_until_its_end_whatever_the_reason(
    engine: FakeEngine, limit: KeyLimit, reason: FinishReason
) -> None:
    (first, _) = limit.submit(0, [REQUEST] * 2, engine.submit_many)
    with pytest.raises(KeyBusy):
        limit.submit(0, [REQUEST], engine.submit_many)
    first.append(None, result(finish=reason))
    assert limit.n_live(0) == 1
    limit.submit(0, [REQUEST], engine.submit_many)
    assert limit.n_live(0) == 2


def test_each_choice_counts(engine: FakeEngine, limit: KeyLimit) -> None:
    limit.submit(0, [REQUEST], engine.submit_many)
    with pytest.raises(KeyBusy, match="1 completions running or waiting, of at most 2"):
        limit.submit(0, [REQUEST] * 2, engine.submit_many)


def test_keys_do_not_count_for_each_other(engine: FakeEngine, limit: KeyLimit) -> None:
    limit.submit(0, [REQUEST] * 2, engine.submit_many)
    limit.submit(1, [REQUEST] * 2, engine.submit_many)
    assert (limit.n_live(0), limit.n_live(1)) == (2, 2)


def test_what_the_engine_refuses_does_not_count(
    engine: FakeEngine, limit: KeyLimit
) -> None:
    engine.refusal = EngineOverloaded("the server is busy", 3.0)
    with pytest.raises(EngineOverloaded):
        limit.submit(0, [REQUEST] * 2, engine.submit_many)
    assert limit.n_live(0) == 0


def test_requests_being_submitted_count(engine: FakeEngine, limit: KeyLimit) -> None:
    def submit(requests):
        with pytest.raises(KeyBusy):
            limit.submit(0, [REQUEST], engine.submit_many)
        return engine.submit_many(requests)

    assert len(limit.submit(0, [REQUEST] * 2, submit)) == 2
    assert limit.n_live(0) == 2


def test_more_than_any_key_may_have_is_no_matter_of_waiting(
    engine: FakeEngine, limit: KeyLimit
) -> None:
    with pytest.raises(InvalidRequest, match="may have 2 at a time"):
        limit.submit(0, [REQUEST] * 3, engine.submit_many)


def test_ended_generations_are_not_kept(engine: FakeEngine, limit: KeyLimit) -> None:
    (generation,) = limit.submit(0, [REQUEST], engine.submit_many)
    generation.append(None, result())
    engine.generations.clear()
    del generation
    gc.collect()
    assert len(limit._generations[0]) == 0


def test_no_limit_lets_everything_pass(engine: FakeEngine) -> None:
    limit = KeyLimit(0, engine.retry_after_s)
    limit.submit(0, [REQUEST] * 50, engine.submit_many)
    assert limit.n_live(0) == 0


# -- over HTTP -------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["Authorization", "X-Api-Key"])
def test_busy_key_gets_429_and_another_is_answered(
    make_api: Callable[..., Api], header: str
) -> None:
    engine = FakeEngine(is_manual=True)
    api = make_api(engine=engine, api_keys=("first-key", "second"), key_concurrency=1)

    def post(key: str) -> testing.Result:
        return api.post("/v1/completions", {"prompt": "a"}, headers={header: key})

    with ThreadPoolExecutor() as pool:
        first = pool.submit(post, "first-key")
        eventually(lambda: len(engine.generations) == 1)
        busy = post("first-key")
        second = pool.submit(post, "second")
        eventually(lambda: len(engine.generations) == 2)
        end_all(engine)
        assert first.result(5).status_code == second.result(5).status_code == 200
        again = pool.submit(post, "first-key")
        eventually(lambda: len(engine.generations) == 3)
        end_all(engine)
        assert again.result(5).status_code == 200
    assert busy.status_code == 429
    assert busy.headers["retry-after"] == "1"
    assert busy.json["error"]["type"] == "rate_limit_error"
    assert "--key-concurrency" in busy.json["error"]["message"]
    assert "first-key" not in busy.text


def end_all(engine: FakeEngine) -> None:
    for generation in engine.generations:
        generation.append(None, result())


def test_more_choices_than_a_key_may_have_are_a_bad_request(
    make_api: Callable[..., Api],
) -> None:
    api = make_api(api_keys=("k",), key_concurrency=1)
    body = {"prompt": "a", "n": 2, "max_tokens": 1}
    reply = api.post("/v1/completions", body, headers={"X-Api-Key": "k"})
    assert reply.status_code == 400
    assert reply.json["error"]["param"] == "n"


def test_the_limit_needs_keys() -> None:
    with pytest.raises(SettingsError, match="add --api-key"):
        Settings.from_arguments(["--key-concurrency", "2"], {})
    given = Settings.from_arguments(["--key-concurrency", "2", "--api-key", "k"], {})
    assert given.key_concurrency == 2
    variables = {"LLAMA_ARG_KEY_CONCURRENCY": "3", "LLAMA_API_KEY": "k"}
    assert Settings.from_environment(variables).key_concurrency == 3
