"""``POST /slots/{id}`` over an engine that only notes what it is asked."""

from __future__ import annotations

import pytest

from llamactypes.engine import SlotFiles
from llamactypes.engine.prefixes.state_cache import SavedState
from llamactypes.errors import StateError


@pytest.fixture
def api(make_api, tmp_path):
    return make_api(slot_save_path=str(tmp_path), timeout_s=60)


def answer(api, value) -> None:
    def give(order) -> None:
        if isinstance(value, Exception):
            order.done.set_exception(value)
        else:
            order.done.set_result(value)

    api.engine.answer = give


def error(reply) -> tuple[int, str, str]:
    body = reply.json["error"]
    assert body["code"] == reply.status_code
    return reply.status_code, body["type"], body["message"]


def test_actions_are_off_without_a_folder(make_api):
    for action in ("save", "restore", "erase"):
        reply = make_api().post(f"/slots/0?action={action}", {"filename": "a"})
        status, kind, message = error(reply)
        assert (status, kind) == (501, "not_supported_error")
        assert "Start it with `--slot-save-path`" in message


def test_a_slot_is_saved_to_a_file_of_the_folder(api, tmp_path):
    answer(api, SavedState([1, 2], b"mark....state"))
    reply = api.post("/slots/1?action=save", {"filename": "a.bin"})
    assert reply.status_code == 200
    size = (tmp_path / "a.bin").stat().st_size
    ms = reply.json["timings"]["save_ms"]
    assert reply.json == {
        "id_slot": 1,
        "filename": "a.bin",
        "n_saved": 2,
        "n_written": size,
        "timings": {"save_ms": ms},
    }
    assert ms >= 0
    assert api.engine.orders[0].slot == 1


def test_a_saved_file_is_restored(api, tmp_path):
    SlotFiles(tmp_path).write("a.bin", SavedState([1, 2], b"mark....state"))
    answer(api, 99)
    reply = api.post("/slots/0?action=restore", {"filename": "a.bin"})
    assert reply.status_code == 200
    assert set(reply.json) == {
        *("id_slot", "filename", "n_restored", "n_read", "timings")
    }
    assert (reply.json["n_restored"], reply.json["n_read"]) == (2, 99)


def test_a_slot_is_erased_without_a_body(api):
    answer(api, 7)
    reply = api.post("/slots/0?action=erase", b"")
    assert reply.json == {"id_slot": 0, "n_erased": 7}


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/slots/x?action=erase", {}, "Invalid slot ID"),
        ("/slots/2?action=erase", {}, "Invalid slot ID"),
        ("/slots/0", {}, "Invalid action"),
        ("/slots/0?action=SAVE", {}, "Invalid action"),
        ("/slots/0?action=save", {}, "filename"),
        ("/slots/0?action=save", {"filename": 5}, "filename"),
        ("/slots/0?action=save", {"filename": "../a"}, "Invalid filename"),
        ("/slots/0?action=restore", {"filename": "/etc/passwd"}, "Invalid filename"),
        ("/slots/0?action=restore", {"filename": "a\0"}, "Invalid filename"),
        ("/slots/0?action=restore", {"filename": "nowhere"}, "Unable to restore slot"),
    ],
)
def test_a_wrong_request_is_refused(api, path, body, message):
    status, kind, text = error(api.post(path, body))
    assert (status, kind) == (400, "invalid_request_error")
    assert message in text


def test_a_bad_name_is_refused_before_the_engine_is_asked(api):
    api.post("/slots/0?action=save", {"filename": "../a"})
    assert api.engine.orders == []


def test_a_file_that_does_not_fit_is_the_requests_fault(api, tmp_path):
    SlotFiles(tmp_path).write("a.bin", SavedState([1, 2], b"mark....state"))
    answer(api, StateError("no room"))
    reply = api.post("/slots/0?action=restore", {"filename": "a.bin"})
    status, _, message = error(reply)
    assert (status, message) == (400, "Unable to restore slot: no room")


def test_a_slot_that_cannot_be_written_is_the_servers_fault(api, tmp_path):
    (tmp_path / "folder").mkdir()
    answer(api, SavedState([1, 2], b"mark....state"))
    reply = api.post("/slots/0?action=save", {"filename": "folder"})
    status, kind, message = error(reply)
    assert (status, kind) == (500, "server_error")
    assert str(tmp_path) not in message


def test_an_action_on_a_busy_slot_is_given_up_after_the_timeout(make_api, tmp_path):
    api = make_api(slot_save_path=str(tmp_path), timeout_s=0)
    status, kind, _ = error(api.post("/slots/0?action=erase", {}))
    assert (status, kind) == (503, "unavailable_error")
    assert api.engine.orders[0].done.cancelled()


def test_an_action_is_taken_back_when_the_client_leaves(api):
    gone = {"waitress.client_disconnected": lambda: True}
    reply = api.post("/slots/0?action=erase", {}, extras=gone)
    assert reply.status_code == 499
    assert api.engine.orders[0].done.cancelled()
