"""Small conversations with unmistakable words, rendered to be compared. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from llamactypes.chat.templates.capabilities import probe
from llamactypes.chat.templates.messages import normalise_messages
from llamactypes.chat.templates.template import ChatTemplate
from llamactypes.errors import TemplateError

__all__ = ("ANSWER", "CALLS", "THOUGHT", "Call", "Probes")

Message = dict[str, Any]

QUESTION = "Sentinelquestion"
ANSWER = "Sentinelanswer"
THOUGHT = "Sentinelthought"

_LONGEST_TURN = 20_000
"""Characters: a template that writes more about a few words shows nothing."""

_KEEP_REASONING = {
    "preserve_thinking": True,
    "clear_thinking": False,
    "truncate_history_thinking": False,
    "drop_thinking": False,
}


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that cannot be taken for anything else in a prompt."""

    name: str
    id: str
    arguments: Mapping[str, Any]

    def message(self) -> Message:
        """Return the call as OpenAI's messages have it."""
        arguments = json.dumps(self.arguments, ensure_ascii=False)
        function = {"name": self.name, "arguments": arguments}
        return {"id": self.id, "type": "function", "function": function}

    def tool(self) -> Message:
        """Return the definition of the tool that is called."""
        properties = {
            key: {"type": _type(value), "description": "An argument"}
            for key, value in self.arguments.items()
        }
        parameters = {
            "type": "object",
            "properties": properties,
            "required": list(properties),
        }
        function = {"name": self.name, "description": "A tool"}
        return {"type": "function", "function": {**function, "parameters": parameters}}


CALLS = (
    Call(
        "sentinel_alpha",
        # Nine letters and digits: what the strictest templates (Mistral) want.
        "sentId001",
        {"sentinelkeyone": "sentinelvalone", "sentinelkeytwo": "sentinelvaltwo"},
    ),
    Call(
        "sentinel_beta",
        "sentId002",
        {"sentinelkeythree": "sentinelvalthree", "sentinelkeyfour": "sentinelvalfour"},
    ),
)


class Probes:
    """Renders one template; what it refuses to render is an empty text."""

    def __init__(self, template: ChatTemplate) -> None:
        self._template = template
        self._capabilities = probe(template)

    @property
    def source(self) -> str:
        """The template's text."""
        return self._template.source

    @property
    def eos_token(self) -> str:
        """The model's end of sequence, as the template knows it."""
        return self._template.eos_token

    def calls(self, calls: Sequence[Call]) -> str:
        """Return the assistant's turn that makes `calls`."""
        turn = {**_assistant(""), "tool_calls": [call.message() for call in calls]}
        tools = [call.tool() for call in calls]
        return self._turn(turn, tools)

    @cached_property
    def answer(self) -> str:
        """The assistant's turn that answers with `ANSWER`."""
        return self._turn(_assistant(ANSWER), None)

    @cached_property
    def answer_with_tools(self) -> str:
        """The same in a conversation that has tools."""
        return self._turn(_assistant(ANSWER), [CALLS[0].tool()])

    @cached_property
    def thought(self) -> str:
        """The turn that thinks `THOUGHT` and then answers."""
        return self._turn({**_assistant(ANSWER), "reasoning_content": THOUGHT}, None)

    @cached_property
    def generation_prompts(self) -> tuple[str, ...]:
        """What stands behind the question when the model is to write.

        Without a word about thinking, with thinking, and without.
        """
        settings: list[dict[str, Any]] = [
            {},
            {"enable_thinking": True, "thinking": True},
            {"enable_thinking": False, "thinking": False},
        ]
        return tuple(self._after_question([], None, extra) for extra in settings)

    def _turn(self, turn: Message, tools: list[Message] | None) -> str:
        # Some templates want reasoning on every assistant turn, others its absence.
        extra = {"enable_thinking": True, **_KEEP_REASONING}
        return self._after_question([turn], tools, extra) or self._after_question(
            [{"reasoning_content": "", **turn}], tools, extra
        )

    def _after_question(
        self, turns: list[Message], tools: list[Message] | None, extra: Message
    ) -> str:
        messages = [{"role": "user", "content": QUESTION}, *turns]
        # One family of templates wants its tools as a text of its own name.
        more = {"functions": json.dumps(tools or [])}
        try:
            prompt = self._template.render(
                normalise_messages(messages, self._capabilities),
                tools=tools,
                add_generation_prompt=not turns,
                extra={**more, **extra},
            )
        except TemplateError:
            return ""
        _, asked, turn = prompt.rpartition(QUESTION)
        return turn if asked and len(turn) <= _LONGEST_TURN else ""


def _assistant(content: str) -> Message:
    return {"role": "assistant", "content": content}


def _type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "integer", dict: "object", list: "array"}
    return names.get(type(value), "null")
