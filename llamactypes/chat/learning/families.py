"""Families of models that write what their templates do not show. A table. Pure.

Everything is learned first; an entry says what to change in what was learned. A new
family is one entry here and one file of outputs in the tests' corpus.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from llamactypes.chat.output.format import (
    ArgumentForm,
    ChatFormat,
    Slot,
    TaggedArguments,
    Tags,
    ToolSyntax,
)

__all__ = ("FAMILIES", "Family", "adapted")


@dataclass(frozen=True, slots=True)
class Family:
    """How to recognise a family by its template's text, and what is so with it."""

    name: str
    fingerprints: tuple[str, ...]
    """Texts that are all in the template."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `ChatFormat` that are different from what was learned."""
    tool_changes: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the learned `ToolSyntax` that are different."""

    def matches(self, source: str) -> bool:
        """Whether a template's text is of this family."""
        return all(text in source for text in self.fingerprints)

    def adapt(self, learned: ChatFormat) -> ChatFormat:
        """Return `learned` with this family's changes."""
        changes = dict(self.changes)
        if self.tool_changes and learned.tools is not None:
            changes["tools"] = replace(learned.tools, **self.tool_changes)
        return replace(learned, **changes, name=self.name)


def adapted(learned: ChatFormat, source: str) -> ChatFormat:
    """Return `learned` as the family of a template's text has it, if it is of one."""
    for family in FAMILIES:
        if family.matches(source):
            return family.adapt(learned)
    return learned


_HARMONY = "<|start|>assistant"
_HARMONY_CALL = f"{_HARMONY}<|channel|>commentary to=functions."
_HARMONY_ANSWER = f"{_HARMONY}<|channel|>final<|message|>"
_PYTHON_CALLS = ToolSyntax(
    call=(Slot.NAME, "(", Slot.ARGUMENTS, ")"),
    arguments=ArgumentForm.PYTHON,
    start="<|tool_call_start|>[",
    end="]<|tool_call_end|>",
    separator=",",
)
_JSON_CALL = ('{"name": "', Slot.NAME, '", "arguments": ', Slot.ARGUMENTS, "}")

FAMILIES = (
    Family(
        # The prompt ends with the beginning of a message; a turn is several of them.
        "gpt-oss",
        ("<|channel|>analysis<|message|>", _HARMONY),
        {
            "reasoning": Tags(f"{_HARMONY}<|channel|>analysis<|message|>", "<|end|>"),
            "content": Tags(_HARMONY_ANSWER, "<|end|>"),
            "tools": ToolSyntax(
                call=(_HARMONY_CALL, Slot.NAME, "<|message|>", Slot.ARGUMENTS),
                separator="<|end|>",
            ),
            "prompted": _HARMONY,
            "aliases": (
                (f"{_HARMONY} to=functions.", _HARMONY_CALL),
                (f"{_HARMONY}<|channel|>analysis to=functions.", _HARMONY_CALL),
                (" <|constrain|>json<|message|>", "<|message|>"),
                ("<|constrain|>json<|message|>", "<|message|>"),
                ("<|channel|>commentary json<|message|>", "<|message|>"),
                ("<|channel|>commentary <|constrain|>json<|message|>", "<|message|>"),
                ("<|channel|>commentary <|constrain|> json<|message|>", "<|message|>"),
                # Words before a call.
                (f"{_HARMONY}<|channel|>commentary<|message|>", _HARMONY_ANSWER),
            ),
        },
    ),
    Family(
        "muse-glimmer",
        ("<atem:function_calls>", _HARMONY),
        {
            "reasoning": Tags(f"{_HARMONY} to=self<|message|>", "<|eom|>"),
            "content": Tags(f"{_HARMONY} to=user<|message|>", "<|eom|>"),
            "prompted": _HARMONY,
        },
        {
            "call": (
                f"{_HARMONY} to=",
                Slot.NAME,
                '<|message|><atem:function_calls>\n<atem:invoke name="',
                Slot.NAME,
                '">',
                Slot.ARGUMENTS,
                "\n</atem:invoke>\n</atem:function_calls>",
            ),
            "start": "",
            "end": "",
            "separator": "<|eom|>",
        },
    ),
    Family(
        "solar",
        ("<|begin|>assistant<|think|>", "<|tool_call:begin|>"),
        {
            "reasoning": Tags("<|begin|>assistant<|think|>", "<|end|>"),
            "content": Tags("<|begin|>assistant<|content|>", "<|end|>"),
            "prompted": "<|begin|>assistant",
        },
        {"start": "<|begin|>assistant<|tool_calls|>"},
    ),
    Family(
        # Its ids are made of the name and a number.
        "kimi-k2",
        ("<|tool_calls_section_begin|>",),
        {
            "tools": ToolSyntax(
                call=(
                    "<|tool_call_begin|>functions.",
                    Slot.NAME,
                    ":",
                    Slot.INDEX,
                    "<|tool_call_argument_begin|>",
                    Slot.ARGUMENTS,
                    "<|tool_call_end|>",
                ),
                start="<|tool_calls_section_begin|>",
                end="<|tool_calls_section_end|>",
            )
        },
    ),
    Family(
        # Its markers are a word between two tokens.
        "kimi-k3",
        ("<|open|>", "<|close|>", "<|sep|>"),
        {
            "reasoning": Tags("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
            "content": Tags("<|open|>response<|sep|>", "<|close|>response<|sep|>"),
            "tools": ToolSyntax(
                call=(
                    '<|open|>call tool="',
                    Slot.NAME,
                    '" index="',
                    Slot.INDEX,
                    '"<|sep|>',
                    Slot.ARGUMENTS,
                    "<|close|>call<|sep|>",
                ),
                arguments=ArgumentForm.TAGGED,
                start="<|open|>tools<|sep|>",
                end="<|close|>tools<|sep|>",
                tagged=TaggedArguments(
                    '<|open|>argument key="',
                    '" type="string"<|sep|>',
                    "<|close|>argument<|sep|>",
                    after_key_by_type=tuple(
                        (kind, f'" type="{name}"<|sep|>')
                        for kind, name in (
                            ("integer", "number"),
                            ("number", "number"),
                            ("boolean", "boolean"),
                            ("object", "object"),
                            ("array", "array"),
                            ("null", "null"),
                        )
                    ),
                ),
            ),
        },
    ),
    # Most templates of this family do not write earlier calls.
    Family("lfm2", ("<|tool_list_start|>",), {"tools": _PYTHON_CALLS}),
    Family("lfm2", ('"List of tools: ["', "<|im_start|>"), {"tools": _PYTHON_CALLS}),
    Family(
        # Told in words how to write; earlier calls are not written.
        "granite-3.3",
        ("<think></think>", "<response></response>", "<|tool_call|>"),
        {
            "content": Tags("<response>", "</response>"),
            "tools": ToolSyntax(
                call=_JSON_CALL,
                start="<|tool_call|>[",
                end="]",
                separator=",",
                quotes_names=True,
            ),
        },
    ),
    Family(
        "command-r-plus",
        ("<|CHATBOT_TOKEN|>", "\\nAction:\\n```json\\n"),
        {"content": None},
        {"start": "Action:\n```json\n["},
    ),
    Family(
        # Every text of its prompts is a message to someone, all or a tool.
        "functionary-v3.2",
        (">>>all\\n", ">>>"),
        {
            "content": Tags(">>>all\n", ""),
            "prompted": ">>>",
            "tools": ToolSyntax(call=(">>>", Slot.NAME, "\n", Slot.ARGUMENTS)),
        },
    ),
    Family(
        "firefunction",
        ("functools[",),
        tool_changes={"arguments": ArgumentForm.JSON},
    ),
    Family(
        "gemma-4",
        ("<|tool_call>call:", '<|"|>'),
        {
            "reasoning": Tags("<|channel>thought", "<channel|>"),
            "tools": ToolSyntax(
                call=(
                    "<|tool_call>call:",
                    Slot.NAME,
                    "{",
                    Slot.ARGUMENTS,
                    "}<tool_call|>",
                ),
                arguments=ArgumentForm.UNQUOTED,
                quote='<|"|>',
            ),
        },
    ),
    Family(
        "apertus",
        ("<|inner_prefix|>", "<|inner_suffix|>"),
        {"reasoning": Tags("<|inner_prefix|>", "<|inner_suffix|>")},
    ),
    # Refuses ids of another length.
    Family("mistral", ("length != 9",), {}, {"id_pattern": "[a-zA-Z0-9]{9}"}),
    Family(
        # A mark before each tag; the tags of arguments are their names.
        "minimax-m3",
        ("]<]minimax[>[",),
        {
            # An answer without thinking begins like this.
            "content": Tags("</mm:think>", ""),
            "tools": ToolSyntax(
                call=(
                    ']<]minimax[>[<invoke name="',
                    Slot.NAME,
                    '">',
                    Slot.ARGUMENTS,
                    "]<]minimax[>[</invoke>",
                ),
                arguments=ArgumentForm.NESTED,
                start="]<]minimax[>[<tool_call>",
                end="]<]minimax[>[</tool_call>",
                quote="]<]minimax[>[",
            ),
        },
    ),
)
