from __future__ import annotations

from pathlib import Path

import pytest

from llamactypes import Model, ModelLoadCancelled, ModelLoadError, ModelParams
from tests.support import tiny_gguf


def test_facts_are_those_of_the_file(model: Model) -> None:
    assert model.n_embd == tiny_gguf.N_EMBD
    assert model.n_layer == tiny_gguf.N_LAYER
    assert (model.n_head, model.n_head_kv) == (tiny_gguf.N_HEAD, tiny_gguf.N_HEAD_KV)
    assert model.n_ctx_train == tiny_gguf.N_CTX_TRAIN
    assert (model.has_decoder, model.has_encoder) == (True, False)
    assert not model.is_recurrent
    assert not model.is_hybrid
    assert not model.is_diffusion
    assert model.n_params * 4 == model.size_bytes
    assert model.description.startswith("llama")
    assert model.ftype == "all F32"
    assert model.rope_type == "norm"


def test_metadata_has_scalars_and_not_the_token_list(model: Model) -> None:
    assert model.metadata["general.architecture"] == "llama"
    assert model.metadata["llama.context_length"] == str(tiny_gguf.N_CTX_TRAIN)
    assert "tokenizer.ggml.tokens" not in model.metadata


def test_metadata_longer_than_the_first_buffer_is_whole(
    tmp_path: Path,
) -> None:
    template = "{# " + "long " * 5000 + "#}"
    tiny_gguf.write_model(tmp_path / "long.gguf", template=template)
    with Model(tmp_path / "long.gguf", ModelParams(vocab_only=True)) as model:
        assert model.chat_template() == template
        assert model.metadata["tokenizer.chat_template"] == template


def test_chat_template_is_none_for_a_name_the_file_lacks(model: Model) -> None:
    assert model.chat_template() == tiny_gguf.TEMPLATE
    assert model.chat_template("tool_use") is None


def test_progress_runs_from_zero_to_one(tiny_model_path: Path) -> None:
    seen: list[float] = []
    Model(tiny_model_path, progress=seen.append).close()
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_progress_that_returns_false_cancels(tiny_model_path: Path) -> None:
    with pytest.raises(ModelLoadCancelled, match="cancelled"):
        Model(tiny_model_path, progress=lambda done: False)


def test_progress_that_raises_stops_loading_with_that_error(
    tiny_model_path: Path,
) -> None:
    def fail(done: float) -> bool:
        raise KeyError("from the callback")

    with pytest.raises(KeyError, match="from the callback"):
        Model(tiny_model_path, progress=fail)


def test_loading_says_what_is_wrong_with_the_path(tmp_path: Path) -> None:
    (tmp_path / "text.gguf").write_text("not a model")
    (tmp_path / "empty.gguf").touch()
    for path, words in (
        (tmp_path / "absent.gguf", "does not exist"),
        (tmp_path, "is a folder"),
        (tmp_path / "text.gguf", "is not a GGUF file"),
        (tmp_path / "empty.gguf", "is empty; download"),
        ("nul\0byte", "cannot be read"),
    ):
        with pytest.raises(ModelLoadError, match=words):
            Model(path)


def test_a_split_model_loads_from_its_first_file(model: Model, tmp_path: Path) -> None:
    tiny_gguf.write_model(tmp_path / "parts.gguf", split_max_tensors=8)
    parts = sorted(tmp_path.glob("parts-*.gguf"))
    assert len(parts) > 1
    with Model(parts[0]) as whole:
        assert whole.n_params == model.n_params
    parts[-1].unlink()
    with pytest.raises(ModelLoadError, match="cannot be loaded: "):
        Model(parts[0])


@pytest.mark.parametrize("keep", [4, 8, 24, 100, 3000, 20_000, 0.5, 0.999])
def test_a_truncated_file_is_an_error_with_the_library_s_reason(
    tiny_model_path: Path, tmp_path: Path, keep: float
) -> None:
    data = tiny_model_path.read_bytes()
    n_bytes = int(keep if keep > 1 else keep * len(data))
    (tmp_path / "short.gguf").write_bytes(data[:n_bytes])
    with pytest.raises(ModelLoadError, match=r"cannot be loaded: .*complete"):
        Model(tmp_path / "short.gguf")


def test_an_unknown_architecture_is_named(
    tiny_model_path: Path, tmp_path: Path
) -> None:
    data = tiny_model_path.read_bytes().replace(b"llama", b"lambd", 1)
    (tmp_path / "other.gguf").write_bytes(data)
    with pytest.raises(ModelLoadError, match="lambd"):
        Model(tmp_path / "other.gguf")


def test_unknown_parameters_are_refused_with_what_is_known(
    tiny_model_path: Path,
) -> None:
    with pytest.raises(ModelLoadError, match=r"there are .*CPU"):
        Model(tiny_model_path, ModelParams(devices=("GPU9",)))
    with pytest.raises(ModelLoadError, match="layer"):
        Model(tiny_model_path, ModelParams(split_mode="diagonal"))
    with pytest.raises(ModelLoadError, match="tensor_split names"):
        Model(tiny_model_path, ModelParams(tensor_split=(0.1,) * 1000))


@pytest.mark.parametrize(
    "params",
    [
        ModelParams(use_mmap=False),
        ModelParams(check_tensors=True, n_gpu_layers=0),
        ModelParams(devices=("none",), split_mode="none"),
        ModelParams(tensor_split=(1.0,), main_gpu=0),
    ],
)
def test_every_parameter_reaches_the_library(
    tiny_model_path: Path, params: ModelParams
) -> None:
    with Model(tiny_model_path, params) as model:
        assert model.n_params > 0


def test_vocab_only_loads_no_weights_but_tokenizes(tiny_model_path: Path) -> None:
    with Model(tiny_model_path, ModelParams(vocab_only=True)) as model:
        assert model.vocab.detokenize(model.vocab.tokenize("the day")).strip()
        assert (model.n_head, model.n_head_kv) == (0, 0)
