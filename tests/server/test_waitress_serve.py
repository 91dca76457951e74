"""``waitress-serve --call api:create_app``, configured by the environment alone."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.faults.test_stopping import assert_clean_end
from tests.server.conftest import StartServer
from tests.support.server_process import ServerProcess, free_port
from tests.support.streams import ENDLESS, StreamReader
from tests.support.waiting import eventually


def start_waitress(
    start_server: StartServer, model: Path, **variables: str
) -> ServerProcess:
    return start_server(
        f"--listen=127.0.0.1:{free_port()}",
        "--threads=16",
        "--channel-request-lookahead=1",
        "--call",
        "api:create_app",
        module=("waitress",),
        environment={"LLAMA_ARG_MODEL": str(model), **variables},
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_waitress_serve_answers_and_ends_with_status_0(
    start_server: StartServer, tiny_model_path: Path, number: int
) -> None:
    server = start_waitress(start_server, tiny_model_path)
    server.wait_ready()
    reply = server.post("/completion", {"prompt": "a", "n_predict": 2})
    assert reply.status_code == 200
    assert server.stop(number, within_s=5) == 0
    assert "Traceback" not in server.err


def test_waitress_serve_ends_streams_with_an_error_event(
    start_server: StartServer, stories_model_path: Path
) -> None:
    server = start_waitress(
        start_server,
        stories_model_path,
        LLAMA_ARG_CONTEXT_SHIFT="1",
        LLAMA_ARG_SHUTDOWN_TIMEOUT="0.5",
        LLAMA_ARG_N_PARALLEL="8",
    )
    server.wait_ready()
    readers = [StreamReader(server.url + "/completion", ENDLESS) for _ in range(8)]
    eventually(lambda: all(len(r.events) > 3 for r in readers), within_s=20)
    assert server.stop(within_s=5) == 0
    for reader in readers:
        reader.join()
        assert reader.has_error
    assert "Traceback" not in server.err


def test_waitress_serve_ends_while_loading(
    start_server: StartServer, smollm2_path: Path
) -> None:
    server = start_waitress(start_server, smollm2_path)
    server.wait_handlers()
    assert server.stop(within_s=8) == 0
    assert "Traceback" not in server.err


def test_waitress_serve_says_what_is_wrong_with_the_environment(
    start_server: StartServer, tmp_path: Path
) -> None:
    server = start_waitress(start_server, tmp_path / "none.gguf")
    assert server.wait_exit(within_s=20) != 0
    assert "none.gguf does not exist" in server.err
    assert "Traceback" not in server.err


def test_waitress_serve_logs_the_reason_when_loading_failed(
    start_server: StartServer, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(60))
    server = start_waitress(start_server, broken)
    server.wait_listening()
    eventually(lambda: "broken.gguf" in server.err)
    reply = server.get("/health")
    assert reply.status_code == 503
    assert "log has the reason" in reply.text
    assert "broken.gguf" not in reply.text
    assert server.stop(within_s=5) == 0


def test_waitress_serve_ends_with_a_failed_engine_when_asked_to(
    start_server: StartServer, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(60))
    server = start_waitress(start_server, broken, LLAMA_ARG_EXIT_ON_FAILURE="1")
    assert server.wait_exit(20) == 1
    assert "--exit-on-failure" in server.err


def test_waitress_serve_frees_in_order(
    start_server: StartServer, tiny_model_path: Path
) -> None:
    server = start_waitress(start_server, tiny_model_path)
    server.wait_ready()
    assert server.stop(within_s=5) == 0
    assert_clean_end(server)
