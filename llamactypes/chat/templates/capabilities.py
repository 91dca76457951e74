"""What a chat template understands, found by rendering small conversations.

A template says nowhere whether it knows tools, a system role or lists of content
parts. Each probe renders a conversation with unmistakable words in one place and looks
for them in the prompt. The keys are those of llama-server's ``chat_template_caps``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from llamactypes.chat.templates.template import ChatTemplate
from llamactypes.errors import TemplateError

__all__ = ("Capabilities", "template_capabilities")

Message = dict[str, Any]

_TEXT = "Probetext"
_SYSTEM = "Probesystem"
_TOOL = "probe_tool"
_CALLS = ("probe_first_call", "probe_second_call")
_ARGUMENT = "probe_argument"
_VALUE = "probevalue"
_THOUGHT = "Probethought"

_KEEP_REASONING = {
    "enable_thinking": True,
    "preserve_thinking": True,
    "clear_thinking": False,
    "truncate_history_thinking": False,
    "drop_thinking": False,
}
# A Python dictionary printed as it is: the template expected a text of JSON there.
_PYTHON_DICT = re.compile(rf"'{_ARGUMENT}'\s*:\s*'{_VALUE}'")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What one template understands; the defaults are those of a plain template."""

    supports_string_content: bool = True
    """Content as a string."""
    supports_typed_content: bool = False
    """Content as a list of ``{"type": "text", "text": …}`` parts."""
    supports_tools: bool = False
    """Tool definitions are described in the prompt."""
    supports_tool_calls: bool = False
    """Earlier tool calls of the assistant are written into the prompt."""
    supports_parallel_tool_calls: bool = False
    """Several tool calls in one assistant message."""
    supports_system_role: bool = True
    """A system message."""
    supports_preserve_reasoning: bool = False
    """Reasoning of earlier turns can be kept."""
    supports_reasoning_effort: bool = False
    """``reasoning_effort`` changes the prompt."""
    supports_object_arguments: bool = False
    """Arguments of tool calls as objects (else as a text of JSON)."""

    def as_dict(self) -> dict[str, bool]:
        """Return the capabilities under llama-server's names."""
        return asdict(self)


def template_capabilities(template: ChatTemplate) -> dict[str, bool]:
    """Return `template`'s capabilities under llama-server's names.

    Pure, about a dozen renderings: compute it once per template and keep it.
    """
    return probe(template).as_dict()


def probe(template: ChatTemplate) -> Capabilities:
    """Return `template`'s capabilities."""
    is_string, is_typed = _content_forms(template)
    # Later probes must speak the form that the template knows.
    prober = _Prober(template, typed=is_typed and not is_string)
    takes_objects = prober.takes_object_arguments()
    one_call = prober.tool_prompt(n_calls=1, objects=takes_objects)
    two_calls = prober.tool_prompt(n_calls=2, objects=takes_objects)
    return Capabilities(
        supports_string_content=is_string,
        supports_typed_content=is_typed,
        supports_tools=_TOOL in one_call,
        supports_tool_calls=_CALLS[0] in one_call,
        supports_parallel_tool_calls=all(name in two_calls for name in _CALLS),
        supports_system_role=_SYSTEM in prober.prompt(_system_conversation()),
        supports_preserve_reasoning=prober.keeps_reasoning(),
        supports_reasoning_effort=prober.reads_reasoning_effort(),
        supports_object_arguments=takes_objects,
    )


def _content_forms(template: ChatTemplate) -> tuple[bool, bool]:
    plain = _Prober(template, typed=False).prompt([_user()])
    typed = _Prober(template, typed=True).prompt([_user()])
    # A list that was printed as Python prints it was not understood.
    printed = re.search(r"'text'\s*:\s*'" + _TEXT, typed) or '"text"' in typed
    return _TEXT in plain, _TEXT in typed and not printed


class _Prober:
    def __init__(self, template: ChatTemplate, *, typed: bool) -> None:
        self._template = template
        self._typed = typed

    def prompt(
        self,
        messages: list[Message],
        tools: list[Message] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> str:
        # Some templates want a reasoning field on every assistant turn: try again so.
        for attempt in (messages, [_with_reasoning(each) for each in messages]):
            if self._typed:
                attempt = [_with_parts(each) for each in attempt]
            try:
                return self._template.render(attempt, tools=tools, extra=extra)
            except TemplateError:
                continue
        return ""

    def tool_prompt(self, *, n_calls: int, objects: bool) -> str:
        return self.prompt(_tool_conversation(n_calls, objects), [_tool()])

    def takes_object_arguments(self) -> bool:
        text = self.tool_prompt(n_calls=1, objects=True)
        return _VALUE in text and not _PYTHON_DICT.search(text)

    def keeps_reasoning(self) -> bool:
        text = self.prompt(_reasoning_conversation(), extra=_KEEP_REASONING)
        return _THOUGHT in text

    def reads_reasoning_effort(self) -> bool:
        prompts = {
            self.prompt(
                [_user()],
                extra={
                    "enable_thinking": True,
                    "reasoning_effort": effort,
                    "reasoning_strength": effort,
                },
            )
            for effort in ("none", "low", "high", "max")
        }
        return len(prompts) > 1


# -- conversations -----------------------------------------------------------------


def _user(text: str = _TEXT) -> Message:
    return {"role": "user", "content": text}


def _assistant(text: str, **more: Any) -> Message:
    return {"role": "assistant", "content": text, **more}


def _system_conversation() -> list[Message]:
    return [{"role": "system", "content": _SYSTEM}, _user()]


def _reasoning_conversation() -> list[Message]:
    return [
        _user(),
        _assistant("Answer", reasoning_content=_THOUGHT),
        _user(),
        _assistant("Answer", reasoning_content="Other thought"),
        _user(),
    ]


def _tool_conversation(n_calls: int, objects: bool) -> list[Message]:
    arguments: Any = (
        {_ARGUMENT: _VALUE} if objects else f'{{"{_ARGUMENT}": "{_VALUE}"}}'
    )
    calls = [
        {
            "id": f"call0000{index}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for index, name in enumerate(_CALLS[:n_calls], start=1)
    ]
    reply = {"role": "tool", "content": "Result", "tool_call_id": "call00001"}
    return [
        _user(),
        _assistant("", tool_calls=calls),
        {**reply, "name": _CALLS[0]},
        _assistant("Answer"),
        _user(),
    ]


def _tool() -> Message:
    parameters = {
        "type": "object",
        "properties": {_ARGUMENT: {"type": "string", "description": "An argument"}},
        "required": [_ARGUMENT],
    }
    return {
        "type": "function",
        "function": {
            "name": _TOOL,
            "description": "A tool",
            "parameters": parameters,
        },
    }


def _with_reasoning(message: Message) -> Message:
    if message["role"] != "assistant":
        return message
    return {"reasoning_content": "", **message}


def _with_parts(message: Message) -> Message:
    return {**message, "content": [{"type": "text", "text": message["content"]}]}
