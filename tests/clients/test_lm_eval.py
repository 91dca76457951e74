"""A real server and lm-eval, which scores a model by the logprobs of prompts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gguf
import pytest

from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.clients

TASK = """\
task: {name}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {data}
test_split: test
output_type: {kind}
doc_to_text: "{{{{question}}}}"
"""
CHOICES = """\
doc_to_choice: "{{choices}}"
doc_to_target: answer
metric_list:
  - metric: acc
"""
GENERATED = """\
doc_to_target: "{{gold}}"
generation_kwargs:
  until: ["\\n"]
  max_gen_toks: 8
  temperature: 0
metric_list:
  - metric: exact_match
"""
# What a teller of English stories prefers; the right answers stand at both places.
BEGUN = "Once upon a time, there was a little"
DOCS = [
    {"question": BEGUN, "choices": ["girl", "zqx"], "answer": 0},
    {"question": f"{BEGUN} girl. Her name", "choices": ["if", "was"], "answer": 1},
    {"question": "The cat was very", "choices": ["happy", "because"], "answer": 0},
    {"question": "They all lived", "choices": ["of", "happily"], "answer": 1},
]


def write_tokenizer(folder: Path, model: Path) -> None:
    """Write the tokenizer of stories260K's GGUF as Hugging Face's programs read it."""
    from tokenizers import Tokenizer, decoders, normalizers
    from tokenizers.models import BPE

    fields = gguf.GGUFReader(model).fields
    words = fields["tokenizer.ggml.tokens"].contents()
    vocabulary = {word: token for token, word in enumerate(words)}
    # Every way to put a piece together is a merge, those of better pieces first.
    merges = [
        (word[:cut], word[cut:])
        for word in words[259:]
        for cut in range(1, len(word))
        if word[:cut] in vocabulary and word[cut:] in vocabulary
    ]
    bpe = BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    tokenizer = Tokenizer(bpe)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    kind = {"tokenizer_class": "PreTrainedTokenizerFast"}
    marks = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(kind | marks))


def write_task(folder: Path, kind: str, docs: list[dict[str, Any]], rest: str) -> str:
    """Write a task of `docs`; return its name."""
    name = f"small_{kind}"
    data = folder / f"{name}.json"
    data.write_text("\n".join(json.dumps(doc) for doc in docs))
    task = TASK.format(name=name, data=data, kind=kind)
    (folder / f"{name}.yaml").write_text(task + rest)
    return name


def evaluate(folder: Path, server: ServerProcess, names: list[str]) -> dict[str, Any]:
    """Run the program as its users do; return its results by task."""
    url = f"{server.url}/v1/completions"
    tokenizer = f"tokenizer_backend=huggingface,tokenizer={folder}"
    command = [
        sys.executable, "-m", "lm_eval", "--model", "local-completions",
        "--model_args", f"model=any,base_url={url},num_concurrent=2,{tokenizer}",
        "--tasks", ",".join(names),
        "--include_path", str(folder), "--output_path", str(folder),
    ]  # fmt: skip
    caches = {name: str(folder / name) for name in ("HF_HOME", "HF_DATASETS_CACHE")}
    environment = {**os.environ, **caches, "HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "x"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=150
    )
    assert done.returncode == 0, done.stderr
    (written,) = folder.rglob("results_*.json")
    results: dict[str, Any] = json.loads(written.read_text())["results"]
    return results


def test_the_written_tokenizer_is_the_servers(
    tmp_path: Path, stories_server: ServerProcess, stories_model_path: Path
) -> None:
    from transformers import AutoTokenizer

    write_tokenizer(tmp_path, stories_model_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    for doc in DOCS:
        reply = stories_server.post("/tokenize", {"content": doc["question"]})
        assert tokenizer(doc["question"]).input_ids == reply.json()["tokens"]


def test_choices_are_scored_by_logprobs_and_generated_answers_compared(
    tmp_path: Path, stories_server: ServerProcess, stories_model_path: Path
) -> None:
    write_tokenizer(tmp_path, stories_model_path)
    body = {"prompt": BEGUN, "max_tokens": 8, "temperature": 0}
    reply = stories_server.post("/v1/completions", body).json()
    golds = [reply["choices"][0]["text"], "no such text"]
    to_write = [{"question": BEGUN, "gold": gold} for gold in golds]
    choose = write_task(tmp_path, "multiple_choice", DOCS, CHOICES)
    write = write_task(tmp_path, "generate_until", to_write, GENERATED)
    results = evaluate(tmp_path, stories_server, [choose, write])
    assert results[choose]["acc,none"] == 1
    assert results[write]["exact_match,none"] == 0.5
