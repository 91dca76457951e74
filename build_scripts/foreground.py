#!/usr/bin/env python3
"""Run a command in the terminal's foreground, alone: ``foreground.py COMMAND ARG…``.

Ctrl-C goes to every process of the terminal's foreground group. Under `make` that is
make as well, which then reports an error although the server ended as it should. Here
the process becomes a group of its own before it turns into the command, so that the
command alone hears Ctrl-C and make sees its exit status. Without a terminal nothing
changes.
"""

from __future__ import annotations

import os
import signal
import sys


def take_terminal() -> None:
    """Make this process the terminal's foreground group."""
    # A stopped server would leave the shell waiting for make, so no Ctrl-Z; and a
    # process outside the foreground may only take the terminal with SIGTTOU ignored.
    signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    os.setpgid(0, 0)
    previous = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTTOU, previous)


def main() -> None:
    """Turn into the command that the arguments name."""
    # In the background (`make run &`) the terminal belongs to somebody else.
    if os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp():
        take_terminal()
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
