"""Notices that decodes have become many times slower, and what to do about it. Pure.

ggml's threads spin until the last of them arrives. When something else takes one of
their CPUs, all wait for as long as the scheduler's time slices last, hundreds of times
per decode: with more threads than free CPUs a step takes up to a thousand times longer.
Fewer threads are then the only cure.

Like is compared with like: a decode's cost grows at most in proportion to its tokens,
and each token's to the cells of the KV cache. From the best times seen for each class
of decodes follows what another may take; several times more than that, for a second of
computing, is no matter of tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

__all__ = ("Counts", "Expectations", "Slowness", "StepUp", "ThreadWatch", "ladder")

Counts = tuple[int, int]
"""Threads for one token, and for many."""
_Class = tuple[bool, int, int]
"""Many tokens?; tokens and cells, each as a power of two."""

_SLOW = 4.0
"""So many times slower than expected is called slow."""
_WINDOW_S = 1.0
"""Decodes of this long, the longest of them left out, are judged together: a machine
that slept makes one decode long."""
_LEAST_STEPS = 3
_N_LEARN = 5
"""A class's time is the median of this many decodes."""
_CELLS_BITS = 8
"""KV cells matter by powers of two from 256 on."""
_FIRST_PAUSE_S = 30.0
_LONGEST_PAUSE_S = 3600.0
_HOPELESS_S = 0.1
"""A slow decode of this length ends a trial at once."""
_GAIN = 0.9
"""More threads stay when they take at most this part of the time."""


@dataclass(frozen=True, slots=True)
class Slowness:
    """Decodes are slow; use `to` from now on, which may be the same as before."""

    before: Counts
    to: Counts
    seconds: float
    """Of a decode, on average."""
    expected_s: float


@dataclass(frozen=True, slots=True)
class StepUp:
    """More threads are tried; or a trial is over, and they stay or go."""

    before: Counts
    to: Counts
    is_trial: bool


def ladder(top: Counts, now: Counts, *, keep_batch: bool = False) -> list[Counts]:
    """Return the counts to step through: from `top` by halves to `now`, and on to 1.

    With `keep_batch` only the first count changes.
    """
    above = [(max(n, now[0]), max(b, now[1])) for n, b in _halves(top, keep_batch)]
    return list(dict.fromkeys((*above, *_halves(now, keep_batch))))


def _halves(counts: Counts, keep_batch: bool) -> list[Counts]:
    n, n_batch = counts
    found = [counts]
    while n > 1 or (n_batch > 1 and not keep_batch):
        n, n_batch = max(1, n // 2), n_batch if keep_batch else max(1, n_batch // 2)
        found.append((n, n_batch))
    return found


class Expectations:
    """What decodes take when nothing disturbs them, from the best times seen."""

    def __init__(self) -> None:
        self._best: dict[_Class, float] = {}
        self._recent: dict[_Class, list[float]] = {}

    def learn(self, n_tokens: int, n_cells: int, seconds: float) -> bool:
        """Note a decode; slow ones do no harm, for the best counts.

        Returns:
            Whether that may have changed what is expected.
        """
        recent = self._recent.setdefault(_class(n_tokens, n_cells), [])
        recent.append(seconds)
        if len(recent) < _N_LEARN:
            return False
        self.know(n_tokens, n_cells, median(recent))
        recent.clear()
        return True

    def know(self, n_tokens: int, n_cells: int, seconds: float) -> None:
        """Note a decode's time that is no single measurement."""
        key = _class(n_tokens, n_cells)
        self._best[key] = min(seconds, self._best.get(key, seconds))

    def of(self, n_tokens: int, n_cells: int) -> float | None:
        """Return the seconds that such a decode takes at most, None when unknown."""
        is_many, tokens, cells = _class(n_tokens, n_cells)
        return min(
            (
                best * 2.0 ** (max(0, tokens - other[1]) + max(0, cells - other[2]))
                for other, best in self._best.items()
                if other[0] == is_many
            ),
            default=None,
        )


def _class(n_tokens: int, n_cells: int) -> _Class:
    cells = max(0, n_cells - 1) >> _CELLS_BITS
    return n_tokens > 1, n_tokens.bit_length(), cells.bit_length()


class _Window:
    """Decodes that are judged together."""

    def __init__(self) -> None:
        self._decodes: list[tuple[float, float, float]] = []
        self._seconds = 0.0
        self._longest_s = 0.0

    def add(self, seconds: float, expected_s: float, reference_s: float) -> None:
        self._decodes.append((seconds, expected_s, reference_s))
        self._seconds += seconds
        self._longest_s = max(self._longest_s, seconds)

    @property
    def is_full(self) -> bool:
        is_long = self._seconds - self._longest_s >= _WINDOW_S
        return is_long and len(self._decodes) >= _LEAST_STEPS

    def means(self) -> tuple[float, float, float]:
        """Return the mean decode, expected and for reference; without the longest."""
        kept = sorted(self._decodes)[:-1]
        sums = [sum(part) for part in zip(*kept, strict=True)]
        n = len(kept)
        return sums[0] / n, sums[1] / n, sums[2] / n


class ThreadWatch:
    """Judges decodes and moves along a ladder of thread counts. Engine thread only.

    Down at once when decodes are slow. Up again after a pause, when the caller says
    that CPUs are free: a trial of one window, kept when it is faster; each that fails
    doubles the pause.
    """

    def __init__(self, rungs: Sequence[Counts], now: Counts) -> None:
        """Begin at the rung `now`; with a single rung slowness is told once."""
        self._rungs = list(rungs)
        self._at = self._rungs.index(now)
        self._known = [Expectations() for _ in self._rungs]
        self._bounds: dict[_Class, tuple[float, float]] = {}
        """What `_expected` found; emptied when it may find something else."""
        self._window = _Window()
        self._has_told = False
        self._pause_s = _FIRST_PAUSE_S
        self._rise_at: float | None = None
        """When the next trial may begin; None: the clock is not known yet."""
        self._pace = 0.0
        """Of the last full window that was no trial: mean decode over reference."""
        self._is_trial = False

    @property
    def counts(self) -> Counts:
        """The threads in use."""
        return self._rungs[self._at]

    @property
    def next_up(self) -> Counts | None:
        """What `rise` would try; None at the top of the ladder."""
        return self._rungs[self._at - 1] if self._at else None

    def know(self, n_tokens: int, n_cells: int, seconds: float) -> None:
        """Note what a decode takes with the threads in use, as measured before."""
        self._known[self._at].know(n_tokens, n_cells, seconds)
        self._bounds.clear()

    def note(
        self, n_tokens: int, n_cells: int, seconds: float, now: float
    ) -> Slowness | StepUp | None:
        """Judge a decode.

        Args:
            n_tokens: In the batch.
            n_cells: Of the KV cache that hold tokens.
            seconds: That it took.
            now: Any clock, in seconds.

        Returns:
            What changes from now on, if anything does.
        """
        if self._rise_at is None:
            self._rise_at = now + self._pause_s
        expected_s, reference_s = self._expected(n_tokens, n_cells)
        if self._is_trial and seconds > max(_SLOW * expected_s, _HOPELESS_S):
            return self._end_trial(now, is_faster=False)
        if not self._is_trial and self._known[self._at].learn(
            n_tokens, n_cells, seconds
        ):
            self._bounds.clear()
        if reference_s:
            self._window.add(seconds, expected_s, reference_s)
        return self._judge(now) if self._window.is_full else None

    def may_rise(self, now: float) -> bool:
        """Whether the pause before the next trial is over."""
        is_due = self._rise_at is not None and now >= self._rise_at
        return is_due and self._at > 0 and not self._is_trial

    def rise(self) -> StepUp:
        """Begin a trial with more threads; only when `may_rise`."""
        before = self.counts
        self._move(self._at - 1)
        self._is_trial = True
        return StepUp(before, self.counts, is_trial=True)

    def _expected(self, n_tokens: int, n_cells: int) -> tuple[float, float]:
        """Return the most seconds to expect: with these threads, and with any; 0: new.

        With n times fewer threads than when it was learned it may take n times longer.
        """
        key = _class(n_tokens, n_cells)
        if key not in self._bounds:
            self._bounds[key] = self._find_bounds(n_tokens, n_cells)
        return self._bounds[key]

    def _find_bounds(self, n_tokens: int, n_cells: int) -> tuple[float, float]:
        kind = int(n_tokens > 1)
        bounds = []
        for rung, known in zip(self._rungs, self._known, strict=True):
            bound = known.of(n_tokens, n_cells)
            if bound is not None:
                factor = max(1.0, rung[kind] / self.counts[kind])
                bounds.append((bound * factor, bound))
        if not bounds:
            return 0.0, 0.0
        return min(one for one, _ in bounds), min(one for _, one in bounds)

    def _judge(self, now: float) -> Slowness | StepUp | None:
        seconds, expected_s, reference_s = self._window.means()
        self._window = _Window()
        pace = seconds / reference_s
        if self._is_trial:
            return self._end_trial(now, is_faster=pace <= _GAIN * self._pace)
        self._pace = pace
        if seconds < _SLOW * expected_s:
            return None
        return self._step_down(seconds, expected_s, now)

    def _step_down(
        self, seconds: float, expected_s: float, now: float
    ) -> Slowness | None:
        before, is_last = self.counts, self._at + 1 == len(self._rungs)
        if is_last and (self._has_told or len(self._rungs) > 1):
            return None
        self._has_told = True
        if not is_last:
            self._move(self._at + 1)
            self._rise_at = now + self._pause_s
        return Slowness(before, self.counts, seconds, expected_s)

    def _end_trial(self, now: float, *, is_faster: bool) -> StepUp:
        before = self.counts
        self._is_trial = False
        if is_faster:
            self._pause_s = _FIRST_PAUSE_S
        else:
            self._move(self._at + 1)
            self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        self._rise_at = now + self._pause_s
        self._window = _Window()
        return StepUp(before, self.counts, is_trial=False)

    def _move(self, to: int) -> None:
        self._at = to
        self._bounds.clear()
        self._window = _Window()
