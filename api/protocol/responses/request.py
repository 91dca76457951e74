"""What a request to ``/v1/responses`` asks for, read and checked. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from api.protocol.chat.conversation import without_reading
from api.protocol.fields import Body, Integer, boolean, json_type, strings, text
from api.protocol.invalid import InvalidRequest, NotSupported
from api.protocol.output_form import read_flat_format
from api.protocol.responses.items import FindItem, Item, read_input
from api.protocol.responses.tools import read_tools
from api.protocol.thinking import THINKING_FIELDS
from llamactypes.constraints.output_form import OutputForm

__all__ = ("ResponsesRequest", "read_responses_request")

_N_OUTPUT = Integer(("max_output_tokens",), -1)
_N_TOP = Integer(("top_logprobs",), 0, 20)
_MAX_METADATA = (16, 64, 512)
"""Pairs, characters of a name, characters of a value: OpenAI's limits."""

_LOGPROBS = "message.output_text.logprobs"
_INCLUDABLE = (
    _LOGPROBS,
    "reasoning.encrypted_content",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "code_interpreter_call.outputs",
)
"""Beside logprobs these are of items that this server never makes."""

_CHAT_FIELDS = (
    "tool_choice",
    "parallel_tool_calls",
    "parse_tool_calls",
    "reasoning_format",
    *THINKING_FIELDS,
    "chat_template_kwargs",
    "add_generation_prompt",
    "continue_final_message",
    "reasoning_effort",
)
_LENGTHS = ("n_predict", "max_completion_tokens", "max_tokens")
_ELSEWHERE = {
    "prompt": "stored prompts do not exist here; send 'instructions' and 'input'",
    "conversation": "conversations do not exist here; use 'previous_response_id'",
    "context_management": "a conversation is never compacted; see 'truncation'",
}


@dataclass(frozen=True, slots=True)
class ResponsesRequest:
    """One request; what is not for us alone is passed on as chat's or native fields."""

    items: list[Item]
    """This turn's input."""
    previous_id: str | None
    instructions: str | None
    is_background: bool
    is_stored: bool
    is_truncating: bool
    """Leave out the oldest messages when a prompt would be too long."""
    n_output: int | None
    """Most tokens to generate; None: as the server's flags say."""
    n_top: int | None
    """Alternatives to show for each token; None: no logprobs."""
    chat: dict[str, Any]
    """Fields of a chat request, without its messages."""
    options: dict[str, Any]
    """Fields for `read_options`."""
    form: OutputForm | None = None
    """Of the answer, as ``text.format`` has it."""
    shown: dict[str, Any] = field(default_factory=dict)
    """Fields that the response object repeats."""


def read_responses_request(
    body: Body, find_item: FindItem, *, skip_tools: bool = False
) -> ResponsesRequest:
    """Read a request.

    Args:
        body: As parsed from JSON.
        find_item: Looks up what an ``item_reference`` means.
        skip_tools: Leave out tools that are no functions instead of refusing them.

    Raises:
        InvalidRequest: A field has the wrong type or asks for something this server
            cannot do.
    """
    _refuse_elsewhere(body)
    is_stored, is_background = _storage(body)
    tools, shown_tools = read_tools(body, skip=skip_tools)
    n_output = None
    if body.get("max_output_tokens") is not None:
        n_output = _N_OUTPUT.read(body, -1)
    n_top = _n_top(body)
    effort = _effort(body)
    instructions = text(body, "instructions")
    return ResponsesRequest(
        items=read_input(body.get("input"), find_item),
        previous_id=text(body, "previous_response_id") or None,
        instructions=instructions,
        is_background=is_background,
        is_stored=is_stored,
        is_truncating=_is_truncating(body),
        n_output=n_output,
        n_top=n_top,
        chat=_chat_fields(body, tools, effort),
        options=_option_fields(body, n_output, n_top),
        form=_form(body),
        shown={
            **_shown_text(body),
            "instructions": instructions,
            "max_output_tokens": n_output,
            "metadata": _metadata(body),
            "parallel_tool_calls": boolean(body, "parallel_tool_calls", True),
            "reasoning": {"effort": effort, "summary": None},
            "tool_choice": body.get("tool_choice") or "auto",
            "tools": shown_tools,
            "top_logprobs": n_top or 0,
            "truncation": "auto" if _is_truncating(body) else "disabled",
            **_names(body),
        },
    )


def _refuse_elsewhere(body: Body) -> None:
    for name, instead in _ELSEWHERE.items():
        if body.get(name) is not None:
            raise NotSupported(name, instead)
    for name in ("n", "n_cmpl"):
        if Integer((name,), 1).read(body, 1) != 1:
            raise NotSupported(name, "a response has one answer; send several requests")


def _form(body: Body) -> OutputForm | None:
    value = _object(body, "text") or {}
    return read_flat_format(value.get("format"), "text.format")


def _shown_text(body: Body) -> dict[str, Any]:
    """Return ``text`` as it was sent; plain text's is the response's own."""
    return {} if _form(body) is None else {"text": body["text"]}


def _storage(body: Body) -> tuple[bool, bool]:
    is_stored = boolean(body, "store", True)
    is_background = boolean(body, "background", False)
    if is_background and not is_stored:
        raise InvalidRequest(
            "background mode needs store to be true: the response is fetched later",
            "store",
        )
    return is_stored, is_background


def _is_truncating(body: Body) -> bool:
    value = body.get("truncation")
    if value not in (None, "auto", "disabled"):
        raise InvalidRequest.field("truncation", 'Value must be "auto" or "disabled"')
    return value == "auto"


def _n_top(body: Body) -> int | None:
    """Return how many alternatives to show: logprobs come when either field asks."""
    include = strings(body, "include") or ()
    for name in include:
        if name not in _INCLUDABLE:
            raise InvalidRequest(
                f"include: {name[:64]!r} is not one of {', '.join(_INCLUDABLE)}",
                "include",
            )
    n_top = _N_TOP.read(body, 0)
    return n_top if n_top or _LOGPROBS in include else None


def _effort(body: Body) -> str | None:
    reasoning = _object(body, "reasoning") or {}
    return text(reasoning, "effort") or text(body, "reasoning_effort")


def _metadata(body: Body) -> dict[str, str]:
    metadata = _object(body, "metadata") or {}
    n_pairs, n_name, n_value = _MAX_METADATA
    is_fine = len(metadata) <= n_pairs and all(
        isinstance(value, str) and len(name) <= n_name and len(value) <= n_value
        for name, value in metadata.items()
    )
    if not is_fine:
        raise InvalidRequest.field(
            "metadata",
            f"Value must be an object of at most {n_pairs} strings of at most "
            f"{n_value} characters, with names of at most {n_name}",
        )
    return dict(metadata)


def _names(body: Body) -> dict[str, str]:
    """Return what only identifies the caller; it has no effect here."""
    names = ("user", "safety_identifier", "prompt_cache_key")
    given = {name: text(body, name) for name in names}
    return {name: value for name, value in given.items() if value is not None}


def _object(body: Body, name: str, prefix: str = "") -> dict[str, Any] | None:
    value = body.get(name)
    if value is not None and not isinstance(value, dict):
        raise InvalidRequest.field(
            prefix + name, f"Value must be an object, but got {json_type(value)}"
        )
    return value


# -- what is passed on -----------------------------------------------------------------


def _chat_fields(
    body: Body, tools: list[dict[str, Any]] | None, effort: str | None
) -> dict[str, Any]:
    chat = {name: body.get(name) for name in _CHAT_FIELDS}
    return {**chat, "tools": tools, "reasoning_effort": effort}


def _option_fields(
    body: Body, n_output: int | None, n_top: int | None
) -> dict[str, Any]:
    # Chat's switch for logprobs, where the native fields have a number.
    options = without_reading({k: v for k, v in body.items() if k != "logprobs"})
    if n_output is not None:
        for name in _LENGTHS:
            options.pop(name, None)
        options["n_predict"] = n_output
    if n_top is not None:
        options["n_probs"] = max(n_top, 1)
    return options
