"""Which files of a repository are the model. Pure.

The rules are llama.cpp's (common/download.cpp, ``find_best_model``): a tag is looked
for in file names; without one Q4_K_M is preferred, then Q8_0, then whatever comes
first.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from llamactypes.errors import LlamaError
from llamactypes.split_names import SplitName

__all__ = ("HubError", "HubModel", "choose_files", "tags_among")

_REPO = re.compile(r"([\w.-]+/[\w.-]+)(?::([\w.-]+))?")
_TAG = re.compile(r"[-.]([A-Z0-9_]+)$", re.IGNORECASE)
_PREFERRED = ("Q4_K_M", "Q8_0")
_COMPANIONS = ("mmproj", "imatrix", "mtp-", "eagle3-", "dflash-", "dspark-")
"""Parts of the names of GGUF files that are no model of their own."""
_SHOWN = 12


class HubError(LlamaError):
    """A model cannot be had from the hub; the message says what to do."""


@dataclass(frozen=True, slots=True)
class HubModel:
    """What ``--hf-repo`` and ``--hf-file`` name."""

    repo: str
    """``user/model``."""
    tag: str = ""
    """Quantisation, such as ``Q4_K_M``; empty: the preferred one."""
    file: str = ""
    """Path inside the repository; wins over `tag`."""
    token: str | None = field(default=None, repr=False)
    """Access token; None: HF_TOKEN, or what ``hf auth login`` stored."""
    is_offline: bool = False

    @staticmethod
    def parse(text: str) -> HubModel:
        """Read ``user/model[:tag]``.

        Raises:
            ValueError: It is neither.
        """
        match = _REPO.fullmatch(text.strip())
        if match is None or ".." in match[1]:
            raise ValueError(text)
        return HubModel(match[1], match[2] or "")

    def __str__(self) -> str:
        """Return the name a person would use."""
        if self.file:
            return f"{self.repo}/{self.file}"
        return f"{self.repo}:{self.tag}" if self.tag else self.repo


def choose_files(names: Collection[str], model: HubModel) -> tuple[str, ...]:
    """Return the files of `model` among `names`, of a split one all parts in order.

    Raises:
        HubError: None fits, or a part is missing.
    """
    first = _named(names, model) if model.file else _best(sorted(names), model)
    if first is None:
        wanted = f" with {model.tag} in its name" if model.tag else ""
        raise HubError(f"{model.repo} has no GGUF model{wanted}{_there_are(names)}")
    split = SplitName.of(first)
    if split is None:
        return (first,)
    # Names are compared as they are spelled in the repository.
    missing = [part for part in split.parts if part not in names]
    if missing:
        raise HubError(
            f"{model.repo} lacks {missing[0]}: {len(missing)} of the {split.count} "
            "parts of the model are not there"
        )
    return split.parts


def tags_among(names: Collection[str]) -> tuple[str, ...]:
    """Return the tags of the models among `names`; a file without one is "".

    A tag is the last word of a name (common/download.cpp, ``get_gguf_split_info``).
    """
    models = [name for name in sorted(names) if _is_model(name)]
    splits = [(name, SplitName.of(name)) for name in models]
    stems = [split.prefix if split else name[: -len(".gguf")] for name, split in splits]
    found = [_TAG.search(stem) for stem in stems]
    return tuple(dict.fromkeys(tag[1].upper() if tag else "" for tag in found))


def _named(names: Collection[str], model: HubModel) -> str:
    """Return the file asked for by name, or the first part of it."""
    if model.file not in names:
        raise HubError(f"{model.repo} has no file {model.file}{_there_are(names)}")
    split = SplitName.of(model.file)
    return split.part(1) if split else model.file


def _best(names: Collection[str], model: HubModel) -> str | None:
    models = [name for name in names if _is_model(name)]
    for tag in (model.tag,) if model.tag else _PREFERRED:
        pattern = re.compile(re.escape(tag) + "[.-]", re.IGNORECASE)
        for name in models:
            if pattern.search(name):
                return name
    return models[0] if models and not model.tag else None


def _is_model(name: str) -> bool:
    """Whether a file is a model, and not a later part of one."""
    if not name.lower().endswith(".gguf"):
        return False
    if any(part in name.rpartition("/")[2] for part in _COMPANIONS):
        return False
    split = SplitName.of(name)
    return split is None or split.index == 1


def _there_are(names: Collection[str]) -> str:
    """Return a clause with the GGUF files there are."""
    found = sorted(name for name in names if name.lower().endswith(".gguf"))
    if not found:
        return "; it holds no GGUF file at all"
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"; there are {', '.join(found[:_SHOWN])}{more}"
