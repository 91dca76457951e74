"""Fixtures that every level of tests may use: model files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import models


@pytest.fixture(autouse=True)
def _own_cache_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every test, and what it starts, away from the user's cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache-home"))


@pytest.fixture(scope="session")
def tiny_model_path() -> Path:
    """A generated model with random weights; always available."""
    return models.tiny_model()


@pytest.fixture(scope="session")
def tiny_lora_path() -> Path:
    """A generated LoRA adapter for `tiny_model_path`."""
    return models.tiny_lora()


@pytest.fixture(scope="session")
def stories_model_path() -> Path:
    """stories260K: 1.2 MB, writes simple English."""
    path = models.stories_model()
    if path is None:
        pytest.skip(models.STORIES_REASON)
    return path


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """SmolLM2-135M-Instruct: a BPE vocabulary and a chat template."""
    path = models.smollm2()
    if path is None:
        pytest.skip(models.SMOLLM2_REASON)
    return path


@pytest.fixture(scope="session")
def bert_path() -> Path:
    """A generated encoder with random weights, whose embeddings are means."""
    return models.tiny_bert()


@pytest.fixture(scope="session")
def reranker_path() -> Path:
    """A generated encoder with random weights, which gives a pair a score."""
    return models.tiny_reranker()


@pytest.fixture(scope="session")
def infill_path() -> Path:
    """`tiny_model_path` with the tokens that /infill needs."""
    return models.tiny_infill()


@pytest.fixture(scope="session")
def scripted_path() -> Path:
    """A generated model that recites what the prompt's last byte asks for."""
    return models.scripted()
