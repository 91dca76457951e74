from __future__ import annotations

from pathlib import Path

import pytest

from llamactypes import (
    Context,
    Model,
    StateError,
    restore_sequence,
    restore_sequence_file,
    save_sequence,
    save_sequence_file,
)
from tests.objects.conftest import MakeContext
from tests.objects.greedy import continue_greedily, prefill
from tests.support import tiny_gguf

TOKENS = [1, 300, 301, 302, 303, 304]


def test_a_restored_sequence_continues_as_the_saved_one(
    make_context: MakeContext,
) -> None:
    one = make_context()
    other = make_context(n_ctx=512, n_seq_max=2, kv_unified=True)
    prefill(one, TOKENS[:-1])
    state = save_sequence(one, 0)
    expected = continue_greedily(one, TOKENS[-1], 5, 10)
    restore_sequence(other, 1, state)
    assert other.memory.seq_pos_max(1) == 4
    assert continue_greedily(other, TOKENS[-1], 5, 10, seq_id=1) == expected


def test_restoring_replaces_what_the_sequence_held(context: Context) -> None:
    prefill(context, TOKENS[:3])
    state = save_sequence(context, 0)
    prefill(context, TOKENS[3:], pos=3)
    restore_sequence(context, 0, state)
    assert context.memory.seq_pos_max(0) == 2


def test_a_file_brings_its_tokens_back(
    make_context: MakeContext, tmp_path: Path
) -> None:
    one, other = make_context(), make_context()
    prefill(one, TOKENS[:-1])
    path = tmp_path / "sequence.bin"
    assert save_sequence_file(one, 0, path, TOKENS) == path.stat().st_size
    assert restore_sequence_file(other, 0, path) == TOKENS
    expected = continue_greedily(one, TOKENS[-1], 5, 10)
    assert continue_greedily(other, TOKENS[-1], 5, 10) == expected


@pytest.mark.parametrize("keep", [0, 3, 8, 40, -1, -100])
def test_truncated_states_are_refused_and_leave_the_sequence_empty(
    context: Context, keep: int
) -> None:
    prefill(context, TOKENS)
    state = save_sequence(context, 0)
    with pytest.raises(StateError, match="cannot be restored"):
        restore_sequence(context, 0, state[:keep])
    assert context.memory.seq_pos_max(0) == -1
    prefill(context, TOKENS)


def test_damaged_states_never_end_the_process(context: Context) -> None:
    prefill(context, TOKENS)
    state = bytearray(save_sequence(context, 0))
    for position in range(0, min(len(state), 200)):
        damaged = bytes(state[:position]) + b"\xff" + bytes(state[position + 1 :])
        try:
            restore_sequence(context, 0, damaged)
        except StateError:
            assert context.memory.seq_pos_max(0) == -1
        context.memory.clear()


def test_a_state_of_another_model_is_refused(
    context: Context, make_context: MakeContext, stories_model_path: Path
) -> None:
    prefill(context, TOKENS)
    state = save_sequence(context, 0)
    with Model(stories_model_path) as model:
        other = Context(model, context.params)
        with pytest.raises(StateError):
            restore_sequence(other, 0, state)


def test_a_state_of_another_cache_layout_is_refused_with_the_reason(
    context: Context, make_context: MakeContext
) -> None:
    prefill(context, TOKENS)
    other = make_context(n_ctx=512, n_seq_max=2)
    with pytest.raises(StateError, match="n_stream mismatch"):
        restore_sequence(other, 1, save_sequence(context, 0))


def test_files_that_are_no_state_are_refused(context: Context, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no state at all")
    tiny_gguf.write_lora(tmp_path / "lora.gguf")
    for name, words in (
        ("absent", "does not exist"),
        ("text", "cannot be restored"),
        ("lora.gguf", "cannot be restored"),
    ):
        with pytest.raises(StateError, match=words):
            restore_sequence_file(context, 0, tmp_path / name)


def test_a_file_that_cannot_be_written_is_an_error(
    context: Context, tmp_path: Path
) -> None:
    prefill(context, TOKENS)
    with pytest.raises(StateError, match="cannot be written"):
        save_sequence_file(context, 0, tmp_path / "no" / "folder", TOKENS)


def test_an_unknown_sequence_is_refused(context: Context) -> None:
    for use in (
        lambda: save_sequence(context, 1),
        lambda: restore_sequence(context, -1, b"state"),
    ):
        with pytest.raises(ValueError, match="outside 0 … 0"):
            use()
