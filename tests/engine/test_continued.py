"""Generations that go on behind tokens of an earlier one: as if never interrupted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from llamactypes.constraints.constraint import Constraint
from llamactypes.engine import FinishReason, GenerationRequest
from llamactypes.sampling_params import SamplingParams
from tests.engine.test_engine_models import GREEDY, ask, run, running

PROMPT = "Once upon a time"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"stop": ("wanted to",)},
        {"stop": ("never comes",), "ignore_eos": True},
        {"sampling": replace(GREEDY, repeat_penalty=1.3, repeat_last_n=256)},
        {"sampling": replace(GREEDY, dry_multiplier=0.8)},
        {"n_indent": 1},
    ],
    ids=["plain", "stop", "ignore_eos", "penalties", "dry", "indent"],
)
def test_a_greedy_generation_goes_on_as_it_would_have(
    stories_model_path: Any, changes: dict[str, Any]
) -> None:
    with running(stories_model_path, n_ctx=512, n_parallel=1) as engine:
        request = replace(ask(engine, PROMPT, max_tokens=60), **changes)
        whole, end = run(engine, request)
        deltas, _ = whole.read(0)
        for n_deltas in (1, 2, 3, 7, len(deltas) // 2, len(deltas) - 1, len(deltas)):
            before = deltas[:n_deltas]
            tokens = tuple(token for delta in before for token in delta.tokens)
            rest, result = run(engine, replace(request, generated=tokens))
            text = "".join(delta.text for delta in before) + rest.text
            assert text == whole.text
            assert (*tokens, *rest.tokens) == tuple(whole.tokens)
            assert (result.finish, result.n_decoded, result.stopping_word) == (
                end.finish,
                end.n_decoded,
                end.stopping_word,
            )
            assert result.n_prompt == end.n_prompt


def test_characters_and_stops_that_were_beginning_are_finished(
    scripted_path: Any,
) -> None:
    """Cut after every token, not only where a delta ended."""
    with running(scripted_path, n_ctx=512, n_parallel=1) as engine:
        for byte in range(3):
            request = GenerationRequest(
                tuple(engine.vocab.tokenize(chr(ord("a") + byte))),
                SamplingParams(temperature=0),
                max_tokens=40,
                stop=("zz",),
            )
            whole, end = run(engine, request)
            tokens = tuple(whole.tokens)
            for n in range(1, len(tokens)):
                rest, result = run(engine, replace(request, generated=tokens[:n]))
                assert (*tokens[:n], *rest.tokens) == tokens
                assert whole.text.endswith(rest.text)
                assert result.finish is end.finish


def test_what_had_come_to_its_end_ends_at_once(stories_model_path: Any) -> None:
    with running(stories_model_path, n_ctx=512, n_parallel=1) as engine:
        request = ask(engine, PROMPT, max_tokens=5)
        whole, _ = run(engine, request)
        rest, result = run(engine, replace(request, generated=tuple(whole.tokens)))
        assert (rest.text, result.finish) == ("", FinishReason.LENGTH)
        assert result.n_decoded == 5


def test_a_grammar_goes_on_where_it_was(stories_model_path: Any) -> None:
    pytest.importorskip("llguidance")
    with running(stories_model_path, n_ctx=512, n_parallel=1) as engine:
        grammar = Constraint("start: /[a-z]{3}(, [a-z]{3}){8}\\./", "grammar")
        compiled = engine.compile_constraint(grammar)
        request = replace(ask(engine, PROMPT, max_tokens=60), constraint=compiled)
        whole, end = run(engine, request)
        tokens = tuple(whole.tokens)
        assert whole.text.endswith(".")
        for n in range(1, len(tokens)):
            rest, result = run(engine, replace(request, generated=tokens[:n]))
            assert (*tokens[:n], *rest.tokens) == tokens
            assert result.finish is end.finish
