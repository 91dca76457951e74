"""Responses that are asked for later: fetched, listed, deleted, cancelled."""

from __future__ import annotations

import re
import threading

import pytest

from llamactypes.engine import FinishReason
from llamactypes.errors import EngineOverloaded
from tests.support.fake_engine import FakeEngine, delta, result
from tests.support.response_events import named_events, streamed_text
from tests.support.waiting import eventually

PATH = "/v1/responses"
HI = {"input": "Hi"}
LATER = {**HI, "background": True}
KEYS = ("key-a", "key-b")


def as_key(key):
    return {"headers": {"Authorization": f"Bearer {key}"}}


def made(api, **body):
    reply = api.post(PATH, {**HI, **body})
    assert reply.status_code == 200, reply.text
    return reply.json


def delete(api, path, **options):
    return api.client.simulate_delete(path, **options)


def ended(api, id):
    """Wait for the end of a background response and return it."""
    done = ("completed", "incomplete", "failed", "cancelled")
    eventually(lambda: api.get(f"{PATH}/{id}").json["status"] in done)
    return api.get(f"{PATH}/{id}").json


@pytest.fixture
def manual(make_api):
    """An app whose generations the test appends to, and ends at the end."""
    api = make_api(engine=FakeEngine(is_manual=True))
    yield api
    for generation in api.engine.generations:
        generation.append(None, result(finish=FinishReason.CANCELLED))


# -- fetching ------------------------------------------------------------------------


@pytest.mark.parametrize("path", [PATH, "/responses"])
def test_a_response_is_found_as_it_was_answered(api, path):
    reply = made(api, metadata={"a": "b"})
    found = api.get(f"{path}/{reply['id']}")
    assert (found.status_code, found.json) == (200, reply)
    assert api.client.simulate_head(f"{path}/{reply['id']}").status_code == 200


def test_a_streamed_response_is_found_as_it_ended(api):
    reply = api.post(PATH, {**HI, "stream": True})
    final = named_events(reply.text)[-1]["response"]
    assert api.get(f"{PATH}/{final['id']}").json == final


@pytest.mark.parametrize("more", ["", "/input_items"])
def test_what_is_not_there_is_404(api, more):
    reply = api.get(f"{PATH}/resp_gone{more}")
    assert reply.status_code == 404
    assert "Response with id 'resp_gone' not found" in reply.json["error"]["message"]
    assert reply.json["error"]["type"] == "invalid_request_error"


def test_what_was_not_to_be_stored_is_not_found(api):
    reply = made(api, store=False)
    assert reply["store"] is False
    assert api.get(f"{PATH}/{reply['id']}").status_code == 404
    body = {**HI, "previous_response_id": reply["id"]}
    assert api.post(PATH, body).status_code == 400


@pytest.mark.parametrize("body", [{}, {"stream": True}])
def test_events_that_were_not_kept_cannot_be_streamed_again(api, body):
    text = api.post(PATH, {**HI, **body}).text
    id = re.search("resp_[A-Za-z0-9]+", text)[0]
    reply = api.get(f"{PATH}/{id}", params={"stream": "true"})
    assert (reply.status_code, reply.json["error"]["param"]) == (400, "stream")


def test_another_key_sees_nothing_and_can_do_nothing(make_api):
    api = make_api(api_keys=KEYS)
    reply = api.post(PATH, LATER, **as_key("key-a")).json
    path, other = f"{PATH}/{reply['id']}", as_key("key-b")
    assert api.get(path, **as_key("key-a")).status_code == 200
    assert api.get(path, **other).status_code == 404
    assert api.get(f"{path}/input_items", **other).status_code == 404
    assert delete(api, path, **other).status_code == 404
    assert api.post(f"{path}/cancel", {}, **other).status_code == 404
    body = {**HI, "previous_response_id": reply["id"]}
    assert api.post(PATH, body, **other).status_code == 400
    assert api.get(path).status_code == 401
    assert api.get(path, **as_key("key-a")).status_code == 200


def test_the_store_is_as_large_as_the_settings_say(make_api):
    api = make_api(responses_store=2)
    ids = [made(api)["id"] for _ in range(3)]
    found = [api.get(f"{PATH}/{id}").status_code for id in ids]
    assert found == [404, 200, 200]


def test_a_server_may_keep_nothing(make_api):
    api = make_api(responses_store=0)
    reply = made(api, store=True)
    assert reply["store"] is False
    assert api.get(f"{PATH}/{reply['id']}").status_code == 404
    error = api.post(PATH, LATER)
    assert (error.status_code, error.json["error"]["param"]) == (400, "background")


# -- input items ---------------------------------------------------------------------


def items_of(api, id, **params):
    reply = api.get(f"{PATH}/{id}/input_items", params=params)
    assert reply.status_code == 200, reply.text
    return reply.json


def texts(page):
    return [item["content"][0]["text"] for item in page["data"]]


def test_input_items_are_all_that_the_answer_was_made_from(api):
    first = made(api)["id"]
    second = made(api, input="More", previous_response_id=first)["id"]
    page = items_of(api, second, order="asc")
    assert texts(page) == ["Hi", "abc", "More"]
    assert texts(items_of(api, second)) == ["More", "abc", "Hi"]
    assert (page["object"], page["has_more"]) == ("list", False)
    ids = [item["id"] for item in page["data"]]
    assert (page["first_id"], page["last_id"]) == (ids[0], ids[-1])
    assert len(set(ids)) == 3


def test_input_items_come_in_pages(api):
    items = [{"role": "user", "content": str(n)} for n in range(5)]
    id = made(api, input=items)["id"]
    seen, after = [], None
    while after is None or page["has_more"]:  # noqa: F821 - set in the first round
        more = {} if after is None else {"after": after}
        page = items_of(api, id, order="asc", limit=2, **more)
        seen += texts(page)
        after = page["last_id"]
    assert seen == list("01234")


@pytest.mark.parametrize(
    "params", [{"limit": "0"}, {"limit": "101"}, {"limit": "x"}, {"order": "up"}]
)
def test_a_page_that_cannot_be_is_refused_by_name(api, params):
    id = made(api)["id"]
    reply = api.get(f"{PATH}/{id}/input_items", params=params)
    assert (reply.status_code, reply.json["error"]["param"]) == (400, *params)
    assert api.get(f"{PATH}/{id}/input_items?after=x").status_code == 400


# -- deleting ------------------------------------------------------------------------


def test_a_deleted_response_is_gone(api):
    id = made(api)["id"]
    path = f"{PATH}/{id}"
    deleted = {"id": id, "object": "response", "deleted": True}
    assert delete(api, path).json == deleted
    assert api.get(path).status_code == 404
    assert delete(api, path).status_code == 404


def test_a_conversation_goes_on_without_its_deleted_beginning(api):
    first = made(api)["id"]
    second = made(api, input="More", previous_response_id=first)["id"]
    delete(api, f"{PATH}/{first}")
    third = made(api, input="Last", previous_response_id=second)["id"]
    page = items_of(api, third, order="asc")
    assert texts(page) == ["Hi", "abc", "More", "abc", "Last"]


# -- in background ---------------------------------------------------------------------


def test_a_background_response_is_polled_to_its_end(manual):
    reply = manual.post(PATH, LATER).json
    assert (reply["status"], reply["background"]) == ("queued", True)
    assert reply["output"] == []
    (generation,) = manual.engine.generations
    path = f"{PATH}/{reply['id']}"
    generation.mark_started()
    assert manual.get(path).json["status"] == "in_progress"
    generation.append(delta("ab"), None)
    assert manual.get(path).json["output"][0]["content"][0]["text"] == "ab"
    generation.append(None, result(finish=FinishReason.STOP_EOS))
    final = manual.get(path).json
    assert (final["status"], final["usage"]["output_tokens"]) == ("completed", 3)
    assert final["output"][0]["status"] == "completed"


def test_a_background_response_can_be_continued_once_it_has_ended(manual):
    id = manual.post(PATH, LATER).json["id"]
    body = {"input": "More", "previous_response_id": id, "background": True}
    error = manual.post(PATH, body).json["error"]
    assert error["param"] == "previous_response_id"
    assert "still in progress" in error["message"]
    manual.engine.generations[0].append(delta("abc"), None)
    manual.engine.generations[0].append(None, result())
    second = manual.post(PATH, body).json
    assert second["previous_response_id"] == id
    assert texts(items_of(manual, second["id"], order="asc")) == ["Hi", "abc", "More"]


def test_a_background_response_may_be_streamed(api):
    reply = api.post(PATH, {**LATER, "stream": True})
    events = named_events(reply.text)
    assert [event["type"] for event in events[:3]] == [
        *("response.created", "response.queued", "response.in_progress")
    ]
    assert streamed_text(events) == "abc"
    final = events[-1]["response"]
    assert ended(api, final["id"]) == final


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ({"background": True, "stream": True}, {}),
        ({"stream": True}, {"X-Conversation-Id": "c"}),
    ],
)
def test_events_are_streamed_again_after_any_of_them(api, body, headers):
    events = named_events(_events_only(api.post(PATH, {**HI, **body}, headers=headers)))
    id = events[0]["response"]["id"]
    for number in range(-1, len(events)):
        after = f"&starting_after={number}" if number >= 0 else ""
        reply = api.get(f"{PATH}/{id}?stream=true{after}")
        assert reply.headers["content-type"] == "text/event-stream"
        found = named_events(reply.text) if reply.text else []
        assert found == events[number + 1 :]


def _events_only(reply):
    """Return a stream without its ids and its last line, a comment."""
    lines = reply.text.splitlines(keepends=True)
    kept = [each for each in lines if not each.startswith(("id: ", ": "))]
    return "".join(kept)


def test_events_of_a_background_response_are_followed_while_it_is_made(manual):
    id = made(manual, background=True)["id"]
    replies = []
    reader = threading.Thread(
        target=lambda: replies.append(
            manual.get(f"{PATH}/{id}?stream=true&starting_after=1")
        )
    )
    reader.start()
    (generation,) = manual.engine.generations
    generation.append(delta("abc", b"abc"), None)
    generation.append(None, result())
    reader.join(10)
    events = named_events(replies[0].text)
    assert events[0]["sequence_number"] == 2
    assert streamed_text(events) == "abc"
    assert events[-1]["type"] == "response.incomplete"


@pytest.mark.parametrize("value", ["-1", "x", "1" * 19])
def test_starting_after_is_the_number_of_an_event(api, value):
    id = made(api, background=True)["id"]
    reply = api.get(f"{PATH}/{id}?stream=true&starting_after={value}")
    assert reply.status_code == 400
    assert reply.json["error"]["param"] == "starting_after"


def test_a_background_response_that_is_not_asked_for_ends(make_api):
    api = make_api(engine=FakeEngine(is_manual=True), background_timeout_s=1e-3)
    id = api.post(PATH, LATER).json["id"]
    eventually(lambda: api.engine.cancelled)
    api.engine.generations[0].append(None, result(finish=FinishReason.CANCELLED))
    final = api.get(f"{PATH}/{id}").json
    assert final["status"] == "failed"
    assert "nobody asked for this response" in final["error"]["message"]


def test_a_full_queue_refuses_background_responses_at_once(make_api):
    engine = FakeEngine()
    engine.refusal = EngineOverloaded("the server is busy", 2.0)
    reply = make_api(engine=engine).post(PATH, LATER)
    assert (reply.status_code, reply.headers["Retry-After"]) == (429, "2")


def test_background_responses_count_for_their_key(make_api):
    engine = FakeEngine(is_manual=True)
    api = make_api(engine=engine, api_keys=KEYS, key_concurrency=1)
    assert api.post(PATH, LATER, **as_key("key-a")).status_code == 200
    assert api.post(PATH, LATER, **as_key("key-a")).status_code == 429
    engine.generations[0].append(None, result())
    assert api.post(PATH, LATER, **as_key("key-a")).status_code == 200
    engine.generations[1].append(None, result())


# -- cancelling ------------------------------------------------------------------------


def test_cancelling_ends_a_background_response(manual):
    id = manual.post(PATH, LATER).json["id"]
    (generation,) = manual.engine.generations
    generation.append(delta("ab"), None)
    reply = manual.post(f"{PATH}/{id}/cancel", b"")
    assert (reply.status_code, reply.json["status"]) == (200, "cancelled")
    assert reply.json["output"][0]["content"][0]["text"] == "ab"
    assert manual.engine.cancelled == [generation]
    again = manual.post(f"{PATH}/{id}/cancel", b"")
    assert (again.status_code, again.json) == (200, reply.json)
    assert manual.get(f"{PATH}/{id}").json == reply.json


def test_cancelling_what_has_ended_shows_it(api):
    id = api.post(PATH, LATER).json["id"]
    final = ended(api, id)
    assert api.post(f"{PATH}/{id}/cancel", b"").json == final


def test_a_foreground_response_cannot_be_cancelled(api):
    id = made(api)["id"]
    reply = api.post(f"{PATH}/{id}/cancel", b"")
    assert reply.status_code == 400
    message = reply.json["error"]["message"]
    assert message.startswith("Cannot cancel a synchronous response")


def test_deleting_a_background_response_ends_it(manual):
    id = manual.post(PATH, LATER).json["id"]
    delete(manual, f"{PATH}/{id}")
    assert manual.engine.cancelled == manual.engine.generations
    assert manual.get(f"{PATH}/{id}").status_code == 404
