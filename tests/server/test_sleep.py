"""A real server that sleeps: its memory comes back, nothing is lost."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.server.conftest import StartServer
from tests.support.server_process import ServerProcess
from tests.support.waiting import eventually

FLAGS = ("--port", "0", "--sleep-idle-seconds", "1", "-c", "8192", "-np", "4")


def is_sleeping(server: ServerProcess) -> bool:
    return bool(server.get("/props").json()["is_sleeping"])


def resident_mib(server: ServerProcess) -> float:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def complete(server: ServerProcess) -> str:
    reply = server.post("/completion", {"prompt": "The", "n_predict": 4, "top_k": 1})
    assert reply.status_code == 200, reply.text
    return str(reply.json()["content"])


def test_a_sleeping_server_gives_its_memory_back_and_loses_no_request(
    start_server: StartServer, smollm2_path: Path
) -> None:
    server = start_server("-m", str(smollm2_path), "--no-mmap", *FLAGS)
    server.wait_ready()
    first = complete(server)
    awake_mib = resident_mib(server)
    eventually(lambda: is_sleeping(server), 10)
    eventually(lambda: resident_mib(server) < awake_mib - 150, 5)
    assert server.status("/health") == 200
    assert is_sleeping(server)
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: complete(server), range(6)))
    assert answers == [first] * 6
    assert not is_sleeping(server)
    eventually(lambda: is_sleeping(server), 10)
    assert server.stop(signal.SIGINT, within_s=5) == 0
