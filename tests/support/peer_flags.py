"""The flags of llama-server: a list in tests/data, and how it is read from its source.

``python -m tests.support.peer_flags ARG_CPP`` prints the list for a new pin.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "tests" / "data" / "llama_server_flags.txt"
SOURCE = ROOT / ".build" / "upstream" / "b11549" / "common" / "arg.cpp"
REFERENCE = ROOT.parent / "shared" / "reference" / "llama_server.md"

_NAMES = re.compile(r"\s*(?://[^\n]*\s*)*\{([^}]*)\}\s*,\s*(?:\{([^}]*)\})?")
_EXAMPLES = re.compile(r"set_examples\(\{([^}]*)\}\)")
_EXCLUDED = re.compile(r"set_excludes\(\{[^}]*EXAMPLE_SERVER")
_HANDLER = re.compile(r"\[\]\(common_params & ?(?:params)?([^)]*)\)")
_VALUE = "VALUE"
_ENV = re.compile(r'set_env\("([^"]+)"\)')
_QUOTED = re.compile(r'"(-[^"]+)"')


@dataclass(frozen=True)
class PeerFlag:
    names: tuple[str, ...]
    """Those that turn it off among them."""
    takes_value: bool
    env: str
    """Empty: none."""

    def __str__(self) -> str:
        value = (_VALUE,) if self.takes_value else ()
        return " ".join((*self.names, *value, self.env)).rstrip()


def listed() -> list[PeerFlag]:
    """Return the flags of tests/data/llama_server_flags.txt."""
    lines = LIST.read_text("utf-8").splitlines()
    return [_parsed(line) for line in lines if line and not line.startswith("#")]


def _parsed(line: str) -> PeerFlag:
    words = line.split()
    names = tuple(word for word in words if word.startswith("-"))
    rest = [word for word in words if word not in (*names, _VALUE)]
    return PeerFlag(names, _VALUE in words, "".join(rest))


def declared(source: str) -> list[PeerFlag]:
    """Return the server's flags that common/arg.cpp declares."""
    found: dict[str, PeerFlag] = {}
    for block in source.split("add_opt(common_arg(")[1:]:
        head = _NAMES.match(block)
        examples = _EXAMPLES.search(block)
        where = examples[1] if examples else "LLAMA_EXAMPLE_COMMON"
        if head is None or not re.search("EXAMPLE_(SERVER|COMMON)", where):
            continue
        if _EXCLUDED.search(block):
            continue
        names = tuple(_QUOTED.findall(head[1]) + _QUOTED.findall(head[2] or ""))
        env = _ENV.search(block)
        handler = _HANDLER.search(block)
        takes_value = bool(handler and re.search("string|int", handler[1]))
        flag = PeerFlag(names, takes_value, env[1] if env else "")
        found.setdefault(names[0], flag)
    return sorted(found.values(), key=lambda flag: flag.names[-1].lstrip("-"))


def described(reference: str) -> set[str]:
    """Return the long names in section 7 of the reference; shorthands are left out."""
    section = reference.partition("\n# 7. ")[2].partition("\n# 8. ")[0]
    words = r"(?<![\w.…-])--[a-z0-9][a-z0-9.-]*[a-z0-9](?![\w\[{*…/-])"
    return set(re.findall(words, section))


if __name__ == "__main__":
    for flag in declared(Path(sys.argv[1]).read_text("utf-8")):
        print(flag)
