"""Schemas of the replies, by the name of the resource. Pure.

They say what a client may rely on; replies may have more fields than these. Errors are
in `api.openapi.document`.
"""

from __future__ import annotations

from api.openapi.shapes import (
    BOOLEAN,
    INTEGER,
    NUMBER,
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

__all__ = ("REPLIES",)


def _object(required: dict[str, Schema], **optional: Schema) -> Schema:
    """Return the schema of an object whose fields of `required` are always there."""
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **optional},
    }


def _word(value: str) -> Schema:
    return {"const": value}


_FINISH = nullable(one_of("stop", "length", "tool_calls"))
_CALL = _object(
    {
        "id": STRING,
        "type": _word("function"),
        "function": _object({"name": STRING, "arguments": STRING}),
    }
)
_USAGE = _object(
    {
        "prompt_tokens": INTEGER,
        "completion_tokens": INTEGER,
        "total_tokens": INTEGER,
    },
    prompt_tokens_details=OBJECT,
)
_COMPLETION = {
    "id": STRING,
    "created": INTEGER,
    "model": STRING,
    "system_fingerprint": STRING,
    "usage": _USAGE,
}
_CHAT = _object(
    {
        **_COMPLETION,
        "object": _word("chat.completion"),
        "choices": array(
            _object(
                {
                    "index": INTEGER,
                    "finish_reason": _FINISH,
                    "message": _object(
                        {"role": _word("assistant"), "content": nullable(STRING)},
                        reasoning_content=STRING,
                        tool_calls=array(_CALL),
                    ),
                },
                logprobs=OBJECT,
            )
        ),
    },
    timings=OBJECT,
)
_TEXT = _object(
    {
        **_COMPLETION,
        "object": _word("text_completion"),
        "choices": array(
            _object(
                {
                    "index": INTEGER,
                    "text": STRING,
                    "finish_reason": _FINISH,
                    "logprobs": nullable(OBJECT),
                }
            )
        ),
    },
    timings=OBJECT,
)
_NATIVE_ONE = _object(
    {},
    content=STRING,
    tokens=TOKENS,
    stop=BOOLEAN,
    stop_type=one_of("none", "eos", "word", "limit"),
    stopping_word=STRING,
    tokens_predicted=INTEGER,
    tokens_evaluated=INTEGER,
    tokens_cached=INTEGER,
    truncated=BOOLEAN,
    generation_settings=OBJECT,
    timings=OBJECT,
)
_NATIVE = either(_NATIVE_ONE, array(_NATIVE_ONE))
_BLOCK = either(
    _object({"type": _word("text"), "text": STRING}),
    _object({"type": _word("thinking"), "thinking": STRING, "signature": STRING}),
    _object({"type": _word("tool_use"), "id": STRING, "name": STRING, "input": OBJECT}),
)
_MESSAGE = _object(
    {
        "id": STRING,
        "type": _word("message"),
        "role": _word("assistant"),
        "model": STRING,
        "content": array(_BLOCK),
        "stop_reason": nullable(STRING),
        "stop_sequence": nullable(STRING),
        "usage": _object({"input_tokens": INTEGER, "output_tokens": INTEGER}),
    }
)
_ITEM = {"id": STRING, "status": one_of("in_progress", "completed", "incomplete")}
_OUTPUT = either(
    _object(
        {
            **_ITEM,
            "type": _word("message"),
            "role": _word("assistant"),
            "content": array(_object({"type": _word("output_text"), "text": STRING})),
        }
    ),
    _object(
        {
            **_ITEM,
            "type": _word("reasoning"),
            "content": array(
                _object({"type": _word("reasoning_text"), "text": STRING})
            ),
        }
    ),
    _object(
        {
            **_ITEM,
            "type": _word("function_call"),
            "call_id": STRING,
            "name": STRING,
            "arguments": STRING,
        }
    ),
)
_RESPONSE = _object(
    {
        "id": STRING,
        "object": _word("response"),
        "created_at": INTEGER,
        "status": one_of(
            *("queued", "in_progress", "completed", "incomplete"),
            *("failed", "cancelled"),
        ),
        "model": STRING,
        "output": array(_OUTPUT),
        "error": nullable(OBJECT),
        "incomplete_details": nullable(OBJECT),
        "usage": nullable(OBJECT),
    }
)
_DELETED = _object({"id": STRING, "object": STRING, "deleted": BOOLEAN})
_COUNT = _object({"input_tokens": INTEGER})
_MODEL = _object(
    {
        "id": STRING,
        "object": _word("model"),
        "created": INTEGER,
        "owned_by": STRING,
    },
    aliases=STRINGS,
    tags=STRINGS,
    meta=OBJECT,
)
_ROW = either(STRING, array(NUMBER))
_EMBEDDINGS = _object(
    {
        "object": _word("list"),
        "model": STRING,
        "data": array(
            _object({"object": _word("embedding"), "index": INTEGER, "embedding": _ROW})
        ),
        "usage": _object({"prompt_tokens": INTEGER, "total_tokens": INTEGER}),
    }
)
_NATIVE_EMBEDDINGS = array(_object({"index": INTEGER, "embedding": array(_ROW)}))
_RERANK = either(
    _object(
        {
            "object": _word("list"),
            "model": STRING,
            "results": array(_object({"index": INTEGER, "relevance_score": NUMBER})),
            "usage": OBJECT,
        }
    ),
    array(_object({"index": INTEGER, "score": NUMBER}, text=STRING)),
)
_TOKEN = either(
    INTEGER, _object({"id": INTEGER, "piece": either(STRING, array(INTEGER))})
)
_LOOKUP = array(
    _object(
        {
            "conversation_id": STRING,
            "is_done": BOOLEAN,
            "total_bytes": INTEGER,
            "started_at": INTEGER,
            "completed_at": INTEGER,
        }
    )
)

REPLIES: dict[str, dict[str, Schema]] = {
    "Health": {"get": _object({"status": _word("ok")})},
    "Live": {"get": _object({"status": _word("ok")})},
    "Models": {"get": _object({"object": _word("list"), "data": array(_MODEL)})},
    "Model": {"get": _MODEL},
    "Props": {
        "get": _object(
            {
                "default_generation_settings": OBJECT,
                "total_slots": INTEGER,
                "model_path": STRING,
                "chat_template": STRING,
                "build_info": STRING,
                "is_sleeping": BOOLEAN,
            }
        )
    },
    "Slots": {"get": array(_object({"id": INTEGER, "is_processing": BOOLEAN}))},
    "ChatCompletion": {"post": _CHAT},
    "TextCompletion": {"post": _TEXT},
    "NativeCompletion": {"post": _NATIVE},
    "InfillCompletion": {"post": _NATIVE},
    "Messages": {"post": _MESSAGE},
    "CountMessageTokens": {"post": _COUNT},
    "CreateResponse": {"post": _RESPONSE},
    "KeptResponse": {"get": _RESPONSE, "delete": _DELETED},
    "CancelResponse": {"post": _RESPONSE},
    "CountResponseTokens": {"post": _COUNT},
    "CountChatTokens": {"post": _COUNT},
    "CountCompletionTokens": {"post": _COUNT},
    "ApplyTemplate": {"post": _object({"prompt": STRING})},
    "Tokenize": {"post": _object({"tokens": array(_TOKEN)})},
    "Detokenize": {"post": _object({"content": STRING})},
    "NativeEmbeddings": {"post": _NATIVE_EMBEDDINGS},
    "OpenAIEmbeddings": {"post": either(_EMBEDDINGS, _NATIVE_EMBEDDINGS)},
    "Rerank": {"post": _RERANK},
    "ChatControl": {"post": _object({"success": BOOLEAN}, message=STRING)},
    "StreamLookup": {"post": _LOOKUP},
}
"""By resource and method; what is not here answers with JSON of no fixed shape."""
