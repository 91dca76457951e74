"""A constraint on the text of one generation, and the seam to what checks it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ("CompiledConstraint", "Constraint", "Matcher")


@dataclass(frozen=True, slots=True)
class Constraint:
    """What the whole output must match, from its first token on."""

    grammar: str
    """Lark in llguidance's dialect, with the rule ``start``; control tokens as
    ``<[id]>``."""
    parameter: str = ""
    """The request's parameter that asked for it, for messages."""


class Matcher(Protocol):
    """Where one generation is in its grammar. One thread at a time."""

    def allows(self, token: int) -> bool:
        """Whether `token` may come next; a token that ends the text, too."""

    def consume(self, token: int) -> None:
        """Go on behind `token`, which must be allowed.

        Raises:
            ConstraintError: The grammar has become too complex to follow.
        """

    def mask(self) -> bytes:
        """Return a bit for each token, the lowest first: set when it may come next.

        Raises:
            ConstraintError: The grammar has become too complex to follow.
        """

    def forced(self, last: int) -> Sequence[int]:
        """Return tokens that must come next, whatever comes behind them.

        Empty when there is a choice. Text has the tokens that tokenizing it gives, as
        far as what follows cannot change them. Never a token that ends the text.

        Args:
            last: The token that was consumed last.
        """

    @property
    def is_finished(self) -> bool:
        """Whether nothing but the end may come."""


class CompiledConstraint(Protocol):
    """A grammar that is known to be right. Any thread."""

    def matcher(self) -> Matcher:
        """Return a matcher at the beginning of the text."""

    def behind(self, text: str) -> CompiledConstraint:
        """Return what the rest of an output that begins with `text` must match.

        Raises:
            ConstraintError: No output begins so.
        """
