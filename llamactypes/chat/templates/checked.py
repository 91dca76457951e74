"""Jinja2's own work, with sizes checked before and after it.

Much of it is one call into C that nothing can interrupt: what would be huge has to be
refused beforehand. A text that grows by a factor in each step is refused after a step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from jinja2 import nodes

from llamactypes.chat.templates.budget import RenderBudget

__all__ = ("WEIGHED", "checked_concat", "checked_filter", "weigh", "weigh_operands")

WEIGHED = "weighed value"  # a name with a blank: no template can write it

# They make a text of what they are given, compare it, or hash it.
_DEEP_FILTERS = frozenset(
    {
        *("upper", "lower", "title", "capitalize", "trim", "replace", "string"),
        *("e", "escape", "forceescape", "striptags", "xmlattr", "urlencode", "urlize"),
        *("wordcount", "pprint", "tojson", "format", "join", "truncate", "wordwrap"),
        *("center", "indent", "unique", "sort", "min", "max", "groupby", "dictsort"),
        "sum",
    }
)
_COUNTED_FILTERS = frozenset({"batch", "slice"})  # they are told how many to make


def weigh(value: Any) -> Any:
    """Return `value`, unless it is too large to be written or compared."""
    budget = RenderBudget.current()
    if budget is not None and not isinstance(value, str | int | float | None):
        budget.weigh(value)
    return value


def checked_concat(parts: Iterable[str]) -> str:
    """Join the output of a block or macro."""
    texts = list(parts)
    budget = RenderBudget.current()
    if budget is not None:
        budget.check_size(sum(map(len, texts)))
    return "".join(texts)


def checked_filter(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter whose input and output are checked."""
    is_deep = name in _DEEP_FILTERS

    # Keeps the mark with which Jinja2 passes an environment or a context.
    @functools.wraps(plain)
    def checked(*args: Any, **kwargs: Any) -> Any:
        budget = RenderBudget.current() or RenderBudget()
        given = args[1:] if hasattr(plain, "jinja_pass_arg") else args
        if is_deep:
            for value in (*given, *kwargs.values()):
                weigh(value)
        if name in _COUNTED_FILTERS:
            numbers = (*given, *kwargs.values())
            budget.check_items(
                max((n for n in numbers if isinstance(n, int)), default=0)
            )
        if name == "join" and given and isinstance(given[0], Iterable):
            args, given = _join_arguments(budget, args, given, kwargs)
        elif name == "replace" and len(given) >= 3:
            budget.check_replace(str(given[0]), given[1], given[2])
        elif name == "wordwrap":
            budget.check_size(len(str(given[0])) * _longest((*given[1:], kwargs)))
        result = plain(*args, **kwargs)
        budget.check_result(result)
        return result

    return checked


def _join_arguments(
    budget: RenderBudget, args: tuple[Any, ...], given: tuple[Any, ...], kwargs: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    items = list(given[0])
    glue = given[1] if len(given) > 1 else kwargs.get("d", "")
    n_glue = len(glue) if isinstance(glue, str) else 0
    budget.check_size(budget.weigh(items) + n_glue * len(items))
    index = len(args) - len(given)
    return (*args[:index], items, *args[index + 1 :]), (items, *given[1:])


def _longest(values: tuple[Any, ...]) -> int:
    return max(
        (
            len(each)
            for value in values
            for each in (value.values() if isinstance(value, dict) else [value])
            if isinstance(each, str)
        ),
        default=1,
    )


def weigh_operands(tree: nodes.Template) -> None:
    """Weigh what is compared or hashed: neither can be interrupted."""
    for compare in tree.find_all(nodes.Compare):
        operands = [compare.expr, *(operand.expr for operand in compare.ops)]
        if any(isinstance(each, nodes.Const) for each in operands):
            continue  # a container is not compared deeply with a text or number
        compare.expr = _weighed(compare.expr)
        for operand in compare.ops:
            operand.expr = _weighed(operand.expr)
    for pair in list(tree.find_all(nodes.Pair)):
        if not isinstance(pair.key, nodes.Const):
            pair.key = _weighed(pair.key)
    for item in list(tree.find_all(nodes.Getitem)):
        if not isinstance(item.arg, nodes.Const | nodes.Slice):
            item.arg = _weighed(item.arg)


def _weighed(value: nodes.Expr) -> nodes.Expr:
    weighed = nodes.Filter(value, WEIGHED, [], [], None, None)
    weighed.set_lineno(value.lineno)
    return weighed
