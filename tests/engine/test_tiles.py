from __future__ import annotations

from types import SimpleNamespace

import pytest

from llamactypes.engine.planning.tiles import chunk_length, whole_tiles
from tests.support.builders import make_scheduler, make_sequence, step


@pytest.mark.parametrize(
    ("n_max", "n_generating", "is_unified", "expected"),
    [
        (200, 0, False, 200),
        (63, 4, False, 63),
        (64, 4, False, 65),
        (128, 4, False, 65),
        (129, 4, False, 129),
        (200, 4, False, 193),
        (64, 4, True, 60),
        (123, 4, True, 60),
        (124, 4, True, 124),
        (200, 4, True, 188),
    ],
)
def test_tokens_beside_streams_make_whole_tiles(
    n_max: int, n_generating: int, is_unified: bool, expected: int
) -> None:
    assert whole_tiles(n_max, n_generating, is_unified=is_unified) == expected


@pytest.mark.parametrize("n_generating", range(1, 200))
def test_whole_tiles_are_never_nothing(n_generating: int) -> None:
    for is_unified in (False, True):
        for n_max in range(1, 300):
            n_tokens = whole_tiles(n_max, n_generating, is_unified=is_unified)
            assert 0 < n_tokens <= max(n_max, 65)


def test_a_rest_that_would_fill_most_of_a_tile_is_taken_along() -> None:
    assert chunk_length(120, 65, 2048) == 120
    assert chunk_length(120, 65, 70) == 70
    assert chunk_length(90, 65, 2048) == 65
    assert chunk_length(200, 65, 2048) == 65
    assert chunk_length(40, 65, 2048) == 40
    assert chunk_length(70, 16, 2048) == 16


def test_a_prompt_beside_streams_is_cut_at_tiles() -> None:
    pace = SimpleNamespace(n_prompt_max=None)
    scheduler = make_scheduler(n_slots=2, n_ctx_slot=1024, n_batch=512, pace=pace)
    scheduler.submit(make_sequence(10))
    step(scheduler)
    scheduler.submit(make_sequence(300, first=5000))
    scheduler.admit()
    for admission in scheduler.begin():
        scheduler.start(admission, 0, 1.0)
    for limit, n_prompt in ((100, 65), (240, 193), (270, 257)):
        pace.n_prompt_max = limit
        assert [chunk.n_tokens for chunk in scheduler.plan().chunks] == [1, n_prompt]
