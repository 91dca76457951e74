"""What a file of the corpus holds: a family's format, and outputs of its models.

A new family is a file here with a `CORPUS`. The tests find it by themselves: they read
each output whole, in every two parts, in single characters and in random parts.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass

import tests.chat.corpus
from llamactypes.chat.output.format import ChatFormat
from tests.chat.corpus.calls import Call

_NO_FAMILIES = {"calls", "corpus"}


@dataclass(frozen=True)
class Output:
    """One text of a model, and what it says."""

    name: str
    text: str
    reasoning: str = ""
    content: str = ""
    calls: tuple[Call, ...] = ()
    ids: tuple[str, ...] = ()
    in_reasoning: bool = False
    """The prompt ended in the thinking."""
    only_whole: bool = False
    """Read like this only where nothing constrains the model: calls that are shown as
    they come are read as the grammar has them."""


@dataclass(frozen=True)
class Corpus:
    """One family."""

    templates: tuple[str, ...]
    """Names in llama.cpp's collection; the format is learned from each."""
    format: ChatFormat
    outputs: tuple[Output, ...]


def families() -> Iterator[tuple[str, Corpus]]:
    """Every file's name and corpus."""
    for module in pkgutil.iter_modules(tests.chat.corpus.__path__):
        if module.name not in _NO_FAMILIES:
            loaded = importlib.import_module(f"tests.chat.corpus.{module.name}")
            yield module.name, loaded.CORPUS
