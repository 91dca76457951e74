"""What a request says about the form of its answer. Pure.

``response_format``, ``json_schema``, ``grammar``, and this server's own ``regex`` and
``lark``: one of them at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from api.protocol.fields import Body, boolean, json_type
from api.protocol.invalid import InvalidRequest, NotSupported
from llamactypes.constraints.output_form import FormKind, OutputForm

__all__ = ("FORMAT_TYPES", "one_form", "read_flat_format", "read_output_form")

_GRAMMARS = {
    "grammar": FormKind.GBNF,
    "regex": FormKind.REGEX,
    "lark": FormKind.LARK,
}
FORMAT_TYPES = ("text", "json_object", "json_schema", *_GRAMMARS)
"""Of ``response_format`` and its likes."""

_LAZY = (
    "a grammar holds from the first token on, and after thinking; write one of the "
    "whole answer, in which free text comes first, or use tools"
)


def read_output_form(body: Body) -> OutputForm | None:
    """Return the form that a request asks for; None: any text will do.

    Raises:
        InvalidRequest: It is malformed, or there are two.
    """
    _refuse_lazy(body)
    return one_form(*_forms(body))


def one_form(*given: OutputForm | None) -> OutputForm | None:
    """Return the one form that is given, or None.

    Raises:
        InvalidRequest: There are two.
    """
    forms = [form for form in given if form is not None]
    if len(forms) > 1:
        names = " and ".join(form.parameter.split(".")[0] for form in forms[:2])
        raise InvalidRequest(f"Cannot use both {names}", forms[1].parameter)
    return forms[0] if forms else None


def read_flat_format(value: Any, where: str) -> OutputForm | None:
    """Return the form of a format that has its schema directly, not in an object.

    So Responses' ``text.format`` and the formats of Messages have it.

    Args:
        value: What the request has.
        where: Its place in the request.
    """
    return _format(value, where, lambda format: (format, where))


def _forms(body: Body) -> Iterable[OutputForm | None]:
    if body.get("json_schema") is not None:
        yield _schema(body["json_schema"], "json_schema")
    for name in _GRAMMARS:
        yield _grammar(name, body.get(name), name)
    yield _format(body.get("response_format"), "response_format", _inner_schema)


def _format(
    value: Any, where: str, find_schema: Callable[[Body], tuple[Body, str]]
) -> OutputForm | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _wrong_type(where, "an object", value)
    kind = value.get("type")
    if kind in (None, "text"):
        return None
    if kind == "json_object":
        return _schema(value.get("schema"), f"{where}.schema")
    if kind == "json_schema":
        return _schema_format(*find_schema(value))
    if isinstance(kind, str) and kind in _GRAMMARS:
        return _required_grammar(kind, value, where)
    raise InvalidRequest(
        f'{where} type must be one of "text" or "json_object", "json_schema", '
        f'"grammar", "regex" or "lark", but got: {str(kind)[:64]}',
        where,
    )


def _inner_schema(value: Body) -> tuple[Body, str]:
    where = "response_format.json_schema"
    inner = value.get("json_schema")
    if not isinstance(inner, dict):
        raise _wrong_type(where, "an object", inner)
    return inner, where


def _schema_format(value: Body, where: str) -> OutputForm:
    """Return the form of ``schema``, beside which ``name`` and ``strict`` may be.

    ``strict`` changes nothing: a schema is always honoured or refused. One that is
    not there was put somewhere else: any JSON would not be what was asked for.
    """
    if not isinstance(value.get("name") or "", str):
        raise _wrong_type(f"{where}.name", "a string", value["name"])
    if not isinstance(value.get("strict") or False, bool):
        raise _wrong_type(f"{where}.strict", "a boolean", value["strict"])
    if value.get("schema") is None:
        raise _wrong_type(f"{where}.schema", "a JSON Schema", None)
    return _schema(value["schema"], f"{where}.schema")


def _required_grammar(kind: str, value: Body, where: str) -> OutputForm:
    form = _grammar(kind, value.get(kind), f"{where}.{kind}")
    if form is None:
        why = "Value must be a string that is not empty"
        raise InvalidRequest.field(f"{where}.{kind}", why)
    return form


def _schema(value: Any, where: str) -> OutputForm:
    if value is None:
        value = {}
    if not isinstance(value, dict | bool):
        raise _wrong_type(where, "a JSON Schema", value)
    return OutputForm(FormKind.SCHEMA, value, where)


def _grammar(name: str, value: Any, where: str) -> OutputForm | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise _wrong_type(where, "a string", value)
    return OutputForm(_GRAMMARS[name], value, where)


def _wrong_type(where: str, wanted: str, value: Any) -> InvalidRequest:
    why = f"Value must be {wanted}, but got {json_type(value)}"
    return InvalidRequest.field(where, why)


def _refuse_lazy(body: Body) -> None:
    if boolean(body, "grammar_lazy", False):
        raise NotSupported("grammar_lazy", _LAZY)
    if body.get("grammar_triggers") not in (None, []):
        raise NotSupported("grammar_triggers", _LAZY)
