"""Addresses: what can be listened on, and what is said about the rest."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from api.serving.listening import ListenError, bind_all, urls


def test_port_0_takes_a_free_port_and_reports_it() -> None:
    (listener,) = bind_all(["127.0.0.1"], 0)
    with listener:
        port = listener.getsockname()[1]
        assert urls([listener], "/v") == [f"http://127.0.0.1:{port}/v"]
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            pass


def test_name_is_resolved() -> None:
    (listener,) = bind_all(["localhost"], 0)
    with listener:
        assert listener.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("hosts", "port", "message"),
    [
        (["no.such.host.invalid"], 0, "no.such.host.invalid is not an address"),
        (["203.0.113.1"], 0, "cannot listen on 203.0.113.1"),
        (["127.0.0.1", "::1"], 0, "--port 0 needs a single --host"),
        (["/no/such/folder/x.sock"], 80, "cannot listen on /no/such/folder/x.sock"),
        ([f"/tmp/{'x' * 200}.sock"], 80, "path too long"),
        ([], 80, "--host names no address"),
    ],
)
def test_wrong_address_is_refused(hosts: list[str], port: int, message: str) -> None:
    with pytest.raises(ListenError, match=message):
        bind_all(hosts, port)


def test_failure_of_one_address_closes_the_others() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(ListenError):
        bind_all(["127.0.0.1", "203.0.113.1"], port)
    with bind_all(["127.0.0.1"], port)[0] as listener:
        assert listener.getsockname()[1] == port


def test_port_is_shared_by_those_who_ask_for_it() -> None:
    (first,) = bind_all(["127.0.0.1"], 0, reuse_port=True)
    port = first.getsockname()[1]
    with first:
        (second,) = bind_all(["127.0.0.1"], port, reuse_port=True)
        with second, pytest.raises(ListenError):
            bind_all(["127.0.0.1"], port)


def test_unix_socket_of_a_dead_server_is_replaced(tmp_path: Path) -> None:
    path = str(tmp_path / "a.sock")
    (first,) = bind_all([path], 0)
    first.close()
    (second,) = bind_all([path], 0)
    with second, socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        assert urls([second], "/llm") == [f"unix:{path}"]


def test_unix_socket_of_a_living_server_and_other_files_are_left(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "a.sock")
    other = tmp_path / "b.sock"
    other.write_text("mine")
    (first,) = bind_all([path], 0)
    with first:
        with pytest.raises(ListenError, match="another server listens"):
            bind_all([path], 0)
        with pytest.raises(ListenError, match="no socket"):
            bind_all([str(other)], 0)
    assert other.read_text() == "mine"


def test_unix_socket_is_removed_when_another_address_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.sock"
    with pytest.raises(ListenError):
        bind_all([str(path), "203.0.113.1"], 1)
    assert not path.exists()
