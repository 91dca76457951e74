"""What each route reads from a request. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from api.openapi.parameters import GENERATION
from api.openapi.shapes import (
    ANY,
    BOOLEAN,
    OBJECT,
    STRING,
    STRINGS,
    TOKENS,
    Schema,
    array,
    either,
    nullable,
    one_of,
)

__all__ = ("REQUESTS", "RequestSchema")

_COUNT: Schema = {"type": "integer", "minimum": 0}
_MESSAGES = array(OBJECT, minItems=1)
_TOKEN_OR_TEXT = either(STRING, {"type": "integer"})
_ONE_PROMPT = either(STRING, array(_TOKEN_OR_TEXT), OBJECT)
_PROMPT = either(_ONE_PROMPT, array(_ONE_PROMPT, minItems=1))
_MODEL = {"model": ANY}


@dataclass(frozen=True, slots=True)
class RequestSchema:
    """The body of a request: one JSON object, unless `body` says otherwise."""

    required: tuple[str, ...] = ()
    properties: dict[str, Schema] = field(default_factory=dict)
    streams: bool = False
    """Whether ``stream: true`` turns the answer into server-sent events."""
    body: Schema | None = None

    def schema(self) -> Schema:
        """Return the JSON Schema; null stands for an absent field where it may be."""
        if self.body is not None:
            return self.body
        properties = {
            name: schema if name in self.required else nullable(schema)
            for name, schema in self.properties.items()
        }
        found: dict[str, Any] = {"type": "object", "properties": properties}
        return {**found, "required": list(self.required)} if self.required else found


_READING: dict[str, Schema] = {
    "parse_tool_calls": BOOLEAN,
    "reasoning_format": one_of("none", "auto", "deepseek", "deepseek-legacy"),
    "reasoning_budget_tokens": {"type": "integer", "minimum": -1},
    "thinking_budget_tokens": {"type": "integer", "minimum": -1},
    "reasoning_budget_message": STRING,
    "reasoning_control": BOOLEAN,
}
_CONVERSATION: dict[str, Schema] = {
    "messages": _MESSAGES,
    "tools": array(OBJECT),
    "tool_choice": either(one_of("auto", "none", "required"), OBJECT),
    "parallel_tool_calls": BOOLEAN,
    **_READING,
    "add_generation_prompt": BOOLEAN,
    "continue_final_message": either(BOOLEAN, one_of("content", "reasoning_content")),
    "chat_template_kwargs": OBJECT,
    "reasoning_effort": STRING,
    "documents": array(OBJECT),
    "chat_template": STRING,
}
_CHAT = RequestSchema(
    ("messages",),
    {
        **_MODEL,
        **GENERATION,
        **_CONVERSATION,
        "logprobs": BOOLEAN,
        "top_logprobs": _COUNT,
        "echo": BOOLEAN,
    },
    streams=True,
)
_TEXT = RequestSchema(
    ("prompt",),
    {
        **_MODEL,
        **GENERATION,
        "prompt": _PROMPT,
        "echo": BOOLEAN,
        "suffix": STRING,
        "best_of": {"type": "integer", "minimum": 1},
        "logprobs": either(_COUNT, BOOLEAN),
    },
    streams=True,
)
_NATIVE = RequestSchema(
    ("prompt",),
    {**GENERATION, "prompt": _PROMPT, "logprobs": either(_COUNT, BOOLEAN)},
    streams=True,
)
_INFILL = RequestSchema(
    ("input_prefix", "input_suffix"),
    {
        **GENERATION,
        "input_prefix": either(STRING, array(_TOKEN_OR_TEXT)),
        "input_suffix": either(STRING, array(_TOKEN_OR_TEXT)),
        "input_extra": array(
            {
                "type": "object",
                "required": ["text"],
                "properties": {"text": STRING, "filename": STRING},
            }
        ),
        "prompt": STRING,
    },
    streams=True,
)
_ONE: Schema = {"type": "integer", "minimum": 1, "maximum": 1}
_ANTHROPIC: dict[str, Schema] = {
    "model": STRING,
    "messages": array(OBJECT),
    "system": either(STRING, array(OBJECT)),
    "tools": array(OBJECT),
    "tool_choice": OBJECT,
    "thinking": OBJECT,
    "output_config": OBJECT,
    "output_format": OBJECT,
    "chat_template_kwargs": OBJECT,
    **_READING,
}
_OTHERS_NAMES = (
    *("n_predict", "max_completion_tokens", "max_tokens"),
    *("n_probs", "post_sampling_probs"),
    *("return_tokens", "timings_per_token", "response_fields", "stream_options"),
    *("verbose", "return_progress", "stop", "n", "n_cmpl"),
)
_SHARED = {k: v for k, v in GENERATION.items() if k not in _OTHERS_NAMES}
_ANTHROPIC_MESSAGES = RequestSchema(
    ("max_tokens", "messages"),
    {
        **_SHARED,
        **_ANTHROPIC,
        "max_tokens": _COUNT,
        "stop_sequences": STRINGS,
        "n": _ONE,
        "n_cmpl": _ONE,
    },
    streams=True,
)
_RESPONSE_INPUT: dict[str, Schema] = {
    "input": either(STRING, array(OBJECT)),
    "instructions": STRING,
    "previous_response_id": STRING,
    "tools": array(OBJECT),
    "tool_choice": either(one_of("auto", "none", "required"), OBJECT),
    "reasoning": OBJECT,
    "text": OBJECT,
    "truncation": one_of("auto", "disabled"),
}
_LENGTHS = ("n_predict", "max_completion_tokens", "max_tokens", "n_probs")
_RESPONSES = RequestSchema(
    (),
    {
        **_MODEL,
        **{k: v for k, v in GENERATION.items() if k not in _LENGTHS},
        **_RESPONSE_INPUT,
        "store": BOOLEAN,
        "background": BOOLEAN,
        "max_output_tokens": {"type": "integer", "minimum": -1},
        "top_logprobs": {"type": "integer", "minimum": 0, "maximum": 20},
        "parallel_tool_calls": BOOLEAN,
        **_READING,
        "metadata": OBJECT,
        "include": STRINGS,
        "n": _ONE,
        "n_cmpl": _ONE,
        "chat_template_kwargs": OBJECT,
        "add_generation_prompt": BOOLEAN,
        "continue_final_message": either(
            BOOLEAN, one_of("content", "reasoning_content")
        ),
        "reasoning_effort": STRING,
        "user": STRING,
        "safety_identifier": STRING,
        "prompt_cache_key": STRING,
    },
    streams=True,
)
_ONE_INPUT = either(STRING, array(_TOKEN_OR_TEXT), OBJECT)
_INPUT = either(_ONE_INPUT, array(_ONE_INPUT, minItems=1))
_EMBEDDING: dict[str, Schema] = {
    "model": STRING,
    "input": _INPUT,
    "content": _INPUT,
    "encoding_format": one_of("float", "base64"),
    "embd_normalize": {"type": "integer", "minimum": -1},
    "dimensions": {"type": "integer", "minimum": 1},
    "user": STRING,
}
_RERANK: dict[str, Schema] = {
    "model": STRING,
    "query": STRING,
    "documents": array(either(STRING, OBJECT), minItems=1),
    "texts": array(STRING, minItems=1),
    "top_n": _COUNT,
    "return_documents": BOOLEAN,
    "return_text": BOOLEAN,
}

REQUESTS: dict[str, RequestSchema] = {
    "ChatCompletion": _CHAT,
    "TextCompletion": _TEXT,
    "NativeCompletion": _NATIVE,
    "InfillCompletion": _INFILL,
    "Messages": _ANTHROPIC_MESSAGES,
    "CountMessageTokens": RequestSchema(("messages",), _ANTHROPIC),
    "CreateResponse": _RESPONSES,
    "CountResponseTokens": RequestSchema(
        (),
        {
            k: v
            for k, v in _RESPONSES.properties.items()
            if k not in GENERATION or k in ("n", "n_cmpl")
        },
    ),
    "CountChatTokens": RequestSchema(("messages",), {**_MODEL, **_CONVERSATION}),
    "CountCompletionTokens": RequestSchema(("prompt",), {"prompt": _PROMPT}),
    "ApplyTemplate": RequestSchema(("messages",), _CONVERSATION),
    "Tokenize": RequestSchema(
        (),
        {
            "content": either(STRING, array(_TOKEN_OR_TEXT)),
            "add_special": BOOLEAN,
            "parse_special": BOOLEAN,
            "with_pieces": BOOLEAN,
        },
    ),
    "Detokenize": RequestSchema((), {"tokens": TOKENS}),
    "NativeEmbeddings": RequestSchema((), _EMBEDDING),
    "OpenAIEmbeddings": RequestSchema((), _EMBEDDING),
    "Rerank": RequestSchema(("query",), _RERANK),
    "SlotActions": RequestSchema((), {"filename": STRING}),
    "LoraAdapters": RequestSchema(body=GENERATION["lora"]),
    "ChatControl": RequestSchema(
        ("id", "action"), {"id": STRING, "action": one_of("reasoning_end")}
    ),
    "StreamLookup": RequestSchema((), {"conversation_ids": array(ANY)}),
}
"""By the name of the resource; a resource that is not here reads no body."""
