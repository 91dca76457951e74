"""create_app in somebody else's program: it ends with it, or when it is told to."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.server_process import ROOT, clean_environment

SERVE = """
import json, os, signal, sys, threading, urllib.request
from wsgiref.simple_server import WSGIRequestHandler, make_server
from api import create_app
from api.settings import Settings

class Quiet(WSGIRequestHandler):
    def log_message(self, *_): pass

def serve():
    app = create_app(Settings.from_environment())
    server = make_server("127.0.0.1", 0, app, handler_class=Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return app, server, f"http://127.0.0.1:{server.server_port}"

def ask(url, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    try:
        return urllib.request.urlopen(url + path, data, timeout=20).status
    except urllib.error.HTTPError as error:
        return error.code

def wait_ready(url):
    while ask(url, "/health") != 200:
        threading.Event().wait(0.02)

COMPLETION = {"prompt": "a", "n_predict": 2}
"""


def run(program: str, model: Path) -> tuple[int, dict[str, object], str]:
    """Return status, what the program printed as JSON, and what the log says."""
    logs = "import logging; logging.basicConfig(level=logging.INFO)\n"
    done = subprocess.run(
        [sys.executable, "-c", logs + SERVE + program],
        cwd=ROOT,
        env=clean_environment({"LLAMA_ARG_MODEL": str(model)}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    told = json.loads(done.stdout) if done.stdout else {}
    return done.returncode, told, done.stderr


def assert_freed(log: str) -> None:
    freed = [log.find(f"{what} freed") for what in ("context", "model", "backend")]
    assert freed == sorted(freed)
    assert freed[0] >= 0, log


def test_close_frees_everything_and_gives_the_signals_back(
    tiny_model_path: Path,
) -> None:
    program = """
before = signal.getsignal(signal.SIGTERM)
app, server, url = serve()
wait_ready(url)
told = {"taken": signal.getsignal(signal.SIGTERM) is not before}
told["first"] = ask(url, "/completion", COMPLETION)
told["closed"] = [app.close(5), app.close(0)]
told["after"] = [ask(url, "/health"), ask(url, "/completion", COMPLETION)]
told["given back"] = signal.getsignal(signal.SIGTERM) is before
server.shutdown()
told["threads"] = [t.name for t in threading.enumerate() if "llama" in t.name]
print(json.dumps(told))
"""
    status, told, log = run(program, tiny_model_path)
    assert told == {
        "taken": True,
        "first": 200,
        "closed": [True, True],
        "after": [503, 503],
        "given back": True,
        "threads": [],
    }
    assert status == 0
    assert_freed(log)


@pytest.mark.parametrize("where", ["main", "thread"])
def test_it_ends_with_the_interpreter_in_order(
    tiny_model_path: Path, where: str
) -> None:
    call = {
        "main": "found.append(serve())",
        "thread": "t = threading.Thread(target=lambda: found.append(serve()));"
        "t.start(); t.join()",
    }[where]
    program = f"""
found = []
handler = signal.getsignal(signal.SIGTERM)
{call}
app, server, url = found[0]
wait_ready(url)
told = {{"status": ask(url, "/completion", COMPLETION)}}
told["taken"] = signal.getsignal(signal.SIGTERM) is not handler
print(json.dumps(told))
"""
    status, told, log = run(program, tiny_model_path)
    assert told == {"status": 200, "taken": where == "main"}
    assert status == 0
    assert_freed(log)


def test_it_ends_while_it_loads(tiny_model_path: Path) -> None:
    status, _, log = run("serve()", tiny_model_path)
    assert status == 0
    assert "engine stopped" in log


def test_an_exception_of_the_program_is_its_own(tiny_model_path: Path) -> None:
    program = "app, server, url = serve(); wait_ready(url); sys.exit(7)"
    status, _, log = run(program, tiny_model_path)
    assert status == 7
    assert_freed(log)


def test_an_engine_of_the_program_stays_the_programs(tiny_model_path: Path) -> None:
    program = """
from llamactypes.engine import Engine, EngineConfig
engine = Engine(EngineConfig(os.environ["LLAMA_ARG_MODEL"]))
engine.start()
engine.wait_ready()
app = create_app(Settings(), engine)
told = {"closed": app.close(0), "state": engine.state.value}
told["stopped"] = engine.stop(0)
print(json.dumps(told))
"""
    status, told, _ = run(program, tiny_model_path)
    assert told == {"closed": True, "state": "ready", "stopped": True}
    assert status == 0


def test_an_engine_that_nobody_stopped_is_stopped_before_anything_is_freed(
    tiny_model_path: Path,
) -> None:
    program = """
from llamactypes.engine import Engine, EngineConfig, GenerationRequest
config = EngineConfig(os.environ["LLAMA_ARG_MODEL"], context_shift=True, n_ctx=256)
engine = Engine(config)
engine.start()
engine.wait_ready()
running = engine.submit(GenerationRequest((1, 2), ignore_eos=True))
while len(running.tokens) < 9 and running.wait(0.01) is None:
    pass
print(json.dumps({"decoding": running.result is None}))
"""
    status, told, log = run(program, tiny_model_path)
    assert told == {"decoding": True}
    assert status == 0
    assert_freed(log)
    assert "engine thread joined" in log
