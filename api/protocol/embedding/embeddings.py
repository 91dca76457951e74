"""Embeddings: llama-server's native form and OpenAI's. Pure."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from api.protocol.fields import Body, Integer, find, json_type, text
from api.protocol.invalid import InvalidRequest
from api.protocol.prompt import PromptVocab, is_token, prompt_tokens
from llamactypes.engine.embedding.request import EmbeddingRequest, EmbeddingResult

__all__ = (
    "EmbeddingCall",
    "EmbeddingDefaults",
    "native_embeddings",
    "openai_embeddings",
    "read_embedding",
)

_NORMALIZE = Integer(("embd_normalize",), -1)
_FORMATS = ("float", "base64")


@dataclass(frozen=True, slots=True)
class EmbeddingDefaults:
    """What the server's flags and its model say."""

    normalize: int = 2
    width: int = 0
    """Numbers in an embedding."""
    is_pooled: bool = True
    model_id: str = ""


@dataclass(frozen=True, slots=True)
class EmbeddingCall:
    """A request, read."""

    request: EmbeddingRequest
    is_base64: bool
    is_native: bool
    """The reply is llama-server's own."""
    model: str


def read_embedding(
    body: Body, vocab: PromptVocab, defaults: EmbeddingDefaults, *, is_openai: bool
) -> EmbeddingCall:
    """Read a request of any embedding route.

    Raises:
        InvalidRequest: It cannot be honoured as it stands.
    """
    if is_openai and not defaults.is_pooled:
        raise InvalidRequest(
            "Pooling type 'none' is not OAI compatible. "
            "Please use a different pooling type"
        )
    is_base64 = _is_base64(body)
    text(body, "user")
    name, given = _given(body)
    inputs = tuple(_tokens(entry, vocab, name) for entry in _entries(given, name))
    if not all(inputs):
        raise InvalidRequest("Input content cannot be empty", name)
    request = EmbeddingRequest(
        inputs,
        normalize=_NORMALIZE.read(body, defaults.normalize),
        dimensions=_dimensions(body, defaults),
    )
    model = text(body, "model") or defaults.model_id
    # As llama-server: the name `content` asks for the native reply on any route.
    return EmbeddingCall(request, is_base64, not is_openai or name == "content", model)


def openai_embeddings(call: EmbeddingCall, result: EmbeddingResult) -> dict[str, Any]:
    """Return OpenAI's list of embeddings, in the order of the inputs."""
    encoding = {"encoding_format": "base64"} if call.is_base64 else {}
    return {
        "model": call.model,
        "object": "list",
        "usage": usage(call.request),
        "data": [
            {
                "embedding": _encoded(rows[0], call.is_base64),
                "index": index,
                "object": "embedding",
                **encoding,
            }
            for index, rows in enumerate(result.rows)
        ],
    }


def native_embeddings(
    call: EmbeddingCall, result: EmbeddingResult
) -> list[dict[str, Any]]:
    """Return llama-server's list: for each input its rows, one where it is pooled."""
    return [
        {"index": index, "embedding": [_encoded(row, call.is_base64) for row in rows]}
        for index, rows in enumerate(result.rows)
    ]


def usage(request: EmbeddingRequest) -> dict[str, int]:
    """Return OpenAI's ``usage``: nothing is generated."""
    return {"prompt_tokens": request.n_tokens, "total_tokens": request.n_tokens}


def _encoded(row: Any, is_base64: bool) -> Any:
    """Return a row as numbers, or as base64 of little-endian float32."""
    if not is_base64:
        return row.tolist()
    return base64.b64encode(row.astype("<f4", copy=False).tobytes()).decode("ascii")


def _given(body: Body) -> tuple[str, Any]:
    found = find(body, "input", "content")
    if found is None:
        raise InvalidRequest('"input" or "content" must be provided', "input")
    return found


def _entries(given: Any, name: str) -> Sequence[Any]:
    """Return each input as the client wrote it; a list with tokens is one."""
    if not isinstance(given, list) or any(is_token(item) for item in given):
        return [given]
    if not given:
        raise InvalidRequest(f'"{name}" must not be empty', name)
    return given


def _tokens(entry: Any, vocab: PromptVocab, name: str) -> tuple[int, ...]:
    if isinstance(entry, dict) and "content" in entry:
        entry = _joined_parts(entry["content"], name)
    return prompt_tokens(entry, vocab, name)


def _joined_parts(parts: Any, name: str) -> str:
    """Return the text of a message's parts."""
    if not isinstance(parts, list):
        raise InvalidRequest(
            f'"content" in "{name}" must be an array of parts, '
            f"but got {json_type(parts)}",
            name,
        )
    return "".join(_part_text(part, name) for part in parts)


def _part_text(part: Any, name: str) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind in ("image_url", "input_audio", "input_video"):
        raise InvalidRequest(f"{kind} is not supported: this model reads text", name)
    value = part.get("text") if kind == "text" else None
    if not isinstance(value, str):
        raise InvalidRequest("unsupported content[].type", name)
    return value


def _is_base64(body: Body) -> bool:
    value = body.get("encoding_format")
    if value is None:
        return False
    if value not in _FORMATS:
        raise InvalidRequest(
            "The format to return the embeddings in. Can be either float or base64",
            "encoding_format",
        )
    return bool(value == "base64")


def _dimensions(body: Body, defaults: EmbeddingDefaults) -> int | None:
    if body.get("dimensions") is None:
        return None
    if not defaults.is_pooled:
        raise InvalidRequest(
            "dimensions cuts pooled embeddings, and here nothing is pooled",
            "dimensions",
        )
    return Integer(("dimensions",), 1, defaults.width).read(body, defaults.width)
