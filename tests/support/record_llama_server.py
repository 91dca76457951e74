"""Record what llama-server writes, for tests/engine/test_llama_server_texts.py.

    python -m tests.support.record_llama_server LLAMA_SERVER MODEL > tests/data/...json

LLAMA_SERVER comes from ``build_scripts/build_libllama.py --with-peers``. The cases
already in tests/data/llama_server_texts.json are asked again; add one there to have it
recorded.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import requests

from tests.support.waiting import eventually

DATA = Path(__file__).parents[1] / "data" / "llama_server_texts.json"


def main() -> None:
    server, model = sys.argv[1:3]
    golden = json.loads(DATA.read_text())
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    flags = f"-c 2048 -np 1 -t 1 --cache-ram 0 --port {port}".split()
    process = subprocess.Popen(
        [server, "-m", model, *flags],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        eventually(lambda: _is_up(url), within_s=30)
        for case in golden["cases"]:
            case.update(_ask(url, golden, case["params"]))
    finally:
        process.terminate()
        process.wait(10)
    print(json.dumps(golden, indent=1, ensure_ascii=False))


def _is_up(url: str) -> bool:
    try:
        return requests.get(f"{url}/health", timeout=1).ok
    except requests.ConnectionError:
        return False


def _ask(url: str, golden: dict, params: dict) -> dict:
    body = {
        "prompt": golden["prompt"],
        "n_predict": golden["n_predict"],
        "seed": 42,
        "cache_prompt": False,
        **params,
    }
    reply = requests.post(f"{url}/completion", json=body, timeout=60).json()
    return {"text": reply["content"], "stop_type": reply["stop_type"]}


if __name__ == "__main__":
    main()
