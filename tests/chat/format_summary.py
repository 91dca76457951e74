"""A learned format in a few words, to compare and to read."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat, Slot, Tags, ToolSyntax

_SLOTS = {
    Slot.NAME: "NAME",
    Slot.ARGUMENTS: "ARGUMENTS",
    Slot.ID: "ID",
    Slot.INDEX: "INDEX",
}


def summary(form: ChatFormat) -> dict[str, str]:
    """Return what the format says; what it does not say is not in it."""
    found = {
        "family": form.name,
        "prompted": form.prompted,
        "thinking": _tags(form.reasoning),
        "answer": _tags(form.content),
    }
    if form.tools is not None:
        found |= _tools(form.tools)
    return {key: text for key, text in found.items() if text}


def _tags(tags: Tags | None) -> str:
    return "" if tags is None else f"{tags.open} … {tags.close}"


def _tools(tools: ToolSyntax) -> dict[str, str]:
    call = "".join(
        part if isinstance(part, str) else _SLOTS[part] for part in tools.call
    )
    more = f" ({tools.separator} CALL)*" if tools.is_parallel else ""
    found = {
        "calls": f"{tools.start} CALL{more} {tools.end}".strip(),
        "call": call,
        "arguments": tools.arguments.value,
    }
    if tools.tagged is not None:
        tagged = tools.tagged
        parts = [
            tagged.before_key,
            "KEY",
            tagged.after_key,
            "VALUE",
            tagged.after_value,
        ]
        found["argument"] = "".join(parts)
        kinds = [f"{kind}: {text}" for kind, text in tagged.after_key_by_type]
        found["types"] = ", ".join(kinds)
    return found
