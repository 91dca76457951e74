"""The sandbox in which chat templates run, with Hugging Face's conventions.

Templates are written against the renderer of Hugging Face's transformers: Jinja2's
immutable sandbox, trimmed blocks, ``break``/``continue``, a ``generation`` tag,
``raise_exception``, ``strftime_now`` and a ``tojson`` that writes plain JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextvars import ContextVar
from datetime import datetime
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, LoopControlExtension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from llamactypes.chat.templates.budget import RenderBudget
from llamactypes.chat.templates.checked import (
    WEIGHED,
    checked_concat,
    checked_filter,
    weigh,
    weigh_operands,
)

__all__ = ("NOW", "make_environment")

NOW: ContextVar[datetime | None] = ContextVar("render_now", default=None)
"""What ``strftime_now`` takes for the present; None is the clock."""


_STEP = "counted step"  # names with a blank: no template can write them
_JOIN = "checked join"


class ChatEnvironment(ImmutableSandboxedEnvironment):
    """Jinja2's immutable sandbox that also counts steps and sizes."""

    # Intercepted operators are not folded by the compiler, so that the limits hold.
    intercepted_binops = frozenset({"+", "*", "**", "%"})

    concat = staticmethod(checked_concat)

    grows_lists = False
    """Whether a template may append to lists and pop from them."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Return whether a template may use an attribute."""
        if self.grows_lists and type(obj) is list and attr in ("append", "pop"):
            return True
        return super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute ``left operator right`` unless the result would be too large."""
        budget = RenderBudget.current()
        if budget is not None:
            budget.check_operator(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call `obj` for the template, counted as one step."""
        budget = RenderBudget.current()
        if budget is not None:
            budget.step()
            budget.check_method(obj, (*args, *kwargs.values()))
        result = super().call(context, obj, *args, **kwargs)
        if budget is not None:
            budget.check_result(result)
        return result

    def _parse(
        self, source: str, name: str | None, filename: str | None
    ) -> nodes.Template:
        return _with_limits(super()._parse(source, name, filename))


class GenerationTag(Extension):
    """``{% generation %}…{% endgeneration %}``: marks the assistant's own text.

    Only training uses the mark; for a prompt the body is rendered as it is.
    """

    tags = {"generation"}  # noqa: RUF012 - jinja2 declares it as a set

    def parse(self, parser: Parser) -> nodes.Node:
        """Return the body as a scope of its own."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body).set_lineno(line)


def _with_limits(tree: nodes.Template) -> nodes.Template:
    # A loop that writes nothing never returns to the renderer, so each body begins
    # with a counted step; and `~` doubles a text in one step, so its size is checked.
    # PERF: tests and filters are called directly, functions through the sandbox (4 µs).
    for loop in tree.find_all(nodes.For):
        step = nodes.Test(nodes.Const(None), _STEP, [], [], None, None)
        loop.body.insert(0, nodes.ExprStmt(step).set_lineno(loop.lineno))
    _replace_concats(tree)
    weigh_operands(tree)
    return tree


def _replace_concats(node: nodes.Node) -> None:
    for field, value in node.iter_fields():
        if isinstance(value, list):
            value[:] = [_replaced(item) for item in value]
        else:
            setattr(node, field, _replaced(value))


def _replaced(value: Any) -> Any:
    if not isinstance(value, nodes.Node):
        return value
    _replace_concats(value)
    if not isinstance(value, nodes.Concat):
        return value
    first, *rest = value.nodes
    joined = nodes.Filter(first, _JOIN, rest, [], None, None)
    return joined.set_lineno(value.lineno)


# Taking the context keeps the compiler from computing them beforehand.
@jinja2.pass_context
def _count_step(context: Context, value: None) -> bool:
    budget = RenderBudget.current()
    if budget is not None:
        budget.step()
    return True


@jinja2.pass_context
def _join_checked(context: Context, *parts: Any) -> str:
    texts = [str(weigh(part)) for part in parts]
    budget = RenderBudget.current()
    if budget is not None:
        budget.check_size(sum(map(len, texts)))
    return "".join(texts)


# -- globals and filters -----------------------------------------------------------


class TemplateNamespace(Namespace):
    """Jinja2's ``namespace`` that refuses names with a leading underscore."""

    def __init__(*args: Any, **kwargs: Any) -> None:  # `self` may be a template's key
        self, rest = args[0], args[1:]
        values = dict(*rest, **kwargs)
        for name in values:
            _check_attribute(name)
        Namespace.__init__(self, values)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_attribute(name)
        super().__setitem__(name, value)


def _check_attribute(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace attribute may not be named {name!r}")


class TemplateDict:
    """``dict`` for templates: makes dictionaries, gives no access to the type."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        """Return ``dict(*args, **kwargs)``."""
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        """Return ``dict.fromkeys(*args)``."""
        return dict.fromkeys(*args)


def _raise_exception(message: Any) -> NoReturn:
    raise jinja2.TemplateError(str(message))


def _strftime_now(pattern: str) -> str:
    return (NOW.get() or datetime.now()).strftime(pattern)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
        default=_plain_list,
    )


def _plain_list(value: Any) -> list[Any]:
    # What `map` and `selectattr` return; llama.cpp's renderer writes a list as well.
    if isinstance(value, Generator):
        return list(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _guarded(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    # Text filters with a width or a repetition: the size is checked before the work.
    def guarded(value: Any, *args: Any, **kwargs: Any) -> Any:
        budget = RenderBudget.current() or RenderBudget()
        text = str(value)
        given = (*args, *kwargs.values())
        if name == "format":
            budget.check_format(text)
        else:
            lines = text.count("\n") + 1 if name == "indent" else len(text) or 1
            numbers = [number for number in given if isinstance(number, int)]
            budget.check_size(lines * max(numbers, default=1))
        return plain(value, *args, **kwargs)

    return guarded


def make_environment(*, grows_lists: bool = False) -> ChatEnvironment:
    """Return a new environment with Hugging Face's extensions, filters and globals.

    Args:
        grows_lists: A template may append to lists and pop from them: those it is
            given must be copies.
    """
    environment = ChatEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[LoopControlExtension, GenerationTag],
        finalize=weigh,
    )
    environment.grows_lists = grows_lists
    environment.tests[_STEP] = _count_step
    environment.filters[_JOIN] = _join_checked
    environment.filters["tojson"] = _tojson
    for name in ("center", "indent", "format"):
        environment.filters[name] = _guarded(name, environment.filters[name])
    for name, plain in environment.filters.items():
        environment.filters[name] = checked_filter(name, plain)
    environment.filters[WEIGHED] = weigh
    environment.globals.pop("lipsum")  # random text: no prompt needs it
    environment.globals |= {
        "raise_exception": _raise_exception,
        "strftime_now": _strftime_now,
        "dict": TemplateDict(),
        "namespace": TemplateNamespace,
    }
    return environment
