"""A small hub of model repositories on the loopback, as huggingface_hub expects one."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

COMMIT = "1234567890abcdef1234567890abcdef12345678"


class FakeHub:
    """Serves `repos` (name → file → content); use it as a context manager.

    Attributes:
        requests: Method and path of each request, oldest first.
        ranges: The Range header of each GET of a file, "" without one.
        refusals: Repository → (status, error code of the hub) for its every request.
        cut_after: Close the connection of the next file after so many bytes, once.
        needed_token: Refuse with 401 whoever does not bring this token.
        stores: Send files from another host, as the hub does with large ones.
        store_tokens: What those requests carried as Authorization.
    """

    def __init__(self, repos: dict[str, dict[str, bytes]]) -> None:
        self.repos = repos
        self.requests: list[str] = []
        self.ranges: list[str] = []
        self.refusals: dict[str, tuple[int, str]] = {}
        self.cut_after: int | None = None
        self.needed_token = ""
        self.stores = False
        self.store_tokens: list[str] = []
        self._may_send = threading.Event()
        self._may_send.set()
        hub = self

        class Handler(_Handler):
            fake = hub

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Send no content of files inside this block."""
        self._may_send.clear()
        try:
            yield
        finally:
            self._may_send.set()

    def wait_until_not_held(self) -> None:
        self._may_send.wait(60)

    def __enter__(self) -> FakeHub:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


class _Handler(BaseHTTPRequestHandler):
    """``/api/models/<repo>`` and ``/<repo>/resolve/main/<file>``."""

    fake: FakeHub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: `FakeHub.requests` remembers."""

    def do_HEAD(self) -> None:
        self._answer(has_body=False)

    def do_GET(self) -> None:
        self._answer(has_body=True)

    def _answer(self, *, has_body: bool) -> None:
        path = self.path.partition("?")[0]
        if path.startswith("/store/"):
            self.fake.store_tokens.append(self.headers.get("Authorization", ""))
            _, _, user, name, file_name = path.split("/", 4)
            self._send_file(self.fake.repos[f"{user}/{name}"][file_name], has_body=True)
            return
        self.fake.requests.append(f"{self.command} {path}")
        listing = re.fullmatch(r"/api/models/([^/]+/[^/]+)", path)
        file = re.fullmatch(r"/([^/]+/[^/]+)/resolve/\w+/(.+)", path)
        repo = (listing or file or [None, ""])[1]
        if self._is_refused(repo):
            return
        if listing and repo in self.fake.repos:
            self._send(200, json.dumps(self._listing(repo)).encode())
        elif file and self.fake.stores and file[2] in self.fake.repos.get(repo, {}):
            self._send_elsewhere(repo, file[2])
        elif file and file[2] in self.fake.repos.get(repo, {}):
            self._send_file(self.fake.repos[repo][file[2]], has_body=has_body)
        else:
            code = "EntryNotFound" if repo in self.fake.repos else "RepoNotFound"
            self._send(404, b"{}", {"X-Error-Code": code})

    def _is_refused(self, repo: str) -> bool:
        token = self.fake.needed_token
        if token and self.headers.get("Authorization") != f"Bearer {token}":
            self._send(401, b"{}", {"X-Error-Code": "RepoNotFound"})
            return True
        if repo in self.fake.refusals:
            status, code = self.fake.refusals[repo]
            self._send(status, b"{}", {"X-Error-Code": code} if code else {})
            return True
        return False

    def _listing(self, repo: str) -> object:
        names = self.fake.repos[repo]
        siblings = [{"rfilename": name} for name in names]
        return {"id": repo, "sha": COMMIT, "siblings": siblings}

    def _send_elsewhere(self, repo: str, name: str) -> None:
        data = self.fake.repos[repo][name]
        port = self.fake.url.rpartition(":")[2]
        headers = {
            "Location": f"http://localhost:{port}/store/{repo}/{name}",
            "X-Linked-ETag": f'"{_digest(data)}"',
            "X-Linked-Size": str(len(data)),
            "X-Repo-Commit": COMMIT,
        }
        self._send(302, b"", headers)

    def _send_file(self, data: bytes, *, has_body: bool) -> None:
        headers = {
            "ETag": f'"{_digest(data)}"',
            "X-Repo-Commit": COMMIT,
            "Accept-Ranges": "bytes",
        }
        wanted = self.headers.get("Range", "")
        cut_after = None
        if has_body:
            self.fake.ranges.append(wanted)
            cut_after, self.fake.cut_after = self.fake.cut_after, None
        status, start = 200, 0
        if wanted:
            status, start = 206, int(wanted.removeprefix("bytes=").partition("-")[0])
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        self._send(status, data[start:], headers, cut_after)

    def _send(
        self,
        status: int,
        body: bytes,
        headers: dict[str, str] | None = None,
        cut_after: int | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if status in (200, 206) and "/resolve/" in self.path:
            self.wfile.flush()
            self.fake.wait_until_not_held()
        if cut_after is not None:
            self.close_connection = True
        with suppress(ConnectionError):  # whoever asked may be gone by now
            self.wfile.write(body[:cut_after])


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
