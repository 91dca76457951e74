"""From a chat template to the format that its model writes. Pure."""

from __future__ import annotations

from dataclasses import replace

from llamactypes.chat.learning.families import adapted
from llamactypes.chat.learning.probes import Probes
from llamactypes.chat.learning.reasoning import learn_content, learn_reasoning
from llamactypes.chat.learning.tool_syntax import learn_tools
from llamactypes.chat.output.format import ChatFormat
from llamactypes.chat.templates.template import ChatTemplate

__all__ = ("learn_format",)


def learn_format(template: ChatTemplate) -> ChatFormat:
    """Return how the model of `template` writes thinking, answers and tool calls.

    Two dozen renderings: learn a template once and keep the format. Never raises: what
    a template does not show is None.
    """
    probes = Probes(template)
    reasoning = learn_reasoning(probes)
    content = learn_content(probes, reasoning)
    learned = ChatFormat(reasoning, content, name="learned")
    learned = replace(learned, tools=learn_tools(probes, learned))
    if (learned.reasoning, learned.content, learned.tools) == (None, None, None):
        learned = ChatFormat()
    return adapted(learned, template.source)
