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
