"""What a server keeps in memory beside the model and the KV cache (Linux)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = (
    "LoadedModel",
    "kv_bytes",
    "kv_bytes_per_token",
    "load_alone",
    "parse_rollup",
    "weigh",
)

_MIB = 1 << 20
_PAD = 256  # the library rounds each sequence's share of the context up to this
_ROLLUP = re.compile(r"^(Rss|Pss|Pss_Anon|Pss_File):\s+(\d+) kB$", re.MULTILINE)
_F16_BYTES = 2
_LOAD = """
import json, re, sys
from llamactypes import Model, start_backend

def resident():
    with open("/proc/self/smaps_rollup") as file:
        return int(re.search(r"Rss:\\s+(\\d+)", file.read())[1]) * 1024

start_backend()
before = resident()
model = Model(sys.argv[1])
print(json.dumps({"resident": resident() - before, "metadata": model.metadata}))
"""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model in a process that does nothing else."""

    resident_bytes: int
    """What loading added. More than the file where weights are repacked for the CPU:
    the library then keeps both copies."""
    metadata: Mapping[str, str]


def load_alone(model: Path, library: Path | None) -> LoadedModel | None:
    """Load a model on `library` in a process of its own; None where it fails."""
    env = {**os.environ, **({"LLAMACTYPES_LIB": str(library)} if library else {})}
    command = [sys.executable, "-c", _LOAD, str(model)]
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode:
        return None
    facts = json.loads(done.stdout)
    return LoadedModel(facts["resident"], facts["metadata"])


def weigh(process_id: int, model: LoadedModel, cache_bytes: int) -> dict[str, float]:
    """Return a process's memory in MiB, by name.

    ``beside_mib`` is all that is resident, shared pages counted in full, less the KV
    cache and what the model takes in a process that only loads it.

    Raises:
        OSError: There is no ``/proc``.
    """
    sizes = parse_rollup(Path(f"/proc/{process_id}/smaps_rollup").read_text())
    return {
        "resident_mib": sizes["Rss"] / _MIB,
        "proportional_mib": sizes["Pss"] / _MIB,
        "model_mib": model.resident_bytes / _MIB,
        "kv_cache_mib": cache_bytes / _MIB,
        "beside_mib": (sizes["Rss"] - model.resident_bytes - cache_bytes) / _MIB,
    }


def parse_rollup(text: str) -> dict[str, int]:
    """Return the sizes in the text of /proc/PID/smaps_rollup, in bytes."""
    return {name: int(size) * 1024 for name, size in _ROLLUP.findall(text)}


def kv_bytes(metadata: Mapping[str, str], n_slots: int, n_ctx: int) -> int | None:
    """Return the size of an f16 KV cache; None where the layers are not all alike."""
    per_token = kv_bytes_per_token(metadata)
    if per_token is None:
        return None
    share = -(-(n_ctx // n_slots) // _PAD) * _PAD
    return share * n_slots * per_token


def kv_bytes_per_token(metadata: Mapping[str, str]) -> int | None:
    """Return the f16 keys and values of one token, from a GGUF file's metadata.

    None for models with sliding windows, recurrent layers or numbers of heads that
    differ from layer to layer.
    """
    architecture = metadata.get("general.architecture", "")
    facts = {
        key.removeprefix(f"{architecture}."): value
        for key, value in metadata.items()
        if key.startswith(f"{architecture}.")
    }
    if any("sliding_window" in key or key.startswith("ssm.") for key in facts):
        return None
    try:
        n_heads = int(facts["attention.head_count"])
        n_kv_heads = int(facts.get("attention.head_count_kv", n_heads))
        head = int(facts["embedding_length"]) // n_heads
        keys = int(facts.get("attention.key_length", head))
        values = int(facts.get("attention.value_length", head))
        return int(facts["block_count"]) * n_kv_heads * (keys + values) * _F16_BYTES
    except (KeyError, ValueError):
        return None
