"""The store of responses: limits, owners, conversations."""

from __future__ import annotations

import dataclasses

from api.responses.run import Events
from api.responses.store import ResponseStore, StoredResponse, StoreLimits, Turn
from tests.api.test_response_run import Live

LIMITS = StoreLimits(n_responses=3, n_bytes=100_000, age_s=0.0)


def message(id: str, text: str = "") -> dict[str, object]:
    return {"id": id, "type": "message", "text": text}


class Kept:
    """A store and a way to fill it."""

    def __init__(self, **limits: float) -> None:
        self.store = ResponseStore(dataclasses.replace(LIMITS, **limits))

    def add(
        self,
        id: str,
        *,
        owner: int | None = None,
        before: StoredResponse | None = None,
        text: str = "",
        is_live: bool = False,
    ) -> StoredResponse:
        live = Live(Events.NONE, id=id, on_end=self.store.settle)
        turn = Turn(
            [message(f"in_{id}", text)], before.ended_turn() if before else None
        )
        stored = StoredResponse(owner, live.run, turn)
        self.store.add(stored)
        if not is_live:
            live.write("answer")
            live.end()
            live.run.pull(0.0)
        return stored

    def ids(self, owner: int | None = None) -> str:
        return "".join(id for id in "abcdefgh" if self.store.get(owner, id))


def test_the_oldest_is_evicted_first():
    kept = Kept()
    for id in "abcde":
        kept.add(id)
    assert kept.ids() == "cde"
    assert len(kept.store) == 3


def test_what_is_being_made_is_not_evicted():
    kept = Kept()
    kept.add("a", is_live=True)
    for id in "bcde":
        kept.add(id)
    assert kept.ids() == "ade"


def test_bytes_are_bounded_and_given_back():
    kept = Kept(n_responses=100, n_bytes=20_000)
    stored = [kept.add(id, text="x" * 5_000) for id in "abcdef"]
    assert kept.store.n_bytes <= 20_000
    assert kept.ids() == "def"
    for each in stored[3:]:
        kept.store.remove(each)
    assert kept.store.n_bytes == 0


def test_a_response_that_is_larger_than_all_is_not_kept():
    kept = Kept(n_bytes=1_000)
    kept.add("a", text="x" * 2_000)
    assert kept.ids() == ""
    assert kept.store.n_bytes == 0


def test_old_responses_are_dropped_when_somebody_looks():
    kept = Kept(age_s=60.0)
    old, live, new = kept.add("a"), kept.add("b", is_live=True), kept.add("c")
    for each in (old, live):
        each.made_at -= 61.0
    assert kept.ids() == "bc"
    assert new.made_at > live.made_at


def test_another_owner_sees_nothing():
    kept = Kept()
    kept.add("a", owner=0)
    assert kept.store.get(0, "a") is not None
    assert kept.store.get(1, "a") is None
    assert kept.store.get(None, "a") is None
    assert kept.store.find_item(0, "in_a") == message("in_a")
    assert kept.store.find_item(1, "in_a") is None


def test_items_are_found_until_their_response_is_gone():
    kept = Kept()
    stored = kept.add("a")
    (answer,) = stored.run.output
    assert kept.store.find_item(None, answer["id"]) == answer
    kept.store.remove(stored)
    assert kept.store.find_item(None, answer["id"]) is None
    assert kept.store.find_item(None, "in_a") is None


def test_an_item_in_two_responses_belongs_to_the_later_one():
    kept = Kept()
    first, second = kept.add("a"), kept.add("b")
    second.turn.items[0]["id"] = "in_a"
    kept.store.add(second)
    kept.store.remove(first)
    assert kept.store.find_item(None, "in_a") is second.turn.items[0]


def test_a_conversation_outlives_its_first_responses():
    kept = Kept(n_responses=1)
    first = kept.add("a")
    second = kept.add("b", before=first)
    third = kept.add("c", before=second)
    assert kept.ids() == "c"
    ids = [item["id"] for item in third.ended_turn().conversation()]
    assert ids[0::2] == ["in_a", "in_b", "in_c"]
    assert ids[1] == first.run.output[0]["id"]
    n_bytes = kept.store.n_bytes
    assert n_bytes > sum(turn.n_bytes for turn in (first.turn, second.turn))
    kept.store.remove(third)
    assert kept.store.n_bytes == 0


def test_a_shared_beginning_counts_once():
    kept = Kept(n_responses=5)
    first = kept.add("a", text="x" * 9_000)
    branches = [kept.add(id, before=first) for id in "bcd"]
    assert 9_000 < kept.store.n_bytes < 18_000
    kept.store.remove(first)
    assert kept.store.n_bytes > 9_000
    for branch in branches:
        kept.store.remove(branch)
    assert kept.store.n_bytes == 0


def test_removing_what_is_being_made_ends_it():
    kept = Kept()
    stored = kept.add("a", is_live=True)
    kept.store.remove(stored)
    assert stored.run.response()["status"] == "cancelled"
    assert kept.ids() == ""
    assert kept.store.n_bytes == 0
    kept.store.remove(stored)
    assert kept.store.n_bytes == 0
