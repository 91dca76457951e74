from __future__ import annotations

import pytest

from llamactypes.engine import Engine, EngineConfig, FinishReason, GenerationRequest
from tests.support.fake_model import FakeModel

PROMPT = tuple(b"abcd")


@pytest.fixture
def run(monkeypatch):
    """Return a function that answers one request while the library forgets a token."""

    def answer(check):
        monkeypatch.setenv("LLAMACTYPES_CHECK", check)
        model = FakeModel()
        model.runner.n_computed = lambda slot: model.runner.computed.get(slot, 0) - 1
        engine = Engine(EngineConfig("fake.gguf"), load=model.load)
        engine.start()
        engine.wait_ready(5)
        result = engine.submit(GenerationRequest(PROMPT, max_tokens=6)).wait(5)
        engine.stop(0)
        return engine, result

    return answer


def test_books_that_differ_end_the_engine_where_it_checks_every_step(run):
    engine, result = run("1")
    assert result.finish is FinishReason.ERROR
    assert "tokens, not" in str(engine.failure)


def test_books_are_only_compared_at_rest_otherwise(run):
    engine, result = run("")
    assert result.finish is FinishReason.LENGTH
    assert engine.failure is None
