"""Requests that were right before something in them was changed by chance."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import dataclass, field
from typing import Any

__all__ = ("PLAIN", "Mutant", "mutants")

_CHAT = [{"role": "system", "content": "s"}, {"role": "user", "content": "Hi"}]
_TOOL = {
    "type": "function",
    "function": {"name": "f", "description": "d", "parameters": {"type": "object"}},
}
_PARTS = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}

PLAIN: list[tuple[str, str, Any]] = [
    ("POST", "/completion", {"prompt": "Once", "n_predict": 2, "n_probs": 2}),
    ("POST", "/completion", {"prompt": [1, "a"], "stream": True, "stop": ["x"]}),
    ("POST", "/completion", {"prompt": {"prompt_string": "a"}, "logit_bias": [[1, 2]]}),
    ("POST", "/v1/completions", {"prompt": ["a", "b"], "n": 2, "max_tokens": 2}),
    ("POST", "/v1/completions", {"prompt": "a", "echo": True, "logprobs": 1, "n": 1}),
    ("POST", "/v1/completions", {"prompt": "a", "best_of": 2, "suffix": ""}),
    ("POST", "/v1/chat/completions", {"messages": _CHAT, "max_tokens": 2}),
    (
        "POST",
        "/v1/chat/completions",
        {
            "messages": [
                {"role": "user", "content": _PARTS},
                {"role": "assistant", "content": None, "tool_calls": [_CALL]},
                {"role": "tool", "tool_call_id": "c", "content": "1"},
            ],
            "tools": [_TOOL],
            "tool_choice": "auto",
            "stream": True,
            "stream_options": {"include_usage": True},
            "logprobs": True,
            "top_logprobs": 2,
            "chat_template_kwargs": {"a": 1},
            "samplers": ["top_k", "temperature"],
            "temperature": 0.5,
            "max_tokens": 2,
        },
    ),
    ("POST", "/v1/chat/completions/input_tokens", {"messages": _CHAT}),
    ("POST", "/v1/streams/lookup", {"conversation_ids": ["c"]}),
    (
        "POST",
        "/v1/chat/completions/control",
        {"id": "c", "action": "reasoning_end"},
    ),
    ("POST", "/apply-template", {"messages": _CHAT, "tools": [_TOOL]}),
    (
        "POST",
        "/v1/messages",
        {
            "model": "m",
            "max_tokens": 2,
            "system": [{"type": "text", "text": "s"}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "a"}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "tool_use", "id": "t", "name": "f", "input": {}}
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "t", "content": "1"}
                    ],
                },
            ],
            "tools": [{"name": "f", "input_schema": {"type": "object"}}],
            "tool_choice": {"type": "auto"},
            "stop_sequences": ["x"],
            "thinking": {"type": "disabled"},
            "metadata": {"user_id": "u"},
            "stream": True,
        },
    ),
    ("POST", "/v1/messages/count_tokens", {"model": "m", "messages": [_CHAT[1]]}),
    (
        "POST",
        "/v1/responses",
        {
            "model": "m",
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
                {
                    "type": "function_call",
                    "call_id": "c",
                    "name": "f",
                    "arguments": "{}",
                },
                {"type": "function_call_output", "call_id": "c", "output": "1"},
            ],
            "instructions": "i",
            "max_output_tokens": 2,
            "tools": [{"type": "function", "name": "f", "parameters": {}}],
            "text": {"format": {"type": "text"}},
            "reasoning": {"effort": "low"},
            "metadata": {"a": "b"},
            "include": ["message.output_text.logprobs"],
            "truncation": "auto",
            "store": True,
            "stream": True,
        },
    ),
    ("POST", "/v1/responses", {"input": "a", "max_output_tokens": 2}),
    ("POST", "/v1/responses/input_tokens", {"input": "a"}),
    ("GET", "/v1/responses/resp_1", None),
    ("DELETE", "/v1/responses/resp_1", None),
    ("POST", "/v1/responses/resp_1/cancel", {}),
    ("GET", "/v1/responses/resp_1/input_items?limit=3&order=asc", None),
    ("POST", "/infill", {"input_prefix": "a", "input_suffix": "b", "input_extra": []}),
    ("POST", "/embedding", {"content": ["a", [1, 2]]}),
    ("POST", "/v1/embeddings", {"input": "a", "encoding_format": "base64"}),
    ("POST", "/v1/rerank", {"query": "a", "documents": ["b", "c"], "top_n": 1}),
    ("POST", "/tokenize", {"content": ["a", 1], "with_pieces": True}),
    ("POST", "/detokenize", {"tokens": [1, 2]}),
    ("POST", "/v1/completions/input_tokens", {"prompt": ["a", [1, 2]]}),
    ("POST", "/lora-adapters", []),
    ("GET", "/lora-adapters", None),
    ("POST", "/slots/0?action=erase", {}),
    ("POST", "/slots/0?action=save", {"filename": "a.bin"}),
    ("GET", "/slots?fail_on_no_slot=1", None),
    ("GET", "/props", None),
    ("POST", "/props", {}),
    ("GET", "/v1/models", None),
    ("GET", "/v1/models/tiny.gguf", None),
    ("GET", "/metrics", None),
    ("GET", "/openapi.json", None),
    ("GET", "/", None),
]
"""Method, path and body of requests that are right, unless a flag is off."""

_INTEGERS = (0, 1, -1, 2, 7, 255, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**64, 10**30)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, "", "a", "\0", "\U0001f4a5e\u0301", " " * 40, "x" * 3000),
    *(0.5, -0.0, 1e308, -1e308, 5e-324, [], {}, [[]], [None], [""], [{}], {"": {}}),
    *({"type": "text"}, {"type": "text", "text": 1}, {"type": "image_url"}),
    *({"role": "user"}, {"role": 1, "content": []}, {"content": "a"}, ["a"] * 200),
    *([0, 1, 2], [-1], [10**12], [1.5], [True], {"id": 0}, {"a": [{"b": {"c": []}}]}),
    *("none", "auto", "required", "user", "assistant", "{{", "{% if", "</s>", "../x"),
    *_INTEGERS,
)
_FIELDS = (
    *("seed", "n", "n_cmpl", "n_predict", "max_tokens", "temperature", "top_k"),
    *("top_p", "stop", "logit_bias", "samplers", "n_probs", "logprobs", "stream"),
    *("grammar", "json_schema", "response_format", "lora", "id_slot", "n_keep"),
    *("mirostat", "dry_multiplier", "dry_sequence_breakers", "repeat_penalty"),
    *("xtc_probability", "typical_p", "dynatemp_range", "adaptive_decay", "min_keep"),
    *("return_tokens", "response_fields", "verbose", "echo", "suffix", "best_of"),
    *("tools", "tool_choice", "chat_template_kwargs", "reasoning_effort", "prompt"),
    *("continue_final_message", "add_generation_prompt", "messages", "input"),
    *("timings_per_token", "return_progress", "sse_ping_interval", "background"),
    *("cache_prompt", "t_max_predict_ms", "post_sampling_probs", "dimensions"),
)
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
_HEADERS = (
    ("Content-Encoding", "gzip"),
    ("Content-Type", "text/plain; charset=\xff"),
    ("Accept", "text/event-stream"),
    ("Origin", "null"),
    ("Origin", "http://[::1"),
    ("X-Request-Id", "x" * 300),
    ("Authorization", "Basic \xff\xfe"),
    ("Cookie", ";;=;"),
    ("Range", "bytes=0-1"),
    ("Expect", "nothing"),
    ("Accept-Language", "*;q=nan"),
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One request; it shows itself in a failure."""

    number: int
    method: str
    path: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def mutants(n: int, seed: int = 0) -> list[Mutant]:
    """Return `n` requests, the same for the same seed."""
    return [
        _mutant(number, random.Random(seed * 1_000_003 + number)) for number in range(n)
    ]


def _mutant(number: int, chance: random.Random) -> Mutant:
    method, path, body = chance.choice(PLAIN)
    body = copy.deepcopy(body)
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3, 6))):
        body = _changed(body, chance)
    text = b"" if body is None else json.dumps(body).encode()
    if chance.random() < 0.15:
        text = _broken(text, chance)
    if chance.random() < 0.05:
        method = chance.choice(_METHODS)
    if chance.random() < 0.08:
        path = _other_path(path, chance)
    headers = dict(chance.sample(_HEADERS, chance.choice((0, 0, 0, 0, 1, 2))))
    return Mutant(number, method, path, text, headers)


def _changed(value: Any, chance: random.Random) -> Any:
    """Change one place of a value."""
    if isinstance(value, dict) and chance.random() < 0.3:
        value[chance.choice(_FIELDS)] = copy.deepcopy(chance.choice(_VALUES))
        return value
    if isinstance(value, dict | list) and value and chance.random() < 0.85:
        key = chance.choice(
            list(value) if isinstance(value, dict) else range(len(value))
        )
        if chance.random() < 0.15:
            del value[key]
        else:
            value[key] = _changed(value[key], chance)
        return value
    return copy.deepcopy(chance.choice(_VALUES))


def _broken(text: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(text) + 1)
    inserted = chance.choice(
        (b"", b"\xff", b"\0", b'"', b"{", b"}", b",", b"NaN", b"1e999", b"\\ud800",
         b"[" * 400, b'{"a":1,"a":2}', "\ufeff".encode(), b"9" * 5000)
    )  # fmt: skip
    rest = text[at + chance.choice((0, 0, 1, 5)) :]
    return text[:at] + inserted + rest


def _other_path(path: str, chance: random.Random) -> str:
    ends = ("/", "//", "?", "?a=%ff", "/x", "%00", "%2e%2e/", "?limit=-1", "?action=x")
    if chance.random() < 0.5:
        return path + chance.choice(ends)
    cut = chance.randrange(1, len(path) + 1)
    return path[:cut]
