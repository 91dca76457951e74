"""A client in front of an app whose engine is a fake."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from falcon import testing

from api import create_app
from llamactypes.engine import EngineConfig
from tests.support.fake_engine import FakeEngine, make_settings


class Api:
    """An app, its engine, and short forms of requests to it."""

    def __init__(
        self, engine: FakeEngine, *, config: EngineConfig | None = None, **settings: Any
    ) -> None:
        if config is not None:
            settings["engine"] = config
        self.engine = engine
        self.app = create_app(make_settings(**settings), engine)
        self.client = testing.TestClient(self.app)

    def get(self, path: str, **options: Any) -> testing.Result:
        return self.client.simulate_get(path, **options)

    def post(self, path: str, body: Any, **options: Any) -> testing.Result:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.simulate_post(path, body=data, **options)

    def events(self, path: str, body: dict[str, Any]) -> list[Any]:
        """Return the objects of a stream, and ``"[DONE]"`` where it says so."""
        reply = self.post(path, {"stream": True, **body})
        assert reply.status_code == 200, reply.text
        assert reply.headers["content-type"] == "text/event-stream"
        return parse_events(reply.text)


def parse_events(text: str) -> list[Any]:
    assert text == "" or text.endswith("\n\n")
    events = []
    for block in text.split("\n\n")[:-1]:
        lines = [line for line in block.split("\n") if not line.startswith(":")]
        assert len(lines) == 1, lines
        assert lines[0].startswith("data: ")
        data = lines[0].removeprefix("data: ")
        events.append(data if data == "[DONE]" else json.loads(data))
    return events


@pytest.fixture
def make_api() -> Callable[..., Api]:
    def make(*args: Any, engine: FakeEngine | None = None, **settings: Any) -> Api:
        return Api(engine or FakeEngine(*args), **settings)

    return make


@pytest.fixture
def api(make_api: Callable[..., Api]) -> Api:
    return make_api()
