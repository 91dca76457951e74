"""The grammar of arguments with bare keys and texts between marks. Pure text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llamactypes.chat.output.grammar.properties import (
    Property,
    bare,
    check_value,
    items_of,
    properties_of,
)
from llamactypes.constraints.lark import LarkGrammar, regex

__all__ = ("UnquotedGrammar",)

_DEEPEST = 6
_KEY = r"[A-Za-z0-9_.\-]{1,64}"
_NUMBER = r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?([eE][\-+]?[0-9]{1,3})?"


class UnquotedGrammar:
    """Writes `ArgumentForm.UNQUOTED` into a grammar."""

    def __init__(self, grammar: LarkGrammar, quote: str) -> None:
        self._grammar = grammar
        self._quote = quote
        self._any = ""

    def fields(self, properties: Sequence[Property], *, depth: int = 0) -> str:
        """Return the expression of ``key:value`` for each of `properties`."""
        rest = {True: '""', False: '""'}
        for each in reversed(properties):
            key = self._grammar.literal(f"{each.name}:")
            field = self._grammar.rule(f"{key} {self._value(each, depth)}")
            after = rest[True]
            alone, behind = f"{field} {after}", f'"," {field} {after}'
            if not each.is_required:
                alone, behind = f"{alone} | {rest[False]}", f"{behind} | {after}"
            rest = {False: self._grammar.rule(alone), True: self._grammar.rule(behind)}
        return rest[False]

    def _value(self, value: Property, depth: int) -> str:
        if value.choices is not None:
            return f"({' | '.join(self._fixed(each) for each in value.choices)})"
        if value.types is None or depth >= _DEEPEST:
            return self._anything()
        kinds = sorted(value.types)
        return f"({' | '.join(self._typed(each, value, depth) for each in kinds)})"

    def _typed(self, kind: str, value: Property, depth: int) -> str:
        if kind == "string":
            return self._text(value.patterns)
        if kind in ("array", "object"):
            check_value(value)
        schema = value.schema if isinstance(value.schema, Mapping) else {}
        if kind == "object" and schema.get("properties"):
            inner = self.fields(properties_of(schema, value.path), depth=depth + 1)
            return f'"{{" {inner} "}}"'
        if kind == "array":
            return self._array(value, depth)
        if kind == "object":
            return _object_of(self._anything())
        return value.as_json(kind)

    def _array(self, value: Property, depth: int) -> str:
        items = items_of(value, "items")
        item = self._grammar.rule(self._value(items, depth + 1))
        return f'"[" ({item} ("," {item})*)? "]"'

    def _text(self, patterns: Sequence[str] = ()) -> str:
        mark = self._grammar.literal(self._quote)
        return f"{mark} {self._grammar.until(self._quote, matching=patterns)}"

    def _fixed(self, value: Any) -> str:
        written = self._grammar.literal(bare(value))
        mark = self._grammar.literal(self._quote)
        return f"{mark} {written} {mark}" if isinstance(value, str) else written

    def _anything(self) -> str:
        """Return the expression of any value, with a few levels within each other."""
        if not self._any:
            self._any = self._grammar.rule(" | ".join(self._scalars()))
            for _ in range(_DEEPEST):
                self._any = self._grammar.rule(" | ".join(self._around(self._any)))
        return self._any

    def _scalars(self) -> list[str]:
        return [self._text(), regex(_NUMBER), '"true"', '"false"', '"null"']

    def _around(self, inner: str) -> list[str]:
        array = f'"[" ({inner} ("," {inner})*)? "]"'
        return [*self._scalars(), array, _object_of(inner)]


def _object_of(value: str) -> str:
    """Return the expression of an object whose values are all as `value` says."""
    field = f'{regex(_KEY)} ":" {value}'
    return f'"{{" ({field} ("," {field})*)? "}}"'
