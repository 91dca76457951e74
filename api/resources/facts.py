"""``/props``, ``/v1/models`` and ``/slots``: facts as llama-server shows them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from api.protocol.settings_echo import reduced_settings
from llamactypes.engine import GenerationRequest, ModelInfo, SlotState

__all__ = ("models_reply", "props_reply", "slot_object")

_NO_PARENT = {
    "parent_model": "",
    "format": "gguf",
    "family": "",
    "families": [""],
    "parameter_size": "",
    "quantization_level": "",
}


def models_reply(
    info: ModelInfo,
    model_id: str,
    aliases: Sequence[str],
    tags: Sequence[str],
    created: int,
) -> dict[str, Any]:
    """Return the one model, for Ollama's clients (``models``) and for OpenAI's."""
    listed = {
        "name": model_id,
        "model": model_id,
        "modified_at": "",
        "size": "",
        "digest": "",
        "type": "model",
        "description": "",
        "tags": [""],
        "capabilities": ["embedding" if info.pooling else "completion"],
        "parameters": "",
        "details": _NO_PARENT,
    }
    entry = {
        "id": model_id,
        "aliases": list(aliases),
        "tags": list(tags),
        "object": "model",
        "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
        "created": created,
        "owned_by": "llamacpp",
        "meta": _meta(info),
    }
    return {"models": [listed], "object": "list", "data": [entry]}


def _meta(info: ModelInfo) -> dict[str, Any]:
    return {
        "vocab_type": info.vocab_type,
        "n_vocab": info.n_vocab,
        "n_ctx": info.n_ctx_slot,
        "n_ctx_train": info.n_ctx_train,
        "n_embd": info.n_embd,
        "n_params": info.n_params,
        "size": info.size_bytes,
        "ftype": info.ftype,
    }


def props_reply(
    info: ModelInfo,
    *,
    model_id: str,
    default_request: GenerationRequest,
    chat_template: str,
    tool_use_template: str | None,
    capabilities: dict[str, bool],
    endpoints: dict[str, bool],
    is_deterministic: bool,
    is_sleeping: bool,
) -> dict[str, Any]:
    """Return ``GET /props``.

    Args:
        info: The loaded model.
        model_id: Its name in replies.
        default_request: A request that leaves everything to the server's flags.
        chat_template: Source of the template in use.
        tool_use_template: Source of the variant used with tools, if there is one.
        capabilities: What the template understands.
        endpoints: Which optional routes are on.
        is_deterministic: Whether an answer depends on its request alone.
        is_sleeping: Whether the model is unloaded.
    """
    props = {
        "default_generation_settings": {
            "params": reduced_settings(default_request),
            "n_ctx": info.n_ctx_slot,
        },
        "total_slots": info.n_slots,
        "model_alias": model_id,
        "model_ftype": info.ftype,
        "model_path": info.path,
        "modalities": {"vision": False, "video": False, "audio": False},
        "media_marker": "",
        **endpoints,
        "ui_settings": {},
        "chat_template": chat_template,
        "chat_template_caps": capabilities,
        "bos_token": info.bos_token,
        "eos_token": info.eos_token,
        "build_info": info.library,
        "n_threads": info.n_threads,
        "n_threads_batch": info.n_threads_batch,
        "threads_source": info.threads_source,
        "deterministic": is_deterministic,
        "is_sleeping": is_sleeping,
        "cors_proxy_enabled": False,
    }
    if tool_use_template:
        props["chat_template_tool_use"] = tool_use_template
    return props


def slot_object(state: SlotState) -> dict[str, Any]:
    """Return one entry of ``GET /slots``; details only once the slot had a task."""
    slot: dict[str, Any] = {
        "id": state.id,
        "n_ctx": state.n_ctx,
        "speculative": False,
        "is_processing": state.is_processing,
    }
    if not isinstance(state.request, GenerationRequest):
        return slot
    return {
        **slot,
        "id_task": state.id_task,
        "n_prompt_tokens": state.n_prompt_tokens,
        "n_prompt_tokens_processed": state.n_prompt_tokens_processed,
        "n_prompt_tokens_cache": state.n_prompt_tokens_cache,
        "params": reduced_settings(state.request),
        "next_token": [
            {
                "has_next_token": state.has_next_token,
                "has_new_line": state.has_new_line,
                "n_remain": state.n_remain,
                "n_decoded": state.n_decoded,
            }
        ],
    }
