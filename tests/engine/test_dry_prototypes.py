from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from llamactypes import Model, SamplerChain, SamplingError, SamplingParams
from llamactypes.engine.compute.dry_prototypes import DryPrototypes
from tests.engine.test_engine_models import PROMPT, WAIT_S, ask, running

DRY = SamplingParams(temperature=0.0, dry_multiplier=2.0, dry_allowed_length=1)


@pytest.fixture
def model(tiny_model_path):
    with Model(tiny_model_path) as model:
        yield model


def test_same_parameters_share_a_prototype_whatever_the_rest(model):
    prototypes = DryPrototypes(model)
    first = prototypes.get(DRY)
    assert prototypes.get(replace(DRY, seed=5, temperature=1.0)) is first
    assert prototypes.get(replace(DRY, dry_base=2.0)) is not first


def test_no_prototype_where_dry_is_off(model):
    prototypes = DryPrototypes(model)
    assert prototypes.get(SamplingParams()) is None
    assert prototypes.get(replace(DRY, samplers=("top_k",))) is None
    assert prototypes.get(replace(DRY, mirostat=2)) is None


def test_bad_parameters_are_refused(model):
    with pytest.raises(SamplingError, match="dry_allowed_length"):
        DryPrototypes(model).get(replace(DRY, dry_allowed_length=-1))


def test_oldest_prototype_goes_first(model):
    prototypes = DryPrototypes(model)
    first = prototypes.get(DRY)
    for i in range(8):
        prototypes.get(replace(DRY, dry_base=2.0 + i))
    assert prototypes.get(DRY) is not first


def test_copied_sampler_has_no_memory_of_its_siblings(model):
    prototypes = DryPrototypes(model)
    texts = []
    for dry in (None, prototypes.get(DRY), prototypes.get(DRY)):
        with SamplerChain.from_params(model, DRY, dry=dry) as chain:
            assert "dry" in chain.names()
            for token in (300, 301, 302, 300, 301):
                chain.accept(token)
            logits = _flat_but(model, 302)
            texts.append(chain.apply(logits).selected)
    assert texts[0] != 302
    assert texts == [texts[0]] * 3


def _flat_but(model, token):
    logits = np.zeros(model.vocab.n_tokens, np.float32)
    logits[token] = 1.0
    return logits


def test_choices_differ_by_their_seeds_and_repeat_nothing(stories_model_path):
    with running(stories_model_path, n_parallel=4, n_ctx=2048) as engine:
        requests = [
            ask(engine, PROMPT, sampling=replace(DRY, temperature=1.0, seed=seed))
            for seed in (1, 2, 1)
        ]
        texts = [g.text for g in engine.submit_many(requests) if g.wait(WAIT_S)]
    assert texts[0] != texts[1]
    assert texts[0] == texts[2]


def test_further_choices_cost_little(smollm2_path):
    with Model(smollm2_path) as model:
        prototypes = DryPrototypes(model)
        times = []
        for _ in range(4):
            started = time.thread_time()
            dry = prototypes.get(DRY)
            SamplerChain.from_params(model, DRY, dry=dry).close()
            times.append(time.thread_time() - started)
        assert min(times[1:]) < times[0] / 4
