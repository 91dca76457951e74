"""Text without a choice is not drawn: it joins the next decode as it is."""

from __future__ import annotations

import re

import pytest

from llamactypes.engine import FinishReason
from llamactypes.engine.planning.plan import Sampled
from llamactypes.engine.planning.sequence import MOST_FORCED
from llamactypes.sampling_params import SamplingParams
from tests.engine.test_constraints import JSON, asked, check_json
from tests.engine.test_engine_models import WAIT_S, ask, run, running
from tests.support.builders import PIECES, make_scheduler, step
from tests.support.builders import make_sequence as new_sequence

GREEDY = SamplingParams(temperature=0.0)
DRAWN = SamplingParams(temperature=0.0, seed=1)
"""A request with a seed of its own is drawn token by token."""
FIXED = 'start: /[ab]/ "cdefghijklmnopqrstuvwxyz" /[ab]/ "0123456789" /[ab]/'
FIXED_TEXT = "[ab]cdefghijklmnopqrstuvwxyz[ab]0123456789[ab]"
X = PIECES.token(b"x")


@pytest.fixture(scope="module")
def stories(stories_model_path):
    with running(stories_model_path, n_parallel=4, n_ctx=1024) as engine:
        yield engine


@pytest.fixture(scope="module")
def scripted(scripted_path):
    with running(scripted_path, n_parallel=2, n_ctx=512) as engine:
        yield engine


def decodes(engine, request):
    before = engine.metrics().n_decode
    generation, result = run(engine, request)
    return generation, result, engine.metrics().n_decode - before


# -- over a model --------------------------------------------------------------------


def test_fixed_text_takes_few_decodes(stories):
    generation, result, n = decodes(stories, asked(stories, FIXED, sampling=GREEDY))
    assert re.fullmatch(FIXED_TEXT, generation.text)
    assert result.finish is FinishReason.STOP_EOS
    assert len(generation.tokens) == result.n_decoded > 30
    assert n < 10


def test_request_with_a_seed_is_drawn_token_by_token(stories):
    _, result, n = decodes(stories, asked(stories, FIXED, sampling=DRAWN))
    assert n == result.n_decoded


def test_request_for_logprobs_is_drawn_token_by_token(stories):
    sampling = SamplingParams(temperature=0.0, n_probs=1)
    generation, result, n = decodes(stories, asked(stories, FIXED, sampling=sampling))
    probs = [each for delta in generation.read(0)[0] for each in delta.probs]
    assert n == result.n_decoded == len(probs)


def test_text_is_the_one_that_is_drawn_where_each_byte_is_a_token(scripted):
    grammar = 'start: /[a-z ]{3}/ "=[" /[0-9]{2}/ "]; done"'
    forced, result, n = decodes(scripted, asked(scripted, grammar, sampling=GREEDY))
    drawn, _, _ = decodes(scripted, asked(scripted, grammar, sampling=DRAWN))
    assert forced.text == drawn.text
    assert forced.tokens == drawn.tokens
    assert n < result.n_decoded


def test_company_does_not_change_text_with_fixed_parts(stories):
    request = asked(stories, JSON, sampling=GREEDY)
    fixed = asked(stories, FIXED, sampling=GREEDY)
    alone, _ = run(stories, request)
    free = ask(stories, max_tokens=40)
    generations = stories.submit_many([request, fixed, free, request])
    for generation in generations:
        generation.wait(WAIT_S)
    assert generations[0].text == generations[3].text == alone.text
    assert generations[1].text == run(stories, fixed)[0].text
    assert generations[2].text == run(stories, free)[0].text
    check_json(alone.text)


@pytest.mark.parametrize("limit", range(1, 8))
def test_limit_is_kept_inside_fixed_text(stories, limit):
    generation, result = run(
        stories, asked(stories, FIXED, sampling=GREEDY, max_tokens=limit)
    )
    assert result.finish is FinishReason.LENGTH
    assert len(generation.tokens) == result.n_decoded == limit


@pytest.mark.parametrize(("stop", "end"), [("ghi", "f"), ("z", "y"), ("zb", "yz")])
def test_stop_sequence_is_found_inside_fixed_text(stories, stop, end):
    request = asked(stories, FIXED, sampling=GREEDY, stop=(stop,))
    generation, result = run(stories, request)
    if result.finish is FinishReason.STOP_WORD:
        assert generation.text.endswith(end)
    assert stop not in generation.text


def test_full_context_ends_fixed_text(stories_model_path):
    grammar = 'start: /[ab]/ "' + "cdefghijklmnopqrs" * 40 + '"'
    with running(stories_model_path, n_parallel=1, n_ctx=256) as engine:
        generation, result = run(
            engine, asked(engine, grammar, sampling=GREEDY, max_tokens=-1)
        )
    assert result.truncated
    assert result.finish is FinishReason.LENGTH
    assert result.n_prompt + result.n_decoded == 256
    assert re.match("[ab]cdefghi", generation.text)


def test_fixed_text_goes_on_behind_a_context_shift(stories_model_path):
    text = "cdefghijklmnopqrs" * 40
    grammar = f'start: /[ab]/ "{text}" /[ab]/'
    with running(
        stories_model_path, n_parallel=1, n_ctx=256, context_shift=True
    ) as engine:
        generation, result = run(
            engine, asked(engine, grammar, sampling=GREEDY, max_tokens=-1)
        )
    assert result.truncated
    assert result.finish is FinishReason.STOP_EOS
    assert generation.text[1:-1] == text


@pytest.mark.parametrize("is_unified", [False, True])
def test_preempted_fixed_text_goes_on_where_it_was(stories_model_path, is_unified):
    item = '"- " /[ab]/ "cdefghijklm" /[no]/ "p\\n"'
    grammar = "start: " + " ".join([item] * 8)
    with running(
        stories_model_path, n_parallel=4, n_ctx=400, kv_unified=is_unified
    ) as engine:
        request = asked(engine, grammar, sampling=GREEDY, max_tokens=-1)
        alone, _ = run(engine, request)
        generations = engine.submit_many([request] * 4)
        for generation in generations:
            assert generation.wait(WAIT_S).finish is FinishReason.STOP_EOS
        assert (engine.metrics().preemptions > 0) == is_unified
    assert {generation.text for generation in generations} == {alone.text}


def test_reader_gets_fixed_text_with_the_token_before_it(stories):
    generation, _ = run(stories, asked(stories, FIXED, sampling=GREEDY))
    deltas, _ = generation.read(0)
    assert len(deltas) < 10
    assert deltas[-1].n_decoded == len(generation.tokens)


def test_tokens_are_counted_as_generated(stories):
    before = stories.metrics()
    generation, _ = run(stories, asked(stories, FIXED, sampling=GREEDY))
    after = stories.metrics()
    n = len(generation.tokens)
    assert after.tokens_generated - before.tokens_generated == n
    assert after.time_to_first_token_s.count - before.time_to_first_token_s.count == 1
    n_prompt = generation.result.n_prompt - generation.result.n_cached
    assert after.prompt_tokens - before.prompt_tokens == n_prompt


def test_json_with_fixed_names_is_json(stories):
    for _ in range(3):
        check_json(
            run(stories, asked(stories, JSON, sampling=SamplingParams()))[0].text
        )


def test_forbidden_token_is_not_forced(stories):
    (token,) = stories.vocab.tokenize("z", add_special=False)[-1:]
    bias = ((token, float("-inf")),)
    sampling = SamplingParams(temperature=0.0, logit_bias=bias)
    generation, result = run(stories, asked(stories, FIXED, sampling=sampling))
    assert token not in generation.tokens
    if result.finish is FinishReason.ERROR:
        assert generation.text.endswith("y")


# -- the plan ------------------------------------------------------------------------


def generating(scheduler, n, *, n_forced=0):
    """Return streams that have sampled once, each with forced tokens behind it."""
    sequences = [new_sequence(3) for _ in range(n)]
    for sequence in sequences:
        scheduler.submit(sequence)
    scheduler.admit()
    for admission in scheduler.begin():
        scheduler.start(admission, 0, 1.0)
    plan = scheduler.plan()
    forced = {sequence.id: [X] * n_forced for sequence in sequences} if n_forced else {}
    scheduler.apply(plan, Sampled(sequences, [X] * n, forced=forced), 1.0)
    return sequences


def chunks(plan):
    return [(chunk.n_tokens, chunk.wants_logits) for chunk in plan.prompts]


def test_lone_stream_computes_all_that_was_forced():
    scheduler = make_scheduler(1)
    generating(scheduler, 1, n_forced=3)
    plan = scheduler.plan()
    assert chunks(plan) == [(4, True)]
    assert (plan.n_prompt, plan.n_forced, plan.n_tokens) == (0, 4, 4)


def test_forced_tokens_are_computed_one_by_one_where_more_would_cost_a_step():
    scheduler = make_scheduler(4)
    generating(scheduler, 2)
    sequence = new_sequence(3)
    scheduler.submit(sequence)
    step(scheduler)
    assert sequence.is_generating
    sequence.tokens.append(X)
    scheduler._planner.forget()
    assert chunks(scheduler.plan()) == [(1, False)]
    step(scheduler)
    assert sequence.is_generating


def test_forced_tokens_of_many_streams_are_computed_one_by_one():
    scheduler = make_scheduler(5, n_batch=32)
    generating(scheduler, 5, n_forced=4)
    assert chunks(scheduler.plan()) == [(1, False)] * 5


def test_forced_tokens_are_computed_at_once_in_a_shared_buffer():
    scheduler = make_scheduler(3, n_kv=64)
    for sequence in generating(scheduler, 2, n_forced=1)[:1]:
        sequence.tokens.pop()
    assert chunks(scheduler.plan()) == [(2, True)]


def test_prompt_beside_forced_tokens_gets_the_rest_of_the_batch():
    scheduler = make_scheduler(2, n_batch=8)
    generating(scheduler, 1, n_forced=2)
    prompt = new_sequence(20)
    scheduler.submit(prompt)
    plan, _ = step(scheduler)
    assert [chunk.n_tokens for chunk in plan.prompts] == [3, 5]
    assert plan.n_prompt == 5


def test_more_forced_tokens_than_the_batch_has_room_for_go_one_by_one():
    scheduler = make_scheduler(2, n_batch=8)
    generating(scheduler, 2, n_forced=4)
    assert chunks(scheduler.plan()) == [(1, False), (1, False)]


def test_long_recomputation_is_no_forced_text():
    sequence = new_sequence(3)
    sequence.tokens += [X] * (MOST_FORCED + 2)
    sequence.n_decoded = MOST_FORCED + 2
    sequence.n_computed = 3
    assert not sequence.has_forced
    sequence.n_computed = 4
    assert sequence.has_forced
    sequence.n_computed = 0
    assert not sequence.has_forced


def test_nothing_is_forced_behind_the_end():
    scheduler = make_scheduler(1)
    sequence = new_sequence(3, max_tokens=2)
    scheduler.submit(sequence)
    scheduler.admit()
    for admission in scheduler.begin():
        scheduler.start(admission, 0, 1.0)
    plan = scheduler.plan()
    sampled = Sampled([sequence], [X], forced={sequence.id: [X] * 5})
    (event,) = scheduler.apply(plan, sampled, 1.0)[-1:]
    assert event.result is not None
    assert event.result.n_decoded == 2
    assert event.delta is not None
    assert event.delta.text == "xx"
    scheduler.check_integrity()
    assert event.delta.tokens == (X, X)
