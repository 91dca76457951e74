"""An engine inside a process that somebody else runs: how it ends with that process."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import threading
from queue import SimpleQueue
from types import FrameType

from api.serving.model_source import loader_of
from api.serving.supervisor import Supervisor
from api.settings import Settings
from api.streams.sessions import StreamSessions
from llamactypes.engine import Engine, EngineState
from llamactypes.errors import EngineStopped

__all__ = ("EmbeddedEngine",)

logger = logging.getLogger("llamactypes.server")

_FLUSH_S = 0.3
"""Between the end of the engine and of the loop, for last answers to be sent."""
_PATIENCE_S = 2.0
_STREAMS_S = 0.5
_TURN_S = 1.0
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class EmbeddedEngine:
    """An engine, what is written from it, and their end. Any thread.

    It ends by `close`, by a signal where nobody else takes those, or with the
    interpreter, whichever comes first.
    """

    def __init__(self, settings: Settings) -> None:
        """Begin to load."""
        self.engine = Engine(settings.engine, load=loader_of(settings))
        self.streams: StreamSessions | None = None
        """To be ended with the engine; whoever makes them says so."""
        self.drain_s = settings.shutdown_timeout_s
        """How long generations may go on after a signal."""
        self.exits_on_failure = settings.exit_on_failure
        """Whether the process shall not outlive the engine, where it is ours to end."""
        self._hooks: _Hooks | None = None
        if _may_take_signals():
            self._hooks = _Hooks(self)
            self._hooks.install()
        self.engine.start()
        threading.Thread(target=self._report, daemon=True).start()
        atexit.register(self._at_exit)

    def close(self, deadline_s: float | None = None) -> bool:
        """Refuse new work, let generations end until the deadline, free everything.

        Idempotent; signals are given back when this is the main thread.

        Args:
            deadline_s: None: ``--shutdown-timeout``.

        Returns:
            False: a thread is stuck inside the library, and nothing was freed.
        """
        deadline_s = self.drain_s if deadline_s is None else deadline_s
        is_clean = self.engine.stop(deadline_s, _PATIENCE_S)
        if self.streams is not None:
            self.streams.close(_STREAMS_S)
        if is_clean:
            atexit.unregister(self._at_exit)
        if self._hooks is not None:
            self._hooks.uninstall()
        return is_clean

    def _at_exit(self) -> None:
        if not self.close(0.0):
            # Running on would unload the library under a thread that is inside it.
            logger.error("a thread is stuck inside the library: leaving without it")
            logging.shutdown()
            os._exit(1)

    def _report(self) -> None:
        """Say in the log how loading ended: nobody else here waits for it."""
        try:
            self.engine.wait_ready()
        except EngineStopped:
            return
        except Exception as error:
            logger.error("loading failed: %s", error)
        else:
            logger.info("model loaded: %s", self.engine.info.path)
            if self._hooks is not None:
                self._hooks.note_ready()
        if self._hooks is not None:
            self._hooks.supervise()


def _may_take_signals() -> bool:
    """Whether nobody else in this process has taken the signals."""
    return (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        and signal.getsignal(signal.SIGINT)
        in (signal.SIG_DFL, signal.default_int_handler)
    )


class _Hooks:
    """First signal: stop the engine, then leave the loop. Second: end at once.

    The handler only hands the signal's number to a waiting thread (`SimpleQueue.put`
    may be called from handlers); that thread stops the engine while the loop still
    sends answers, and sends the signal once more when it is done. The process being
    ours to end, its supervisor is ours to tell.
    """

    def __init__(self, owner: EmbeddedEngine) -> None:
        self._owner = owner
        self._supervisor = Supervisor.from_environment()
        self._signals: SimpleQueue[int] = SimpleQueue()
        self._before = {number: signal.getsignal(number) for number in _SIGNALS}
        self._is_over = threading.Event()
        self._is_stopping = False
        self._is_drained = False

    def install(self) -> None:
        threading.Thread(target=self._wait, name="stopper", daemon=True).start()
        for number in _SIGNALS:
            signal.signal(number, self._on_signal)

    def uninstall(self) -> None:
        """Give the signals back, unless one is why it ends."""
        self._is_over.set()
        if self._is_stopping:
            return
        if threading.current_thread() is threading.main_thread():
            for number, handler in self._before.items():
                if signal.getsignal(number) == self._on_signal:
                    signal.signal(number, handler)

    def note_ready(self) -> None:
        """Tell the supervisor that requests are served."""
        self._supervisor.note_ready("the addresses of the WSGI server")

    def supervise(self) -> None:
        """Tell the supervisor that it lives, until it does not."""
        while not self._is_over.wait(min(self._supervisor.turn_s, _TURN_S)):
            if self._is_well():
                self._supervisor.note_alive(self._is_well)
            elif self._owner.exits_on_failure:
                self._is_over.wait(_FLUSH_S)  # error events are on their way
                logger.error("ending, for the engine has failed (--exit-on-failure)")
                logging.shutdown()
                os._exit(1)

    def _is_well(self) -> bool:
        return self._owner.engine.state is not EngineState.FAILED

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._is_drained:
            raise SystemExit(0)
        if self._is_stopping:
            os._exit(1)
        self._is_stopping = True
        self._signals.put(number)

    def _wait(self) -> None:
        number = self._signals.get()
        self._supervisor.note_stopping(self._owner.drain_s)
        is_clean = self._owner.close()
        threading.Event().wait(_FLUSH_S)
        self._is_drained = True
        if not is_clean:
            logging.shutdown()
            os._exit(0)
        main = threading.main_thread().ident
        if main is not None:
            signal.pthread_kill(main, number)
