"""Read a streamed answer to its end, whatever happens to the connection.

    python examples/resume_stream.py http://127.0.0.1:8080 "Tell me a story"

The standard library only: copy `ResumingStream` into your program. It comes back where
it was after every break, sends its request again where it is not sure that it arrived
(which starts nothing twice), and knows at the end that no byte is missing.
"""

from __future__ import annotations

import http.client
import json
import re
import secrets
import sys
import time
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

END = re.compile(rb": end bytes=(\d+) events=(\d+) crc32=([0-9a-f]{8})\n")


class StreamError(Exception):
    """The server refused, or the stream ended with an error."""


class ResumingStream:
    """The events of one request, as ``for event in stream``."""

    def __init__(
        self,
        server: str,
        path: str,
        body: dict[str, Any],
        *,
        headers: dict[str, str] | None = None,
        patience_s: float = 60.0,
        timeout_s: float = 30.0,
    ) -> None:
        """Prepare a request; it is sent when the first event is asked for.

        Args:
            server: As ``http://host:port``.
            path: Of the route.
            body: Of the request; it is streamed, whatever it says.
            headers: More headers, such as ``Authorization``.
            patience_s: Give up when nothing has worked for so long.
            timeout_s: Of one silence.
        """
        url = urlsplit(server)
        kinds = {
            "http": http.client.HTTPConnection,
            "https": http.client.HTTPSConnection,
        }
        self._connect = lambda: kinds[url.scheme](url.netloc, timeout=timeout_s)
        self._prefix = url.path.rstrip("/")
        self._path = path
        self._body = json.dumps({**body, "stream": True})
        self.conversation_id = secrets.token_hex(16)
        """Nobody can guess it: it is all that is needed to read the answer."""
        self._headers = {
            "Content-Type": "application/json",
            "X-Conversation-Id": self.conversation_id,
            "Idempotency-Key": self.conversation_id,
            **(headers or {}),
        }
        self._patience_s = patience_s
        self.n_bytes = 0
        self.n_connections = 0
        self._tail = b""
        """The newest bytes, which may be the beginning of the last line."""
        self._n_counted = 0
        self._crc = 0
        self._is_sent = False
        self._buffer = b""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the object of every event.

        Raises:
            StreamError: The server says that there is no more, or bytes are missing.
            OSError: Nothing has worked for `patience_s` seconds.
        """
        for block in self._blocks():
            for line in block.split(b"\n"):
                if line.startswith(b"data: ") and line != b"data: [DONE]":
                    event = json.loads(line.removeprefix(b"data: "))
                    if event.get("error"):
                        raise StreamError(event["error"]["message"])
                    yield event

    def stop(self) -> None:
        """End the generation on the server."""
        with self._connection() as connection:
            self._ask(connection, "DELETE")

    def _blocks(self) -> Iterator[bytes]:
        """Yield whole events until the line that says that all is there."""
        last_news, delay_s = time.monotonic(), 0.1
        while True:
            try:
                with closing(self._pieces()) as pieces:
                    for piece in pieces:
                        last_news, delay_s = time.monotonic(), 0.1
                        self._buffer += piece
                        *blocks, self._buffer = self._buffer.split(b"\n\n")
                        yield from blocks
                        if self._is_whole():
                            return
            except (OSError, http.client.HTTPException):
                if time.monotonic() - last_news > self._patience_s:
                    raise
            time.sleep(delay_s)
            delay_s = min(2 * delay_s, 5.0)

    def _pieces(self) -> Generator[bytes, None, None]:
        """Yield bytes from where we are, until the connection ends."""
        with self._connection() as connection:
            response = self._ask(connection, "GET" if self._is_sent else "POST")
            self._is_sent = True
            yield from self._read(response)

    def _read(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        while piece := response.read1(1 << 16):
            self._tail += piece
            self.n_bytes += len(piece)
            self._count()
            yield piece

    def _count(self) -> None:
        """Take in all but what may become the last line."""
        keep = self._tail.rfind(b"\n: end ") + 1 or max(0, len(self._tail) - 7)
        self._crc = zlib.crc32(self._tail[:keep], self._crc)
        self._n_counted += keep
        self._tail = self._tail[keep:]

    @contextmanager
    def _connection(self) -> Iterator[http.client.HTTPConnection]:
        self.n_connections += 1
        connection = self._connect()
        try:
            yield connection
        finally:
            connection.close()

    def _ask(
        self, connection: http.client.HTTPConnection, method: str
    ) -> http.client.HTTPResponse:
        if method == "POST":
            connection.request(
                "POST", self._prefix + self._path, self._body, self._headers
            )
        else:
            where = f"/v1/stream/{quote(self.conversation_id)}?from={self.n_bytes}"
            connection.request(method, self._prefix + where, headers=self._headers)
        response = connection.getresponse()
        if response.status in (429, 502, 503, 504):  # it may work later
            raise http.client.HTTPException(response.read())
        if response.status >= 400:
            raise StreamError(f"{response.status}: {response.read().decode()}")
        return response

    def _is_whole(self) -> bool:
        """Whether the last line is here.

        Raises:
            StreamError: It counts other bytes than ours.
        """
        found = END.fullmatch(self._tail)
        if found is None:
            return False
        if (int(found[1]), int(found[3], 16)) != (self._n_counted, self._crc):
            raise StreamError("bytes are missing, or changed on their way")
        return True


def main() -> None:
    """Print an answer as it comes."""
    server, question = sys.argv[1:3]
    body = {"messages": [{"role": "user", "content": question}]}
    stream = ResumingStream(server, "/v1/chat/completions", body)
    for event in stream:
        for choice in event["choices"]:
            print(choice["delta"].get("content") or "", end="", flush=True)
    print(f"\n({stream.n_bytes} bytes over {stream.n_connections} connections)")


if __name__ == "__main__":
    main()
