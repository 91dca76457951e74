"""What proxies between us and a client need to know of a stream."""

import pytest

from api.app import _ROUTES
from api.openapi.requests import REQUESTS
from tests.support.fake_engine import FakeEngine, FakeVocab

BODIES = {
    "ChatCompletion": {"messages": [{"role": "user", "content": "a"}]},
    "TextCompletion": {"prompt": "a"},
    "NativeCompletion": {"prompt": "a"},
    "InfillCompletion": {"input_prefix": "a", "input_suffix": "b"},
    "Messages": {"max_tokens": 2, "messages": [{"role": "user", "content": "a"}]},
    "CreateResponse": {"input": "a"},
}


class FillingVocab(FakeVocab):
    fim_pre, fim_suf, fim_mid = 1, 2, 3


def test_every_route_that_streams_is_tried_here():
    assert set(BODIES) == {name for name, each in REQUESTS.items() if each.streams}


@pytest.mark.parametrize(
    ("name", "path"),
    [
        (kind.__name__, path)
        for kind, paths in _ROUTES
        for path in paths
        if kind.__name__ in BODIES
    ],
)
def test_a_stream_is_neither_cached_nor_held_back(make_api, name, path):
    api = make_api(engine=FakeEngine(vocab=FillingVocab()))
    reply = api.post(path, {**BODIES[name], "stream": True})
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "text/event-stream"
    assert reply.headers["cache-control"] == "no-cache, no-transform"
    assert reply.headers["x-accel-buffering"] == "no"
    assert "content-length" not in reply.headers
