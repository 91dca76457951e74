"""The error of a form that is right, but of which nothing can be written. Pure."""

from __future__ import annotations

from llamactypes.errors import ConstraintError

__all__ = ("Unmatched", "Unwritable")


class Unwritable(ConstraintError):  # noqa: N818 - what a form is
    """Nothing matches the form, or what matches cannot be told exactly.

    Where it is one of several possibilities, the others can still be written.
    """


class Unmatched(Unwritable):
    """Nothing matches the form at all."""
