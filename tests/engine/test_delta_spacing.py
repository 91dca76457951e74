"""Deltas are bundled where many sequences generate fast, and nowhere else."""

from __future__ import annotations

from itertools import pairwise

from llamactypes.engine.request import FinishReason
from tests.support.builders import make_scheduler, make_sequence, step

N_STEPS = 40


def run_steps(n_sequences, step_s, **request):
    """Return, per sequence, the step number and delta of each event with one."""
    scheduler = make_scheduler(n_slots=n_sequences, n_batch=512)
    sequences = [
        make_sequence(2, first=100 + 10 * i, **request) for i in range(n_sequences)
    ]
    for sequence in sequences:
        scheduler.submit(sequence)
    found = {sequence.id: [] for sequence in sequences}
    for number in range(N_STEPS):
        _, events = step(scheduler, 1.0 + number * step_s)
        for event in events:
            if event.delta is not None:
                found[event.sequence.id].append((number, event.delta))
    return sequences, list(found.values())


def test_every_token_has_its_delta_when_few_generate():
    _, found = run_steps(16, 1e-4)
    assert all(len(deltas) == N_STEPS for deltas in found)


def test_every_token_has_its_delta_when_steps_are_slow():
    _, found = run_steps(64, 20e-3)
    assert all(len(deltas) == N_STEPS for deltas in found)


def test_deltas_are_bundled_when_many_generate_fast():
    _, found = run_steps(64, 2e-3)
    # 48 more than go unspaced: 12 ms apart.
    gaps = [
        later - earlier
        for deltas in found
        for (earlier, _), (later, _) in pairwise(deltas[2:])
    ]
    assert set(gaps) <= {6, 7}
    assert all(deltas[0][0] == 0 for deltas in found)  # the first comes at once


def test_bundled_streams_take_turns():
    _, found = run_steps(64, 2e-3)
    per_step = [sum(n == number for d in found for n, _ in d) for number in range(20)]
    assert max(per_step[2:]) <= 64 // 4


def test_bundling_loses_nothing():
    sequences, found = run_steps(64, 2e-3, max_tokens=30)
    for sequence, deltas in zip(sequences, found, strict=True):
        assert "".join(delta.text for _, delta in deltas) == "x" * 30
        assert [t for _, delta in deltas for t in delta.tokens] == [7] * 30
        assert deltas[-1][1].n_decoded == 30
        assert sequence.result.finish is FinishReason.LENGTH


def test_preempted_sequence_sends_what_it_holds():
    scheduler = make_scheduler(n_slots=64, n_batch=512, n_kv=4096)
    for i in range(64):
        scheduler.submit(make_sequence(2, first=100 + 10 * i))
    for number in range(5):
        step(scheduler, 1.0 + number * 1e-4)
    _, event = scheduler.make_room()
    assert set(event.delta.text) == {"x"}
    assert event.result is None
