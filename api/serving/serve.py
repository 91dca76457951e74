"""``llamactypes serve``: listen, load, serve, and stop in order.

    listen ─► load (the port answers 503) ─► ready ─► signal ─► drain ─► free ─► exit 0

The main thread runs waitress's I/O loop and everything that happens on a signal; the
engine has its own thread. Ending: readiness is over at once, live generations may go
on until the shutdown timeout, what is left gets an error event, the engine frees
context, model and backend, the listening sockets close, and the workers are joined.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Collection

from api.app import create_app
from api.serving.banner import ready_lines
from api.serving.console import Console, LoadingBar
from api.serving.http_server import HttpServer
from api.serving.interpreter import share_fairly
from api.serving.listening import (
    ListenError,
    bind_all,
    close_all,
    remove_files,
    urls,
)
from api.serving.model_source import loader_of
from api.serving.stopping import StopSignal
from api.serving.supervisor import Supervisor
from api.settings import Settings
from api.streams.sessions import StreamSessions
from api.streams.stores.choice import open_streams
from llamactypes.engine import Engine, EngineState
from llamactypes.errors import LlamaError, SamplingError, TemplateError
from llamactypes.legacy_template import builtin_names

__all__ = ("serve",)

logger = logging.getLogger("llamactypes.server")

_LOADING_TURN_S = 0.1
_READY_TURN_S = 1.0
_DRAIN_TURN_S = 0.05
_FLUSH_S = 1.0
"""After the last generation ended, its answer may take this long to be sent."""
_PATIENCE_S = 2.0
"""A decode that does not even end when it is interrupted is given up after this."""
_JOIN_S = 2
_STREAMS_S = 0.5
"""After the engine ended every generation, their logs come to their ends in so long."""


def serve(settings: Settings, stop: StopSignal, console: Console) -> int:
    """Serve until a signal; return the exit status."""
    try:
        sockets = bind_all(
            settings.hosts, settings.port, reuse_port=settings.reuse_port
        )
    except ListenError as error:
        console.complain(f"error: {error}")
        return 1
    stop.clean_with(lambda: remove_files(sockets))
    share_fairly()
    try:
        engine = Engine(settings.engine, load=loader_of(settings))
        streams = open_streams(settings)
        http = HttpServer(create_app(settings, engine, streams), sockets, settings)
    except BaseException:
        close_all(sockets)
        raise
    addresses = urls(sockets, settings.api_prefix)
    life = _ServerRun(settings, stop, console, engine, http, streams, addresses)
    return life.run()


class _ServerRun:
    """One life of the server, on the main thread."""

    def __init__(
        self,
        settings: Settings,
        stop: StopSignal,
        console: Console,
        engine: Engine,
        http: HttpServer,
        streams: StreamSessions,
        addresses: list[str],
    ) -> None:
        self._settings = settings
        self._stop = stop
        self._console = console
        self._engine = engine
        self._http = http
        self._streams = streams
        self._addresses = addresses
        self._supervisor = Supervisor.from_environment()
        self._bar = LoadingBar()
        self._failure: BaseException | None = None
        """Why the server cannot be started."""

    def run(self) -> int:
        self._stop.wake_with(self._http.wake)
        self._console.say(f"listening on {' and '.join(self._addresses)}")
        logger.info(
            "loading %s", self._settings.hub_model or self._settings.engine.model_path
        )
        self._engine.start()
        if self._load():
            self._failure = self._unusable_setting()
            self._serve()
        elif not self._stop.is_set:
            self._failure = self._engine.failure
        return self._end()

    def _load(self) -> bool:
        """Answer 503 until the model is loaded; False: it never will be."""
        while self._engine.state is EngineState.LOADING and not self._stop.is_set:
            if self._engine.load_progress:  # a download shows its own bar before
                self._bar.show(self._engine.load_progress)
            self._supervisor.note_loading(self._engine.load_progress)
            self._http.turn(_LOADING_TURN_S)
        self._bar.clear()
        return self._engine.is_ready and not self._stop.is_set

    def _unusable_setting(self) -> LlamaError | None:
        """Return what only the loaded model and library can tell is wrong."""
        try:
            self._settings.sampling.check(self._engine.info.n_vocab)
        except SamplingError as error:
            return error
        return _unusable_template(self._settings, self._engine.info.chat_templates)

    def _serve(self) -> None:
        """Serve until a signal, unless something is wrong with the start."""
        if self._failure is not None:
            return
        for line in ready_lines(self._engine.info, self._settings, self._addresses):
            self._console.say(line)
        self._supervisor.note_ready(" and ".join(self._addresses))
        turn_s = min(_READY_TURN_S, self._supervisor.turn_s)
        while not self._stop.is_set and not self._is_lost():
            self._http.turn(turn_s)
            self._supervisor.note_alive(self._is_well)

    def _is_well(self) -> bool:
        return self._engine.state is not EngineState.FAILED

    def _is_lost(self) -> bool:
        """Whether the engine has failed, and the process shall not outlive that."""
        if self._is_well() or not self._settings.exit_on_failure:
            return False
        self._failure = self._engine.failure
        return True

    def _end(self) -> int:
        """Drain and free; return the exit status."""
        started_at = time.monotonic()
        failure = self._failure
        self._supervisor.note_stopping(self._settings.shutdown_timeout_s)
        self._http.begin_ending()
        if failure is None:
            logger.info("stopping: %s", self._what_runs())
        is_clean = self._drain()
        self._stop.wake_nobody()
        is_clean &= self._http.close(_JOIN_S)
        logger.info("stopped in %.2f s", time.monotonic() - started_at)
        if failure is not None:
            self._console.complain(f"error: {failure}")
        if not is_clean:
            _leave(0 if failure is None else 1)
        return 0 if failure is None else 1

    def _what_runs(self) -> str:
        """Return what an impatient person should know."""
        metrics = self._engine.metrics()
        n_running = metrics.requests_processing + metrics.requests_waiting
        if not n_running:
            return "no request is running"
        return (
            f"{n_running} request(s) may go on for "
            f"{self._settings.shutdown_timeout_s:g} s; a second signal ends at once"
        )

    def _drain(self) -> bool:
        """Stop the engine while answers go on being sent; return whether it ended."""
        timeout_s = self._settings.shutdown_timeout_s
        is_stopped: list[bool] = []
        stopper = threading.Thread(
            target=lambda: is_stopped.append(self._engine.stop(timeout_s, _PATIENCE_S)),
            name="stopper",
            daemon=True,
        )
        stopper.start()
        deadline = time.monotonic() + timeout_s + _PATIENCE_S + _JOIN_S
        while stopper.is_alive() and time.monotonic() < deadline:
            self._http.turn(_DRAIN_TURN_S)
            self._supervisor.note_alive(self._is_well)
        self._streams.close(_STREAMS_S)
        flush_until = time.monotonic() + _FLUSH_S
        while self._http.is_busy() and time.monotonic() < flush_until:
            self._http.turn(_DRAIN_TURN_S)
        self._http.stop_accepting()
        return is_stopped == [True]


def _unusable_template(
    settings: Settings, own: Collection[str]
) -> TemplateError | None:
    """Return why --chat-template cannot be used: model and library know the names."""
    name = settings.chat_template
    if not name:
        return None
    if "{" in name or len(name.split()) != 1:
        return None
    known = (*sorted(own), *builtin_names())
    if name in known:
        return None
    return TemplateError(
        f"--chat-template {name} is no built-in template; there are {', '.join(known)}"
    )


def _leave(status: int) -> None:
    """End without clean-up: a thread is still inside the library.

    Running on into the interpreter's end would unload the library under it and abort.
    """
    logger.warning("a thread did not end in time: leaving without it")
    logging.shutdown()
    sys.stdout.flush()
    os._exit(status)
