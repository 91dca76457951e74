"""Control vectors: read from GGUF files, and what they do to logits."""

from __future__ import annotations

import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
from numpy.typing import NDArray

from llamactypes.context import Context, ContextParams
from llamactypes.control_vector import read_control_vectors
from llamactypes.errors import ContextError, ModelLoadError
from llamactypes.gguf_tensors import read_vectors
from llamactypes.model import Model
from tests.objects.greedy import prefill

N_EMBD, N_LAYER = 64, 2
UP = np.linspace(-3, 3, N_EMBD, dtype=np.float32)


def write(path: Path, **tensors: NDArray[np.floating]) -> str:
    writer = gguf.GGUFWriter(path, "controlvector")
    writer.add_string("controlvector.model_hint", "llama")
    writer.add_array("some.list", ["a", "b"])
    writer.add_custom_alignment(64)
    for name, tensor in tensors.items():
        writer.add_tensor(name.replace("_", "."), tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return str(path)


def read(*files: tuple[str, float]) -> NDArray[np.float32]:
    return read_control_vectors(files, n_embd=N_EMBD, n_layer=N_LAYER)


def refusal(path: str) -> str:
    with pytest.raises(ModelLoadError) as caught:
        read((path, 1.0))
    return str(caught.value)


def test_directions_are_scaled_and_added_up(tmp_path: Path):
    one = write(tmp_path / "1.gguf", direction_1=UP)
    two = write(tmp_path / "2.gguf", direction_1=UP, direction_2=UP)
    rows = read((one, 2.0), (two, -0.5))
    assert rows.shape == (1, N_EMBD)
    np.testing.assert_allclose(rows[0], 1.5 * UP)


def test_vector_steers_the_model_until_it_is_zero(
    tmp_path: Path, tiny_model_path: Path
):
    rows = read((write(tmp_path / "v.gguf", direction_1=UP), 1.0))
    params = ContextParams(n_ctx=64, n_threads=1)

    def logits(context: Context) -> NDArray[np.float32]:
        context.memory.clear()
        prefill(context, [5, 6, 7])
        return context.logits(2).copy()

    with Model(tiny_model_path) as model, Context(model, params) as context:
        plain = logits(context)
        context.set_control_vector(rows)
        assert np.abs(logits(context) - plain).max() > 0.01
        context.set_control_vector(rows, (2, 2))
        np.testing.assert_array_equal(logits(context), plain)
        context.set_control_vector(np.zeros_like(rows))
        np.testing.assert_array_equal(logits(context), plain)
        with pytest.raises(ContextError, match=r"has shape \(1, 64\), not \(1, 3\)"):
            context.set_control_vector(np.zeros((1, 3), np.float32))


def test_files_that_are_no_control_vectors_are_refused(tmp_path: Path):
    short = write(tmp_path / "a.gguf", direction_1=UP[:8])
    assert "is for another model: direction.1 has 8 values, a layer 64" in refusal(
        short
    )
    zero = write(tmp_path / "b.gguf", direction_0=UP)
    assert "holds direction.0; expected direction.1" in refusal(zero)
    matrix = write(tmp_path / "c.gguf", direction_1=UP.reshape(8, 8))
    assert "direction.1 is no vector of float32" in refusal(matrix)
    half = write(tmp_path / "d.gguf", direction_1=UP.astype(np.float16))
    assert "direction.1 is no vector of float32" in refusal(half)
    assert "holds no directions" in refusal(write(tmp_path / "e.gguf"))


def test_damaged_files_are_refused_not_crashed_on(tmp_path: Path):
    path = tmp_path / "v.gguf"
    whole = Path(write(path, direction_1=UP)).read_bytes()
    for n_bytes in range(0, len(whole), 7):
        path.write_bytes(whole[:n_bytes])
        with pytest.raises(ModelLoadError, match="cannot be read as GGUF"):
            read_vectors(str(path))
    assert "No such file" in refusal(str(tmp_path / "none.gguf"))


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        (struct.pack("<IQQ", 9, 0, 0), "version 9 is not known"),
        (struct.pack("<IQQ", 3, 2**40, 0), "a count of"),
        (struct.pack("<IQQQ", 3, 0, 1, 2**40), "a text of"),
        (struct.pack("<IQQQI", 3, 0, 1, 0, 99), "metadata of type 99"),
        (struct.pack("<IQQQIIQ", 3, 0, 1, 0, 9, 9, 1), "an array of arrays"),
        (struct.pack("<IQQQI", 3, 1, 0, 0, 5), "has 5 dimensions"),
    ],
)
def test_senseless_headers_are_named(tmp_path: Path, tail: bytes, message: str):
    path = tmp_path / "v.gguf"
    path.write_bytes(b"GGUF" + tail)
    with pytest.raises(ModelLoadError, match=message):
        read_vectors(str(path))
