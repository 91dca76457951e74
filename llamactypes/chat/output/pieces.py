"""What the parser makes of a model's text: plain values. Pure."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ("Arguments", "CallBegin", "Content", "Piece", "Reasoning")


class Content(NamedTuple):
    """More of the answer."""

    text: str


class Reasoning(NamedTuple):
    """More of the thinking."""

    text: str


class CallBegin(NamedTuple):
    """A tool call begins."""

    call: int
    """From 0; all its arguments come before the next call begins."""
    id: str
    """The model's own id, or empty: whoever writes the reply makes one."""
    name: str


class Arguments(NamedTuple):
    """More of the JSON text of a call's arguments."""

    call: int
    text: str


Piece = Content | Reasoning | CallBegin | Arguments
