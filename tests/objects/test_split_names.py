"""Models in several files: their names, and what is said when a part is lacking."""

from __future__ import annotations

from pathlib import Path

import pytest

from llamactypes.errors import ModelLoadError
from llamactypes.model import Model
from llamactypes.split_names import SplitName, why_split_fails
from tests.support.tiny_gguf import write_model


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    write_model(tmp_path / "tiny.gguf", split_max_tensors=10)
    return sorted(tmp_path.glob("tiny-*-of-*.gguf"))


def load(path: Path) -> str:
    """Return why a model cannot be loaded."""
    with pytest.raises(ModelLoadError) as caught:
        Model(path)
    return str(caught.value)


def test_name_of_a_part_leads_to_all_parts():
    name = SplitName.of("a/m-00002-of-00003.gguf")
    assert name == SplitName("a/m", 2, 3)
    assert name.parts[0] == "a/m-00001-of-00003.gguf"
    assert name.parts[2] == "a/m-00003-of-00003.gguf"


@pytest.mark.parametrize(
    "path", ["m.gguf", "m-00001-of-00001.gguf", "m-1-of-2.gguf", "-00001-of-00002.bin"]
)
def test_other_names_are_no_parts(path: str):
    assert SplitName.of(path) is None
    assert why_split_fails(path) is None


def test_later_part_is_refused_with_the_name_of_the_first(parts: list[Path]):
    assert f"it is part 2 of 3; name the first one: {parts[0]}" in load(parts[1])


def test_lacking_part_is_named(parts: list[Path]):
    parts[2].unlink()
    assert f"1 of its 3 parts are missing, the first: {parts[2]}" in load(parts[0])


def test_single_file_with_a_name_of_a_part_is_loaded(tmp_path: Path):
    path = tmp_path / "tiny-00001-of-00002.gguf"
    write_model(path)
    with Model(path) as model:
        assert model.path == str(path)
