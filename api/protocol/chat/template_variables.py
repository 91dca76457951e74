"""What a chat request says to the chat template besides its messages. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.protocol.fields import Body, json_type, text
from api.protocol.invalid import InvalidRequest

__all__ = ("read_documents", "read_template_name", "read_template_variables")

_BOOLEANS = ("enable_thinking", "preserve_reasoning")


def read_template_variables(body: Body, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables: the request's, then those of the server's flags.

    ``preserve_reasoning`` and ``reasoning_effort`` are given under each name that
    templates have for them.

    Raises:
        InvalidRequest: A variable has the wrong type.
    """
    given = body.get("chat_template_kwargs")
    if given is not None and not isinstance(given, dict):
        raise InvalidRequest.field(
            "chat_template_kwargs",
            f"Value must be an object, but got {json_type(given)}",
        )
    variables = {
        "enable_thinking": True,
        "preserve_reasoning": True,
        **defaults,
        **(given or {}),
    }
    for name in _BOOLEANS:
        if not isinstance(variables[name], bool):
            raise InvalidRequest(
                f'invalid type for "{name}" (expected boolean, got '
                f"{json_type(variables[name])})",
                "chat_template_kwargs",
            )
    _set_effort(variables, text(body, "reasoning_effort"))
    return {**_preserving(variables["preserve_reasoning"]), **variables}


def _set_effort(variables: dict[str, Any], effort: str | None) -> None:
    if effort == "none":
        variables["enable_thinking"] = False
        variables.pop("reasoning_effort", None)
    elif effort:
        variables["reasoning_effort"] = effort
    wanted = variables.get("reasoning_effort")
    if isinstance(wanted, str) and wanted:
        variables.setdefault("reasoning_strength", wanted)


def _preserving(is_kept: bool) -> dict[str, bool]:
    return {
        "preserve_thinking": is_kept,
        "clear_thinking": not is_kept,
        "truncate_history_thinking": not is_kept,
        "drop_thinking": not is_kept,
    }


def read_documents(body: Body) -> list[dict[str, Any]] | None:
    """Return the documents that the answer may draw on; None: there are none.

    Raises:
        InvalidRequest: They are no list of objects.
    """
    documents = body.get("documents")
    if documents is None:
        return None
    if not isinstance(documents, list):
        raise InvalidRequest.field(
            "documents", f"Value must be an array, but got {json_type(documents)}"
        )
    for index, document in enumerate(documents):
        if not isinstance(document, dict):
            raise InvalidRequest(
                f"Expected documents[{index}] to be an object", f"documents[{index}]"
            )
    return documents or None


def read_template_name(body: Body) -> str | None:
    """Return the name of the model's template that renders this request, if any.

    Raises:
        InvalidRequest: It is the text of a template.
    """
    name = text(body, "chat_template")
    if name and ("{" in name or len(name.split()) != 1):
        raise InvalidRequest.field(
            "chat_template",
            "Value must be the name of one of the model's templates; a template of "
            "your own is given to the server with --chat-template",
        )
    return name or None
