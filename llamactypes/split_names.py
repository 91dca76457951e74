"""Names of split GGUF files: ``model-00001-of-00003.gguf``. Pure.

The library finds the other parts by these names (llama.cpp, ``llama_split_path``), so a
part that was renamed or left behind makes the whole model unusable.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

__all__ = ("SplitName", "why_split_fails")

_PATTERN = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class SplitName:
    """The name of one part of a split model."""

    prefix: str
    """Everything before the numbers, folders included."""
    index: int
    """From 1."""
    count: int

    @staticmethod
    def of(path: str) -> SplitName | None:
        """Read a path; None: it does not look like a part of several."""
        match = _PATTERN.fullmatch(path)
        if match is None or int(match[3]) < 2:
            return None
        return SplitName(match[1], int(match[2]), int(match[3]))

    def part(self, index: int) -> str:
        """Return the path of part `index`."""
        return f"{self.prefix}-{index:05d}-of-{self.count:05d}.gguf"

    @property
    def parts(self) -> tuple[str, ...]:
        """The paths of all parts, the first one first."""
        return tuple(self.part(index) for index in range(1, self.count + 1))


def why_split_fails(path: str) -> str | None:
    """Return what is wrong with the parts of a model that could not be loaded.

    None: `path` is not a part of several, or is the first of a complete set.
    """
    name = SplitName.of(path)
    if name is None:
        return None
    if name.index != 1:
        return (
            f"it is part {name.index} of {name.count}; "
            f"name the first one: {name.part(1)}"
        )
    missing = [part for part in name.parts if not os.path.isfile(part)]
    if not missing:
        return None
    return (
        f"{len(missing)} of its {name.count} parts are missing, the first: {missing[0]}"
    )
