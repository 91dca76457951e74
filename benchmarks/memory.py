"""What a server keeps in memory beside the model and the KV cache (Linux)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from llamactypes import LlamaError, Model, ModelParams

__all__ = ("kv_bytes", "kv_bytes_per_token", "parse_rollup", "read_metadata", "weigh")

_MIB = 1 << 20
_PAD = 256  # the library rounds each sequence's share of the context up to this
_ROLLUP = re.compile(r"^(Rss|Pss|Pss_Anon|Pss_File):\s+(\d+) kB$", re.MULTILINE)
_F16_BYTES = 2


def weigh(process_id: int, model_bytes: int, cache_bytes: int) -> dict[str, float]:
    """Return a process's memory in MiB, by name.

    ``beside_mib`` is all that is resident, shared pages counted in full, less the
    model's file and the KV cache. Weights that the library repacked for the CPU exist
    twice while the file stays mapped; the second copy counts here, for every server.

    Raises:
        OSError: There is no ``/proc``.
    """
    sizes = parse_rollup(Path(f"/proc/{process_id}/smaps_rollup").read_text())
    beside = sizes["Rss"] - model_bytes - cache_bytes
    return {
        "resident_mib": sizes["Rss"] / _MIB,
        "anonymous_mib": sizes["Pss_Anon"] / _MIB,
        "model_mib": model_bytes / _MIB,
        "kv_cache_mib": cache_bytes / _MIB,
        "beside_mib": beside / _MIB,
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


def read_metadata(model: Path) -> dict[str, str]:
    """Return a GGUF file's metadata; empty where no library can read it."""
    try:
        with Model(model, ModelParams(vocab_only=True)) as opened:
            return dict(opened.metadata)
    except LlamaError:
        return {}
