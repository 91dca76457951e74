"""The grammar of a call's arguments, by the form they are written in. Pure text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from llamactypes.chat.output.calls.value_types import TEXT_ONLY
from llamactypes.chat.output.format import (
    ArgumentForm,
    TaggedArguments,
    ToolSyntax,
)
from llamactypes.chat.output.grammar.nested import NestedGrammar
from llamactypes.chat.output.grammar.properties import (
    Property,
    bare,
    check_required,
    check_shape,
    properties_of,
    with_object,
)
from llamactypes.chat.output.grammar.unquoted import UnquotedGrammar
from llamactypes.constraints.json_schema import json_schema_rule
from llamactypes.constraints.lark import LarkGrammar, regex
from llamactypes.errors import ConstraintError, ConstraintUnavailable

__all__ = ("ArgumentGrammar",)

# With new lines: templates write them as they are.
_PYTHON_STRINGS = (r'"([^"\\]|\\(?s:.))*"', r"'([^'\\]|\\(?s:.))*'")
_KEY = r"[A-Za-z0-9_.\-]{1,64}"
_NAME = re.compile(r"[^\x00-\x1f\x7f<>\"'\[\]{}:,|/\\]{1,200}")
_NAMES = {
    ArgumentForm.PYTHON: re.compile(r"[A-Za-z0-9_]{1,200}"),
    ArgumentForm.NESTED: re.compile(r"[^\s<>/]{1,200}"),
}
"""Names of arguments that are no JSON strings: without what may follow them."""
_WORDS = {"boolean": ("True", "False"), "null": ("None",)}
"""Python's spelling of what JSON spells otherwise."""


class ArgumentGrammar:
    """Writes arguments in one syntax's form into a grammar."""

    def __init__(self, grammar: LarkGrammar, syntax: ToolSyntax) -> None:
        self._grammar = grammar
        self._syntax = syntax
        self._space = grammar.space()

    def of_tool(self, function: Mapping[str, Any], path: str) -> str:
        """Return the expression of a tool's arguments.

        Args:
            function: With ``name`` and ``parameters``.
            path: Of the parameters, in the request.

        Raises:
            ConstraintError: The parameters cannot be honoured.
        """
        try:
            schema = with_object(function.get("parameters"), path)
            # In every form, so that one schema is refused for all models or for none.
            as_json = json_schema_rule(schema, path=path)
            if self._syntax.arguments is not ArgumentForm.JSON:
                check_shape(schema, path, is_strict=bool(function.get("strict")))
            return self._grammar.rule(self._written(schema, as_json, path))
        except ConstraintUnavailable:
            raise
        except ConstraintError as error:
            name = function.get("name")
            where = error.path if error.path.startswith(path) else path
            raise ConstraintError(f"tool '{name}': {error}", where) from error

    def _written(self, schema: Mapping[str, Any], as_json: str, path: str) -> str:
        form = self._syntax.arguments
        if form is ArgumentForm.JSON:
            return as_json
        if form is ArgumentForm.JSON_STRING:
            raise ConstraintUnavailable(
                "calls of this model have their arguments as a text that holds JSON, "
                "and no grammar can say what is in it"
            )
        properties = properties_of(schema, path)
        self._check_names(properties)
        check_required(schema, properties, path)
        if form is ArgumentForm.UNQUOTED:
            unquoted = UnquotedGrammar(self._grammar, self._syntax.quote)
            # Or by name: so the template of its only family has shown them.
            by_name = sorted(properties, key=lambda each: each.name)
            return f"{unquoted.fields(properties)} | {unquoted.fields(by_name)}"
        if form is ArgumentForm.NESTED:
            return NestedGrammar(self._grammar, self._syntax.quote).fields(properties)
        if form is ArgumentForm.TAGGED and self._syntax.tagged is not None:
            return self._tagged(properties, self._syntax.tagged, schema)
        return self._python(properties)

    def _check_names(self, properties: Sequence[Property]) -> None:
        allowed = _NAMES.get(self._syntax.arguments, _NAME)
        for each in properties:
            if allowed.fullmatch(each.name) is None:
                raise ConstraintError(
                    f"the argument {each.name[:64]!r} has a name that calls of this "
                    "model cannot write",
                    each.path,
                )

    # -- each argument between tags ------------------------------------------------

    def _tagged(
        self,
        properties: Sequence[Property],
        tagged: TaggedArguments,
        schema: Mapping[str, Any],
    ) -> str:
        written = [
            f"({self._argument(each, tagged)}){'' if each.is_required else '?'}"
            for each in properties
        ]
        if schema.get("additionalProperties", False) is not False:
            written.append(f"({self._any_argument(tagged)})*")
        return " ".join(written) or '""'

    def _argument(self, argument: Property, tagged: TaggedArguments) -> str:
        # The name as it is, whatever white space it has.
        before = self._literal(f" {tagged.before_key.lstrip()}")
        key = f"{before} {self._grammar.literal(argument.name)}"
        kinds = [f"{lead} {value}" for lead, value in self._values(argument, tagged)]
        return f"{key} ({' | '.join(kinds)}) {self._separator(tagged)}"

    def _separator(self, tagged: TaggedArguments) -> str:
        separator = tagged.separator.strip()
        return f"({self._literal(f' {separator}')})?" if separator else ""

    def _values(
        self, argument: Property, tagged: TaggedArguments
    ) -> list[tuple[str, str]]:
        """Return expressions of what is before a value, and of it and what ends it."""
        types = argument.types
        json_value = self._json_value(argument, tagged)
        before = self._literal(tagged.after_key)
        if tagged.json_strings:
            return [(before, json_value)]
        is_text = types is None or "string" in types
        lead = self._literal(tagged.after_key.rstrip())
        text = (lead, self._text_value(argument, tagged))
        if not tagged.after_key_by_type:
            return [text if is_text else (before, json_value)]
        others: dict[str, list[str]] = {}
        for kind, after_key in tagged.after_key_by_type:
            if types is None or kind in types:
                value = self._json_value(argument, tagged, kind)
                others.setdefault(self._literal(after_key), []).append(value)
        typed = [(lead, f"({' | '.join(each)})") for lead, each in others.items()]
        return [*([text] if is_text else []), *typed]

    def _json_value(
        self, argument: Property, tagged: TaggedArguments, kind: str = ""
    ) -> str:
        words = self._python_words(argument, kind)
        values = f"({argument.as_json(kind)} {words})"
        end = self._literal(f" {tagged.after_value.strip()}")
        return f"{self._space} {values} {end}"

    def _text_value(self, argument: Property, tagged: TaggedArguments) -> str:
        # White space besides the format's own would be the value's.
        lead = tagged.after_key[len(tagged.after_key.rstrip()) :]
        end = tagged.after_value
        if argument.choices is None:
            patterns = argument.patterns
            return self._grammar.until(end, matching=patterns, before=lead)
        texts = (self._grammar.literal(bare(each)) for each in argument.choices)
        choices = " | ".join(texts)
        last = end.lstrip()
        tail = self._maybe(end[: len(end) - len(last)])
        return f"{self._maybe(lead)} ({choices}) {tail} {self._literal(last)}"

    def _maybe(self, text: str) -> str:
        return f"({self._grammar.literal(text)})?" if text else ""

    def _any_argument(self, tagged: TaggedArguments) -> str:
        before = self._literal(f" {tagged.before_key.lstrip()}")
        after = self._literal(tagged.after_key)
        value = self._grammar.until(tagged.after_value)
        parts = [before, regex(_KEY), after, value, self._separator(tagged)]
        return " ".join(parts)

    # -- keyword arguments ---------------------------------------------------------

    def _python(self, properties: Sequence[Property]) -> str:
        """Return the expression of keyword arguments with commas between them."""
        rest = {True: '""', False: '""'}
        comma = f'{self._space} "," {self._space}'
        for each in reversed(properties):
            argument = self._grammar.rule(self._keyword(each))
            after = rest[True]
            alone, behind = f"{argument} {after}", f"{comma} {argument} {after}"
            if not each.is_required:
                alone, behind = f"{alone} | {rest[False]}", f"{behind} | {after}"
            rest = {
                False: self._grammar.rule(alone),
                True: self._grammar.rule(behind),
            }
        return rest[False]

    def _keyword(self, argument: Property) -> str:
        key = self._literal(argument.name)
        values = self._python_values(argument)
        return f'{key} {self._space} "=" {self._space} ({" | ".join(values)})'

    def _python_values(self, argument: Property) -> list[str]:
        types = argument.types
        if argument.choices is not None:
            return [self._python_choice(each) for each in argument.choices]
        if argument.patterns or not (types is None or argument.is_any_of_types):
            return [argument.as_json()]
        if types == TEXT_ONLY:
            return [regex(each) for each in _PYTHON_STRINGS]
        values = [argument.as_json()]
        if types is None or "string" in types:
            values.append(regex(_PYTHON_STRINGS[1]))
        return [*values[:-1], f"{values[-1]} {self._python_words(argument)}"]

    def _python_choice(self, value: Any) -> str:
        if not isinstance(value, str):
            return self._grammar.literal(bare(value))
        single = value.replace("\\", "\\\\").replace("'", "\\'")
        ways = (bare([value])[1:-1], f"'{single}'")
        return " | ".join(self._grammar.literal(each) for each in ways)

    def _python_words(self, argument: Property, kind: str = "") -> str:
        """Return further choices: Python's words, which some templates write."""
        if not argument.is_any_of_types:
            return ""
        types = frozenset({kind}) if kind else argument.types
        words = [
            f"| {self._literal(word)}"
            for kind, spelled in _WORDS.items()
            for word in spelled
            if types is None or kind in types
        ]
        return " ".join(words)

    def _literal(self, text: str) -> str:
        return self._grammar.literal(text, flexible_space=True) if text else ""
