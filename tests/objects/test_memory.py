from __future__ import annotations

import numpy as np
import pytest

from llamactypes import Context
from tests.objects.conftest import MakeContext
from tests.objects.greedy import continue_greedily, prefill

TOKENS = [1, 300, 301, 302, 303, 304]


def test_positions_follow_what_was_decoded_and_removed(context: Context) -> None:
    memory = context.memory
    assert (memory.seq_pos_min(0), memory.seq_pos_max(0)) == (-1, -1)
    prefill(context, TOKENS)
    assert (memory.seq_pos_min(0), memory.seq_pos_max(0)) == (0, 5)
    assert memory.seq_rm(0, 4, -1)
    assert memory.seq_pos_max(0) == 3
    assert memory.seq_rm(0)
    assert memory.seq_pos_max(0) == -1


def test_clear_forgets_every_sequence(make_context: MakeContext) -> None:
    context = make_context(n_ctx=512, n_seq_max=2)
    prefill(context, TOKENS, seq_id=0)
    prefill(context, TOKENS, seq_id=1)
    context.memory.clear(False)
    assert [context.memory.seq_pos_max(seq_id) for seq_id in (0, 1)] == [-1, -1]


@pytest.mark.parametrize("kv_unified", [False, True])
def test_a_copied_sequence_continues_as_the_original(
    make_context: MakeContext, kv_unified: bool
) -> None:
    context = make_context(n_ctx=512, n_seq_max=2, kv_unified=kv_unified)
    prefill(context, TOKENS[:-1], seq_id=0)
    context.memory.seq_cp(0, 1)
    made = [continue_greedily(context, TOKENS[-1], 5, 8, seq_id=s) for s in (0, 1)]
    assert made[0] == made[1]


def test_a_part_is_copied_only_in_a_unified_cache(make_context: MakeContext) -> None:
    unified = make_context(n_ctx=512, n_seq_max=2, kv_unified=True)
    prefill(unified, TOKENS)
    unified.memory.seq_cp(0, 1, 0, 3)
    assert unified.memory.seq_pos_max(1) == 2
    split = make_context(n_ctx=512, n_seq_max=2)
    prefill(split, TOKENS)
    with pytest.raises(ValueError, match="whole sequences only"):
        split.memory.seq_cp(0, 1, 0, 3)


def test_keep_forgets_the_others(make_context: MakeContext) -> None:
    context = make_context(n_ctx=512, n_seq_max=2, kv_unified=True)
    prefill(context, TOKENS, seq_id=0)
    prefill(context, TOKENS, seq_id=1)
    context.memory.seq_keep(1)
    assert [context.memory.seq_pos_max(seq_id) for seq_id in (0, 1)] == [-1, 5]


def test_shifted_positions_close_a_gap(context: Context) -> None:
    memory = context.memory
    assert memory.can_shift
    prefill(context, TOKENS)
    memory.seq_rm(0, 2, 4)
    memory.seq_add(0, 4, -1, -2)
    assert memory.seq_pos_max(0) == 3
    prefill(context, [305], pos=4)
    assert np.isfinite(context.logits(-1)).all()
    memory.seq_div(0, 0, -1, 2)
    assert memory.seq_pos_max(0) == 2


def test_unknown_sequences_are_refused_before_c_can_abort(context: Context) -> None:
    memory = context.memory
    for seq_id in (-2, 1, 256, 2**31 - 1):
        for use in (
            lambda: memory.seq_rm(seq_id),  # noqa: B023
            lambda: memory.seq_cp(0, seq_id),  # noqa: B023
            lambda: memory.seq_cp(seq_id, 0),  # noqa: B023
            lambda: memory.seq_keep(seq_id),  # noqa: B023
            lambda: memory.seq_add(seq_id, 0, -1, 1),  # noqa: B023
            lambda: memory.seq_div(seq_id, 0, -1, 2),  # noqa: B023
            lambda: memory.seq_pos_min(seq_id),  # noqa: B023
            lambda: memory.seq_pos_max(seq_id),  # noqa: B023
        ):
            with pytest.raises(ValueError, match=f"sequence {seq_id} is outside 0 … 0"):
                use()
    with pytest.raises(ValueError, match="divisor"):
        memory.seq_div(0, 0, -1, 0)


def test_minus_one_removes_from_every_sequence(make_context: MakeContext) -> None:
    context = make_context(n_ctx=512, n_seq_max=2, kv_unified=True)
    prefill(context, TOKENS, seq_id=0)
    prefill(context, TOKENS, seq_id=1)
    assert context.memory.seq_rm(-1, 3, -1)
    assert [context.memory.seq_pos_max(seq_id) for seq_id in (0, 1)] == [2, 2]
