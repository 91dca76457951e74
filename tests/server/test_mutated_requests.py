"""Changed requests against the real engine, and against what understands OpenAPI."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.support.mutations import mutants
from tests.support.server_process import ServerProcess
from tests.support.waiting import eventually

N = int(os.environ.get("LLAMACTYPES_MUTANTS", "150"))
SEED = int(os.environ.get("LLAMACTYPES_MUTANTS_SEED", "1"))


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stories_model_path: Path
) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("mutants")
    flags = (
        *("-m", str(stories_model_path), "--port", "0", "-np", "4", "-c", "1024"),
        *("-n", "8", "--metrics", "--props", "--slot-save-path", str(folder)),
    )
    with ServerProcess(folder, flags) as process:
        process.wait_ready()
        yield process


def test_mutated_requests_do_no_harm_to_a_real_server(server: ServerProcess) -> None:
    with requests.Session() as session:
        for mutant in mutants(N, SEED):
            reply = session.request(
                mutant.method,
                server.url + mutant.path,
                data=mutant.body,
                headers={k: v.encode("latin-1") for k, v in mutant.headers.items()},
                timeout=60,
            )
            assert reply.status_code < 500 or reply.status_code in (501, 503), (
                mutant,
                reply.text,
            )
            assert "Traceback" not in reply.text, mutant
    assert "Traceback" not in server.err
    eventually(lambda: server.n_busy_slots() == 0)
    reply = server.post("/completion", {"prompt": "Once upon a time", "n_predict": 4})
    assert reply.status_code == 200
    assert reply.json()["tokens_predicted"] == 4
