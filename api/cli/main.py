"""The command ``llamactypes``: picks the subcommand, turns errors into exit statuses.

Exit status: 0 done or stopped by a signal, 1 it failed, 2 the command line is wrong.
Signals are taken over before anything slow is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from api.serving.console import Console
from api.serving.stopping import StopSignal

__all__ = ("main",)

_USAGE = """\
usage: llamactypes COMMAND [flags]

commands:
  serve    serve a model over HTTP (OpenAI's API and llama-server's)
  run      answer one prompt in the terminal
  info     show what a GGUF file holds
  doctor   explain which native library is used, and why

  llamactypes serve --demo                      the small demo model on port 8080
  llamactypes serve -m model.gguf --port 9000   a model of yours
  llamactypes run -m model.gguf -p "Hello"
  llamactypes COMMAND --help                    every flag

  --version  print the version; --help  print this
"""

Command = Callable[[Sequence[str], StopSignal, Console], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    console = Console()
    stop = StopSignal()
    name = words[0] if words else ""
    if name in ("-h", "--help", "help"):
        console.write(_USAGE)
        return 0
    if name == "--version":
        console.say(version_text())
        return 0
    command = _COMMANDS.get(name)
    if command is None:
        console.complain(_no_command(name))
        return 2
    if command is _serve:
        stop.install()  # before the imports below: a signal may come at any moment
    status = _run(command, words[1:], stop, console)
    if stop.is_set:
        stop.ignore()
    return status


def _run(
    command: Command, words: Sequence[str], stop: StopSignal, console: Console
) -> int:
    from api.settings.flags import SettingsError
    from llamactypes.errors import LlamaError

    try:
        return command(words, stop, console)
    except SettingsError as error:
        console.complain(f"error: {error}")
        return 2
    except LlamaError as error:
        console.complain(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        return 130


def _no_command(name: str) -> str:
    if not name:
        return _USAGE
    if name.startswith("-"):
        return f"error: the command comes first: llamactypes serve {name} …"
    import difflib

    near = difflib.get_close_matches(name, _COMMANDS, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    known = ", ".join(_COMMANDS)
    return f"error: there is no command {name!r}{hint} (commands: {known})"


def version_text() -> str:
    """Return the name and version of this distribution."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"llamactypes {version('llamactypes')}"
    except PackageNotFoundError:
        return "llamactypes, from a source tree that is not installed"


def _serve(words: Sequence[str], stop: StopSignal, console: Console) -> int:
    from api.cli.serve import serve_command

    return serve_command(words, stop, console)


def _run_prompt(words: Sequence[str], stop: StopSignal, console: Console) -> int:
    from api.cli.run import run_command

    return run_command(words, console)


def _info(words: Sequence[str], stop: StopSignal, console: Console) -> int:
    from api.cli.inspect import info_command

    return info_command(words, console)


def _doctor(words: Sequence[str], stop: StopSignal, console: Console) -> int:
    from api.cli.inspect import doctor_command

    return doctor_command(words, console)


_COMMANDS: dict[str, Command] = {
    "serve": _serve,
    "run": _run_prompt,
    "info": _info,
    "doctor": _doctor,
}

if __name__ == "__main__":
    raise SystemExit(main())
