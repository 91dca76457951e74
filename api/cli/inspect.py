"""``llamactypes info`` and ``doctor``: what a file holds, what the installation is."""

from __future__ import annotations

from collections.abc import Sequence

from api.serving.banner import count_text, size_text
from api.serving.bootstrap import check_extras
from api.serving.console import Console
from api.serving.model_source import local_path
from api.settings import Settings
from api.settings.flags import SettingsError
from api.settings.help_text import flag_help
from llamactypes import runtime
from llamactypes.diagnostics import as_text, diagnose
from llamactypes.model import Model, ModelParams

__all__ = ("doctor_command", "info_command")

_INFO_USAGE = """\
usage: llamactypes info FILE | -m FILE | -hf REPO | --demo [flags]

Show what a GGUF file holds: architecture, size, vocabulary, context, metadata. The
weights are not loaded. Variables are read when the flag is not given.

"""
_DOCTOR_USAGE = """\
usage: llamactypes doctor [--library PATH]

Show every native library that was looked at with why it was taken or refused, the
devices, the threads and the versions.
"""
_VALUE_WIDTH = 100
_FILE_TYPES = {
    "0": "F32",
    "1": "F16",
    "2": "Q4_0",
    "3": "Q4_1",
    "7": "Q8_0",
    "8": "Q5_0",
    "9": "Q5_1",
    "10": "Q2_K",
    "11": "Q3_K_S",
    "12": "Q3_K_M",
    "13": "Q3_K_L",
    "14": "Q4_K_S",
    "15": "Q4_K_M",
    "16": "Q5_K_S",
    "17": "Q5_K_M",
    "18": "Q6_K",
    "32": "BF16",
}
"""The common values of llama.h's ``enum llama_ftype``."""


def info_command(words: Sequence[str], console: Console) -> int:
    """Print the facts of one file.

    Raises:
        SettingsError: No file was named, or something else was.
        LlamaError: The file is not a model, or there is no library to read it with.
    """
    settings = Settings.from_arguments(_with_flag(words), command="info")
    if settings.help:
        console.write(_INFO_USAGE)
        console.say(flag_help("info"))
        return 0
    for notice in settings.notices:
        console.complain(f"note: {notice}")
    if settings.hub_model is None and not settings.engine.model_path:
        raise SettingsError("info takes one GGUF file: llamactypes info FILE")
    check_extras(settings)
    path = local_path(settings)
    runtime.start_backend(settings.engine.library)
    try:
        with Model(path, ModelParams(vocab_only=True)) as model:
            for line in _facts(model):
                console.say(line)
    finally:
        runtime.free_backend()
    return 0


def _with_flag(words: Sequence[str]) -> list[str]:
    """Return the words with -m in front of a file that comes first."""
    is_file = bool(words) and not words[0].startswith("-")
    return ["-m", *words] if is_file else list(words)


def _facts(model: Model) -> list[str]:
    """Return the lines to print; hyperparameters come from the metadata.

    A model opened for its vocabulary has no others.
    """
    vocab, metadata = model.vocab, model.metadata
    architecture = metadata.get("general.architecture", "unknown")

    def fact(name: str) -> str:
        return metadata.get(f"{architecture}.{name}", "?")

    file_type = metadata.get("general.file_type", "?")
    rows = {
        "file": str(model.path),
        "model": f"{metadata.get('general.name', 'unnamed')} ({architecture})",
        "size": f"{size_text(model.size_bytes)}, {count_text(model.n_params)} "
        f"parameters, {_FILE_TYPES.get(file_type, f'file type {file_type}')}",
        "trained context": f"{fact('context_length')} tokens",
        "layers": f"{fact('block_count')}, embedding {fact('embedding_length')}, "
        f"heads {fact('attention.head_count')} (KV {fact('attention.head_count_kv')})",
        "vocabulary": f"{vocab.n_tokens} tokens, {vocab.kind}, bos {vocab.bos}, "
        f"eos {vocab.eos}, eot {vocab.eot}",
        "chat template": "yes" if model.chat_template() else "no (ChatML is used)",
    }
    width = max(map(len, rows))
    lines = [f"{name:{width}}  {value}" for name, value in rows.items()]
    lines += ["", f"metadata ({len(metadata)} keys)"]
    lines += [f"  {key} = {_shortened(metadata[key])}" for key in sorted(metadata)]
    return lines


def _shortened(value: str) -> str:
    line = value.replace("\n", "\\n")
    return line if len(line) <= _VALUE_WIDTH else line[: _VALUE_WIDTH - 1] + "…"


def doctor_command(words: Sequence[str], console: Console) -> int:
    """Print the state of the installation; status 1 when no library is usable.

    Raises:
        SettingsError: Something other than --library was given.
    """
    if _asks_help(words):
        console.write(_DOCTOR_USAGE)
        return 0
    rest, library = _take_library(words)
    if rest:
        raise SettingsError(f"doctor takes --library PATH only, not {rest[0]!r}")
    found = diagnose(library)
    console.say(as_text(found))
    runtime.free_backend()
    return 0 if found.is_usable else 1


def _asks_help(words: Sequence[str]) -> bool:
    return any(word in ("-h", "--help") for word in words)


def _take_library(words: Sequence[str]) -> tuple[list[str], str | None]:
    """Return the words without ``--library PATH``, and the path."""
    rest = list(words)
    if "--library" not in rest:
        return rest, None
    at = rest.index("--library")
    if at + 1 >= len(rest):
        raise SettingsError("--library needs a value: a file or a folder")
    library = rest[at + 1]
    del rest[at : at + 2]
    return rest, library
