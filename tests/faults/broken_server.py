"""``python -m tests.faults.broken_server FAULT FILE serve …``: a server with a fault.

It serves as always until FILE appears. The fault is put into the real runner, below the
scheduler and above the library:

dies      the next decode raises what is no Exception
raises    the next decode raises an exception whose words nobody should see
hangs     the next decode never returns, in native code, and no interrupt ends it
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any

SECRET = "sk-secret /home/secret/prompt"


class Murder(BaseException):
    """Not an Exception, as native extensions may raise."""


def _hang() -> None:
    libc = ctypes.CDLL(None)
    while True:
        libc.sleep(3600)


def _raise() -> None:
    raise RuntimeError(SECRET)


def _die() -> None:
    raise Murder(SECRET)


FAULTS = {"dies": _die, "raises": _raise, "hangs": _hang}


def break_decodes(name: str, switch: Path) -> None:
    from llamactypes.context import Context

    decode = Context.decode

    def decode_or_fail(self: Context, batch: Any) -> None:
        if switch.exists():
            os.unlink(switch)
            FAULTS[name]()
        decode(self, batch)

    Context.decode = decode_or_fail  # type: ignore[method-assign]


if __name__ == "__main__":
    from api.cli.main import main

    name, switch, *words = sys.argv[1:]
    break_decodes(name, Path(switch))
    raise SystemExit(main(words))
