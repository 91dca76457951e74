"""From the items of a response to the messages of a chat. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from api.protocol.responses.items import Item

__all__ = ("chat_messages", "shortened")

Message = dict[str, Any]


def chat_messages(items: Iterable[Item], instructions: str | None) -> list[Message]:
    """Return the messages that a chat template gets.

    As llama-server does it: instructions come first, as a system message; what the
    assistant said, called and thought in a row is one message.
    """
    messages: list[Message] = []
    if instructions is not None:
        messages.append({"role": "system", "content": instructions})
    for item in items:
        _ADDERS[item["type"]](messages, item)
    for message in messages:
        _simplify(message)
    return messages


def shortened(messages: Sequence[Message]) -> list[list[Message]]:
    """Return `messages` without ever more of the oldest, all the way to the last turn.

    System messages at the beginning stay. A cut is made before a message of the user:
    a tool's output without its call, or an answer without its question, would confuse
    a model and some templates. The first entry is the whole.
    """
    n_head = 0
    while n_head < len(messages) and messages[n_head]["role"] in _SYSTEM:
        n_head += 1
    head = list(messages[:n_head])
    cuts = [
        index
        for index in range(n_head + 1, len(messages))
        if messages[index]["role"] == "user"
    ]
    return [list(messages), *([*head, *messages[cut:]] for cut in cuts)]


_SYSTEM = ("system", "developer")


def _add_message(messages: list[Message], item: Item) -> None:
    parts = [_chat_part(part) for part in item["content"]]
    if item["role"] == "assistant":
        _assistant(messages)["content"] += parts
    else:
        messages.append({"role": item["role"], "content": parts})


def _chat_part(part: Item) -> Message:
    if part["type"] == "refusal":
        return {"type": "refusal", "refusal": part["refusal"]}
    return {"type": "text", "text": part["text"]}


def _add_call(messages: list[Message], item: Item) -> None:
    function = {"name": item["name"], "arguments": item["arguments"]}
    call = {"id": item["call_id"], "type": "function", "function": function}
    _assistant(messages).setdefault("tool_calls", []).append(call)


def _add_call_output(messages: list[Message], item: Item) -> None:
    output = item["output"]
    if isinstance(output, list):
        output = [_chat_part(part) for part in output]
    message = {"role": "tool", "tool_call_id": item["call_id"], "content": output}
    messages.append(message)


def _add_reasoning(messages: list[Message], item: Item) -> None:
    text = "\n".join(part["text"] for part in item["content"])
    if text:
        message = _assistant(messages)
        before = message.get("reasoning_content")
        message["reasoning_content"] = f"{before}\n{text}" if before else text


def _assistant(messages: list[Message]) -> Message:
    """Return the assistant's message that goes on, or a new one."""
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": []})
    return messages[-1]


def _simplify(message: Message) -> None:
    """Write one text as a string: every template reads that."""
    content = message["content"]
    if content == []:
        message["content"] = ""
    elif len(content) == 1 and isinstance(content, list) and "text" in content[0]:
        message["content"] = content[0]["text"]


_ADDERS = {
    "message": _add_message,
    "function_call": _add_call,
    "function_call_output": _add_call_output,
    "reasoning": _add_reasoning,
}
