"""Reading the generations of one request, in the order they have something new."""

from __future__ import annotations

from collections.abc import Sequence

from api.errors import ClientGone, ConstraintBroken, GenerationCancelled
from api.protocol.reply import Choice
from api.streams.client import WAIT_SLICE_S, Client
from llamactypes.engine import Delta, FinishReason, Generation, Result
from llamactypes.errors import ConstraintError

__all__ = ("Reader", "collect", "failure", "wait_started")

_ROTATION_S = 0.02
"""How long one of several generations is waited for before the others get a look."""


class Reader:
    """A cursor into each generation of a request. One thread."""

    def __init__(self, generations: Sequence[Generation]) -> None:
        self.generations = list(generations)
        self._positions = [0] * len(generations)
        self._live = list(range(len(generations)))

    @property
    def is_done(self) -> bool:
        """Whether every generation was read to its end."""
        return not self._live

    def read(self, timeout_s: float) -> list[tuple[int, list[Delta], Result | None]]:
        """Return what is new as (index, deltas, result); waits for at most `timeout_s`.

        The result comes once, with the last deltas of its generation.
        """
        if len(self._live) == 1:
            return self._read_one(self._live[0], timeout_s)
        found = self._read_all()
        if found or not self._live:
            return found
        first = self._live.pop(0)
        self._live.append(first)
        found = self._read_one(first, min(timeout_s, _ROTATION_S))
        return found + self._read_all()

    def cancel(self) -> None:
        """Cancel every generation that has not ended. Idempotent, never blocks."""
        for generation in self.generations:
            if generation.result is None:
                generation.cancel()

    def _read_all(self) -> list[tuple[int, list[Delta], Result | None]]:
        return [entry for index in tuple(self._live) for entry in self._read_one(index)]

    def _read_one(
        self, index: int, timeout_s: float = 0.0
    ) -> list[tuple[int, list[Delta], Result | None]]:
        deltas, result = self.generations[index].read(self._positions[index], timeout_s)
        self._positions[index] += len(deltas)
        if result is not None:
            self._live.remove(index)
        return [(index, deltas, result)] if deltas or result is not None else []


def failure(result: Result) -> Exception | None:
    """Return why a generation did not come to its own end; None when it did."""
    if result.error is not None:
        return result.error
    if result.finish in (FinishReason.CANCELLED, FinishReason.ERROR):
        return GenerationCancelled("the generation was cancelled")
    return None


def wait_started(generations: Sequence[Generation], client: Client) -> None:
    """Wait until one of `generations` began, so that its errors can have a status.

    Raises:
        ClientGone: The client left meanwhile; everything was cancelled.
        LlamaError: A generation failed before it wrote anything.
    """
    client.watch(generations)
    while not _any_started(generations):
        if client.is_gone():
            Reader(generations).cancel()
            raise ClientGone
    for generation in generations:
        error = failure(generation.result) if generation.result else None
        if error is not None and not _has_text(generation):
            Reader(generations).cancel()
            raise error


def _has_text(generation: Generation) -> bool:
    deltas, _ = generation.read(0, 0.0)
    return any(delta.text for delta in deltas)


def _any_started(generations: Sequence[Generation]) -> bool:
    if len(generations) == 1:
        return generations[0].wait_started(WAIT_SLICE_S)
    if any(generation.wait_started(0.0) for generation in generations):
        return True
    return generations[0].wait_started(_ROTATION_S)


def collect(generations: Sequence[Generation], client: Client) -> list[Choice]:
    """Read all generations to their ends.

    Raises:
        ClientGone: The client left meanwhile; everything was cancelled.
        ConstraintBroken: A text could not go on as it must, after some of it came.
        LlamaError: A generation failed; the others were cancelled.
    """
    client.watch(generations)
    reader = Reader(generations)
    deltas: list[list[Delta]] = [[] for _ in generations]
    results: dict[int, Result] = {}
    try:
        while not reader.is_done:
            for index, new, result in reader.read(WAIT_SLICE_S):
                deltas[index] += new
                if result is not None:
                    results[index] = _checked(result)
            if client.is_gone():
                raise ClientGone
    except ConstraintError as error:
        reader.cancel()
        texts = ["".join(each.text for each in one) for one in deltas]
        if not any(texts):
            raise
        raise ConstraintBroken(error, texts) from error
    except BaseException:
        reader.cancel()
        raise
    return [Choice.of(i, each, results[i]) for i, each in enumerate(deltas)]


def _checked(result: Result) -> Result:
    error = failure(result)
    if error is not None:
        raise error
    return result
