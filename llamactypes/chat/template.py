"""Where `ChatTemplate` used to be; import it from `llamactypes.chat`."""

from __future__ import annotations

from llamactypes.chat.templates.template import CHATML, ChatTemplate

__all__ = ("CHATML", "ChatTemplate")
