from __future__ import annotations

from llamactypes.engine.prefixes.state_cache import SavedState, StateCache


def test_state_that_a_longer_one_pushed_out_may_be_dropped():
    cache = StateCache(-1)
    found = SavedState([1, 2], b"ab")
    cache.put(found)
    cache.put(SavedState([1, 2, 3], b"abc"))
    cache.drop(found)
    assert (len(cache), cache.n_bytes) == (1, 3)


def test_state_that_the_limit_pushed_out_may_be_dropped():
    cache = StateCache(4)
    found = SavedState([1], b"abc")
    cache.put(found)
    cache.put(SavedState([2], b"def"))
    cache.drop(found)
    assert (len(cache), cache.n_bytes) == (1, 3)
