"""Going on with the streams that an earlier process did not finish."""

from __future__ import annotations

import io
import logging
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from api.context import ServingContext
from api.json_loader import dumps_bytes
from api.streams.resumption import RESUMPTION, Resumption
from api.streams.stores.written import Written
from llamactypes.errors import LlamaError

__all__ = ("continue_unfinished",)

logger = logging.getLogger("llamactypes.api")

_Application = Callable[[Any, Any], Iterable[bytes]]


def continue_unfinished(app: _Application, context: ServingContext) -> None:
    """Let a thread send the unfinished requests once more, once the model is there.

    Each is answered by its own route, into the log that its readers know. What cannot
    be gone on with is interrupted: its readers get an error event.
    """
    unfinished = context.streams.take_unfinished()
    if unfinished:
        threading.Thread(
            target=_Continuing(app, context).run,
            args=(unfinished,),
            name="llamactypes-continuing",
            daemon=True,
        ).start()


class _Continuing:
    """One application's unfinished streams. A thread of its own."""

    def __init__(self, app: _Application, context: ServingContext) -> None:
        self._app = app
        self._context = context

    def run(self, unfinished: list[Written]) -> None:
        """Go on with as many at a time as there are slots."""
        try:
            self._context.engine.wait_ready()
            n_slots = self._context.engine.info.n_slots
            with ThreadPoolExecutor(n_slots, "llamactypes-continuing") as pool:
                list(pool.map(self._go_on, unfinished))
        except LlamaError as error:
            logger.error("unfinished streams are not continued: %s", error)
        finally:
            for written in unfinished:
                if not self._is_answered(written):
                    self._context.streams.interrupt(written)

    def _go_on(self, written: Written) -> None:
        is_deterministic = self._context.settings.engine.deterministic
        earlier = Resumption.of(written, is_deterministic=is_deterministic)
        if earlier is None:
            return
        statuses: list[str] = []

        def start(status: str, headers: Any, exc_info: Any = None) -> Any:
            statuses.append(status)
            return lambda data: None

        answer = self._app(_environ(earlier), start)
        close = getattr(answer, "close", None)
        if close is not None:
            close()  # one reader less: the stream goes on
        logger.info("went on with an unfinished stream: %s", *statuses)

    def _is_answered(self, written: Written) -> bool:
        """Whether somebody fills the log, or it has an end."""
        return written.log.is_done or written.log.is_continued


def _environ(earlier: Resumption) -> dict[str, Any]:
    data = dumps_bytes(earlier.body)
    return {
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "",
        "PATH_INFO": earlier.path.encode().decode("latin-1"),
        "QUERY_STRING": "",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(data)),
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "0",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(data),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        RESUMPTION: earlier,
    }
