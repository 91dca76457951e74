"""Readers of server-sent events for tests: one stream each, on a thread of its own."""

from __future__ import annotations

import json
import threading
from typing import Any

import requests

ENDLESS: dict[str, Any] = {
    "prompt": "Once upon a time",
    "stream": True,
    "ignore_eos": True,
    "n_predict": -1,
}
"""A native completion that never ends on a server with --context-shift."""


class StreamReader:
    """Reads one stream to its end; what happened is in the attributes."""

    def __init__(
        self, url: str, body: dict[str, Any], headers: dict[str, str] | None = None
    ) -> None:
        self.events: list[dict[str, Any]] = []
        self.is_done = False
        """``data: [DONE]`` came."""
        self.failure: Exception | None = None
        self._url = url
        self._body = body
        self._headers = headers
        self._response: requests.Response | None = None
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def has_error(self) -> bool:
        return any("error" in event for event in self.events)

    @property
    def has_finish(self) -> bool:
        return any(_finish(event) for event in self.events)

    def join(self, within_s: float = 20) -> None:
        self._thread.join(within_s)
        assert not self._thread.is_alive(), "the stream did not end"

    def close(self) -> None:
        """Leave, as a client does that closes its socket."""
        if self._response is not None:
            self._response.raw.close()

    def _read(self) -> None:
        try:
            with requests.post(
                self._url,
                json=self._body,
                headers=self._headers,
                stream=True,
                timeout=60,
            ) as response:
                self._response = response
                for line in response.iter_lines():
                    self._take(line.decode())
        except Exception as error:  # whatever ends a stream is what a test looks at
            self.failure = error

    def _take(self, line: str) -> None:
        if not line.startswith("data: "):
            return
        if line == "data: [DONE]":
            self.is_done = True
        else:
            self.events.append(json.loads(line[6:]))


def _finish(event: dict[str, Any]) -> object:
    choices = event.get("choices") or [{}]
    return event.get("stop") or choices[0].get("finish_reason")
