"""Chat templates and chat messages: pure text in, pure text out.

``template`` renders a model's own Jinja2 template in a sandbox, ``capabilities`` finds
out what a template understands, ``messages`` brings OpenAI messages into the shape
that a template understands.
"""

from __future__ import annotations

from llamactypes.chat.templates.capabilities import Capabilities, template_capabilities
from llamactypes.chat.templates.messages import MessageError, normalise_messages
from llamactypes.chat.templates.template import CHATML, ChatTemplate

__all__ = (
    "CHATML",
    "Capabilities",
    "ChatTemplate",
    "MessageError",
    "normalise_messages",
    "template_capabilities",
)
