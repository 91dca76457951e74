"""Learns from a chat template how its model writes: templates in, formats out."""

from __future__ import annotations

from llamactypes.chat.learning.learn import learn_format
from llamactypes.chat.learning.prompts import in_reasoning

__all__ = ("in_reasoning", "learn_format")
