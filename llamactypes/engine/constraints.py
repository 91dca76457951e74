"""Compiling constraints for the model that is loaded. Any thread."""

from __future__ import annotations

import threading

from llamactypes.constraints.compiler import Compiler
from llamactypes.constraints.constraint import CompiledConstraint, Constraint
from llamactypes.vocab import Vocab

__all__ = ("Constraints",)


class Constraints:
    """The compiler of an engine, made when the first constraint comes.

    PERF: it reads the whole vocabulary, 0.3 s at 49k tokens, which most servers never
    need: the first constrained request pays, and whoever comes meanwhile waits for it.
    A model that is unloaded and loaded again has the same vocabulary.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._compiler: Compiler | None = None
        self._vocab: Vocab | None = None

    def compile(self, constraint: Constraint, vocab: Vocab) -> CompiledConstraint:
        """Compile for `vocab`, the model's as it is loaded now.

        Raises:
            ConstraintError: The constraint cannot be honoured.
            ConstraintUnavailable: None can.
        """
        self._vocab = vocab
        with self._lock:
            if self._compiler is None:
                self._compiler = Compiler(self._loaded_vocab)
        return self._compiler.compile(constraint)

    def _loaded_vocab(self) -> Vocab:
        assert self._vocab is not None
        return self._vocab
