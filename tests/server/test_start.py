"""Starting: what is said, what is refused, what answers meanwhile."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.server.conftest import StartServer
from tests.support.server_process import ServerProcess, free_port


def ended(server: ServerProcess, status: int) -> str:
    """Return what a server that must end with `status` said on standard error."""
    assert server.wait_exit(within_s=20) == status
    assert "Traceback" not in server.err
    return server.err


def test_start_names_address_model_slots_and_library(server: ServerProcess) -> None:
    for word in (
        "listening on http://127.0.0.1:",
        "stories260K",
        "slots     8",
        "512 tokens each",
        "1 thread(s)",
        "CPU",
        "library",
        "docs/",
    ):
        assert word in server.out


def test_port_answers_unavailable_while_the_model_loads(
    start_server: StartServer, smollm2_path: Path
) -> None:
    server = start_server("-m", str(smollm2_path), "--port", "0")
    server.wait_listening()
    reply = server.get("/v1/models")
    assert reply.status_code == 503
    assert reply.json()["error"]["type"] == "unavailable_error"
    server.wait_ready()
    assert server.status("/v1/models") == 200


def test_start_fails_when_the_port_is_taken(
    start_server: StartServer, tiny_model_path: Path
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        server = start_server("-m", str(tiny_model_path), "--port", port)
        assert f"cannot listen on 127.0.0.1 port {port}" in ended(server, 1)


def test_start_fails_when_the_file_is_no_model(
    start_server: StartServer, tmp_path: Path
) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(60))
    server = start_server("-m", str(path), "--port", "0")
    assert "error:" in ended(server, 1)
    assert server.status("/health") == 0


def test_start_fails_when_the_library_is_none(
    start_server: StartServer, tiny_model_path: Path, tmp_path: Path
) -> None:
    server = start_server(
        "-m", str(tiny_model_path), "--port", "0", "--library", str(tmp_path)
    )
    assert str(tmp_path) in ended(server, 1)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((), "no model: name a GGUF file with --model"),
        (("-m", "missing.gguf"), "missing.gguf does not exist"),
        (("--demoo",), "did you mean --demo?"),
        (("--port", "many"), "--port 'many' is not valid"),
    ],
)
def test_start_refuses_a_wrong_command_line(
    start_server: StartServer, flags: tuple[str, ...], message: str
) -> None:
    assert message in ended(start_server(*flags), 2)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("lama3", "--chat-template lama3 is no built-in template; there are"),
        ("{% if %}", "chat template 'default' does not parse: line 1"),
    ],
)
def test_start_fails_when_the_chat_template_is_none(
    start_server: StartServer, tiny_model_path: Path, template: str, message: str
) -> None:
    server = start_server(
        "-m", str(tiny_model_path), "--port", "0", "--chat-template", template
    )
    assert message in ended(server, 1)
    assert "ready on" not in server.out


def test_start_fails_when_a_bias_names_no_token(
    start_server: StartServer, tiny_model_path: Path
) -> None:
    flags = ("-m", str(tiny_model_path), "--port", "0", "--logit-bias", "999999+1")
    assert "logit_bias names token 999999" in ended(start_server(*flags), 1)


def test_start_takes_settings_from_the_environment(
    start_server: StartServer, tiny_model_path: Path
) -> None:
    server = start_server(
        environment={
            "LLAMA_ARG_MODEL": str(tiny_model_path),
            "LLAMA_ARG_PORT": str(free_port()),
            "LLAMA_ARG_ALIAS": "tiny",
            "LLAMA_ARG_N_PARALEL": "3",
        }
    )
    server.wait_ready()
    assert server.get("/v1/models").json()["data"][0]["id"] == "tiny"
    assert "did you mean LLAMA_ARG_N_PARALLEL?" in server.err


def test_start_listens_on_several_addresses(
    start_server: StartServer, tiny_model_path: Path
) -> None:
    port = _port_free_on_ipv6()
    server = start_server(
        "-m", str(tiny_model_path), "--host", "127.0.0.1,::1", "--port", str(port)
    )
    server.wait_ready()
    assert f"http://[::1]:{port}" in server.out
    with socket.create_connection(("::1", port), timeout=5) as client:
        client.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        assert client.recv(12) == b"HTTP/1.0 200"
    assert server.stop() == 0


def _port_free_on_ipv6() -> int:
    port = free_port()
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", port))
    except OSError:
        pytest.skip("this machine has no IPv6")
    return port


def test_start_prints_notices_for_flags_without_effect(
    start_server: StartServer, tiny_model_path: Path
) -> None:
    server = start_server(
        "-m", str(tiny_model_path), "--port", "0", "--backend_sampling",
        "--cache-ram", "100", "--cont-batching", "--ui",
    )  # fmt: skip
    server.wait_ready()
    assert "note: --ui has no effect" in server.err
    assert "--backend-sampling" not in server.err
