from __future__ import annotations

import pytest

from llamactypes.engine.planning.plan import Chunk, Plan
from llamactypes.engine.planning.reaction import Reaction
from tests.support.builders import make_sequence


def prompt_at(depth: int):
    sequence = make_sequence(n_prompt=depth + 4096)
    sequence.n_computed = depth
    return sequence


def learned(n: int, depth: int, *seconds: float, **options) -> Reaction:
    """Return one that has seen decodes of `n` tokens at `depth`, at least two."""
    reaction = Reaction(**({"n_layer": 30, "n_ubatch": 512} | options))
    plan = Plan((), (Chunk(prompt_at(depth), depth, n, False),))
    for each in seconds if len(seconds) > 1 else seconds * 2:
        reaction.note(plan, each)
    return reaction


def test_nothing_is_limited_before_a_measurement_or_without_layers():
    assert Reaction(30, 512).n_prompt_max([prompt_at(5000)]) is None
    reaction = learned(512, 6000, 5.0, n_layer=0)
    assert reaction.n_prompt_max([prompt_at(6000)]) is None


def test_cheap_tokens_are_not_limited():
    assert learned(2048, 0, 2.5).n_prompt_max([prompt_at(2048)]) is None


def test_a_layer_of_a_decode_fits_the_limit_in_whole_tiles():
    n_max = learned(512, 6000, 5.3).n_prompt_max([prompt_at(6000)])
    assert n_max == 192
    assert n_max * 5.3 / 512 / 30 <= 0.08


def test_deeper_than_measured_is_taken_to_cost_more():
    reaction = learned(512, 2000, 2.0)
    assert reaction.n_prompt_max([prompt_at(2000)]) is None
    assert reaction.n_prompt_max([prompt_at(8000)]) < 256


@pytest.mark.parametrize("seconds", [60.0, 6000.0])
def test_at_least_one_tile_is_computed(seconds):
    assert learned(512, 6000, seconds).n_prompt_max([prompt_at(6000)]) == 64


def test_decodes_with_few_prompt_tokens_teach_nothing():
    reaction = learned(512, 6000, 5.3)
    stream = make_sequence(n_prompt=4)
    prompts = (Chunk(prompt_at(9000), 9000, 63, False),)
    reaction.note(Plan((stream,), prompts), 100.0)
    assert reaction.n_prompt_max([prompt_at(6000)]) == 192


def test_a_disturbed_decode_does_not_change_where_prompts_are_cut():
    reaction = learned(512, 0, 0.6, 30.0)
    assert reaction.n_prompt_max([prompt_at(0)]) is None
    assert learned(512, 0, 30.0, 0.6, 30.0).n_prompt_max([prompt_at(0)]) is None


def test_one_decode_alone_limits_nothing():
    reaction = Reaction(30, 512)
    reaction.note(Plan((), (Chunk(prompt_at(0), 0, 94, False),)), 9.0)
    assert reaction.n_prompt_max([prompt_at(0)]) is None
