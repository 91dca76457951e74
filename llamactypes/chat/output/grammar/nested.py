"""The grammar of arguments that are tags within tags. Pure text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llamactypes.chat.output.calls.nested_arguments import ITEM
from llamactypes.chat.output.grammar.properties import (
    Property,
    bare,
    check_value,
    items_of,
    properties_of,
)
from llamactypes.constraints.lark import LarkGrammar

__all__ = ("NestedGrammar",)

_DEEPEST = 8


class NestedGrammar:
    """Writes `ArgumentForm.NESTED` into a grammar."""

    def __init__(self, grammar: LarkGrammar, mark: str) -> None:
        self._grammar = grammar
        self._mark = mark

    def fields(self, properties: Sequence[Property], *, depth: int = 0) -> str:
        """Return the expression of an element for each of `properties`."""
        written = [
            f"({self._element(each, depth)}){'' if each.is_required else '?'}"
            for each in properties
        ]
        return " ".join(written) or '""'

    def _element(self, one: Property, depth: int) -> str:
        opened = self._literal(f" {self._mark}<{one.name}>")
        return self._grammar.rule(f"{opened} {self._value(one, depth)}")

    def _value(self, one: Property, depth: int) -> str:
        """Return the expression of a value and the tag that ends it."""
        close = f"{self._mark}</{one.name}>"
        if one.choices is not None:
            choices = " | ".join(
                self._literal(bare(each) + close) for each in one.choices
            )
            return f"({choices})"
        types = one.types
        if types is None or "string" in types or depth >= _DEEPEST:
            return self._grammar.until(close, matching=one.patterns)
        if types == frozenset({"object"}) and not _has_properties(one):
            held = f"{self._literal(f' {self._mark}<')} {self._grammar.until(close)}"
            return f"({held} | {self._literal(f' {close}')})"
        kinds = [self._typed(kind, one, depth) for kind in sorted(types)]
        return f"({' | '.join(kinds)}) {self._literal(f' {close}')}"

    def _typed(self, kind: str, one: Property, depth: int) -> str:
        if kind == "null":
            return '""'
        if kind in ("array", "object"):
            check_value(one)
        if kind == "array":
            return f"({self._element(items_of(one, ITEM), depth + 1)}){one.n_items}"
        if kind == "object":
            return self.fields(properties_of(one.schema, one.path), depth=depth + 1)
        return one.as_json(kind)

    def _literal(self, text: str) -> str:
        return self._grammar.literal(text, flexible_space=True)


def _has_properties(one: Property) -> bool:
    return isinstance(one.schema, Mapping) and bool(one.schema.get("properties"))
