"""The rows of the flag table for stopping, and for what goes wrong."""

from __future__ import annotations

from api.settings.flags import number, section, switch, valued

__all__ = ("FAULT_FLAGS",)

_SERVE = ("serve",)

FAULT_FLAGS = section(
    "Stopping and faults",
    valued(
        "--shutdown-timeout",
        "shutdown_timeout_s",
        number(0.0, 86400.0),
        "SECONDS",
        "How long running requests may go on after SIGTERM or SIGINT; the server ends "
        "as soon as none is left.",
        "LLAMA_ARG_SHUTDOWN_TIMEOUT",
        commands=_SERVE,
    ),
    valued(
        "--write-stall-seconds",
        "write_stall_s",
        number(0.1, 86400.0),
        "SECONDS",
        "Drop a client that has taken nothing of its answer for so long; not given: as "
        "--timeout.",
        "LLAMA_ARG_WRITE_STALL_SECONDS",
        commands=_SERVE,
    ),
    valued(
        "--watchdog-seconds",
        "engine.watchdog_s",
        number(0.0, 86400.0),
        "SECONDS",
        "Give up when one decode has not returned for so long: what runs fails, and "
        "/health and /livez turn 503. It must be far longer than the slowest decode "
        "(--batch-size tokens of a prompt). 0: never.",
        "LLAMA_ARG_WATCHDOG_SECONDS",
        commands=_SERVE,
    ),
    switch(
        "--exit-on-failure",
        "exit_on_failure",
        "End with status 1 when the engine has failed, for a supervisor that starts "
        "the server again, instead of answering 503 until somebody looks.",
        "LLAMA_ARG_EXIT_ON_FAILURE",
        commands=_SERVE,
    ),
)
