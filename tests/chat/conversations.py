"""Conversations that templates are rendered with."""

from __future__ import annotations

from typing import Any

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "A city"}},
            "required": ["city"],
        },
    },
}

QUESTION = [{"role": "user", "content": "Hi"}]

TURNS = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": 'Hello "you"'},
    {"role": "user", "content": "Grüße 🦙 <b>?"},
]

TOOL_TURNS: list[dict[str, Any]] = [
    {"role": "user", "content": "Weather?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call12345",
                "type": "function",
                "function": {
                    "name": "get_weather",
                    "arguments": '{"city": "Zürich"}',
                },
            }
        ],
    },
    {
        "role": "tool",
        "tool_call_id": "call12345",
        "name": "get_weather",
        "content": "7 °C",
    },
]

# -- everything that clients send, whatever templates think of it --------------------


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def called(*ids: str, content: Any = None, **more: Any) -> dict[str, Any]:
    calls = [
        {
            "id": each,
            "type": "function",
            "function": {"name": "get_weather", "arguments": '{"city": "Zürich"}'},
        }
        for each in ids
    ]
    return said("assistant", content, tool_calls=calls, **more)


_BARE_TOOL = {"type": "function", "function": {"name": "get_weather"}}
_LONG = "call_8f3a7b21c9d04e55a1"
_ONE = said("user", "Uone")
_TWO = said("user", "Utwo 🦙 <b>")
_ANSWER = said("assistant", 'Aone "q"')
_SYSTEM = said("system", "Sone")
_RESULT = said("tool", "Rone", tool_call_id=_LONG)
_PARTS = [{"type": "text", "text": "Uone"}, {"type": "text", "text": "Utwo"}]

MATRIX: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]] | None]] = {
    "question": ([_ONE], None),
    "system": ([_SYSTEM, _ONE], None),
    "developer": ([said("developer", "Sone"), _ONE], None),
    "turns": ([_SYSTEM, _ONE, _ANSWER, _TWO], None),
    "two systems": ([_SYSTEM, said("system", "Stwo"), _ONE], None),
    "late system": ([_ONE, _ANSWER, said("system", "Slate"), _TWO], None),
    "system last": ([_ONE, said("system", "Slate")], None),
    "only system": ([_SYSTEM], None),
    "two users": ([_ONE, _TWO], None),
    "two assistants": ([_ONE, _ANSWER, said("assistant", "Atwo"), _TWO], None),
    "assistant first": ([_ANSWER, _ONE], None),
    "assistant last": ([_ONE, _ANSWER], None),
    "parts": ([_SYSTEM, said("user", _PARTS)], None),
    "other role": ([_ONE, _ANSWER, said("function", "Fone", name="f"), _TWO], None),
    "reasoning": (
        [_ONE, said("assistant", "Aone", reasoning_content="Tone"), _TWO],
        None,
    ),
    "tool": ([_ONE], [TOOL]),
    "tool and system": ([_SYSTEM, _ONE], [TOOL]),
    "tool without parameters": ([_ONE], [_BARE_TOOL]),
    "call": ([_ONE, called(_LONG), _RESULT], [TOOL]),
    "call and text": (
        [_ONE, called(_LONG, content="Aone"), _RESULT, said("assistant", "Atwo"), _TWO],
        [TOOL],
    ),
    "call and thinking": (
        [_ONE, called(_LONG, content="Aone", reasoning_content="Tone"), _RESULT],
        [TOOL],
    ),
    "two calls": (
        [
            _ONE,
            called("c1", "c2"),
            said("tool", "Rone", tool_call_id="c1"),
            said("tool", "Rtwo", tool_call_id="c2"),
        ],
        [TOOL],
    ),
    "call of a tool that is gone": (
        [_ONE, called(_LONG), _RESULT, _ANSWER, _TWO],
        None,
    ),
    "result of no call": ([_ONE, _RESULT], None),
    "result in parts": (
        [_ONE, called(_LONG), said("tool", _PARTS[:1], tool_call_id=_LONG)],
        [TOOL],
    ),
}
"""Name → messages and tools."""
