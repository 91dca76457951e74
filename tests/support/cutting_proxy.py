"""A proxy that breaks connections in the middle of answers."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
from types import TracebackType
from urllib.parse import urlsplit


class CuttingProxy:
    """Passes bytes on to a server, and cuts each connection after some of them."""

    def __init__(self, url: str, *, seed: int = 0, longest: int = 4000) -> None:
        parts = urlsplit(url)
        self._server = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._chance = random.Random(seed)
        self._longest = longest
        self.is_cutting = True
        self.n_cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                room = self._chance.randrange(1, self._longest)
                threading.Thread(
                    target=self._serve, args=(client, room), daemon=True
                ).start()

    def _serve(self, client: socket.socket, room: int) -> None:
        with (
            contextlib.suppress(OSError),
            client,
            socket.create_connection(self._server, 20) as server,
        ):
            up = threading.Thread(target=_pass, args=(client, server), daemon=True)
            up.start()
            while data := server.recv(512):
                if self.is_cutting:
                    data, room = data[:room], room - len(data)
                client.sendall(data)
                if room <= 0:
                    self.n_cuts += 1
                    break
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> CuttingProxy:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._listener.close()


def _pass(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(4096):
            target.sendall(data)
