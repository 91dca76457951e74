"""What an answer must look like, as it was asked for. Pure."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llamactypes.constraints.gbnf import gbnf_expression
from llamactypes.constraints.json_schema import json_schema_rule
from llamactypes.constraints.lark import LarkGrammar, regex
from llamactypes.constraints.patterns import translated_pattern
from llamactypes.errors import ConstraintError

__all__ = ("FormKind", "OutputForm", "form_grammar")


class FormKind(enum.Enum):
    """How a form is written."""

    SCHEMA = "json_schema"
    """A JSON Schema: the answer is JSON that matches it."""
    GBNF = "grammar"
    """llama.cpp's grammars."""
    REGEX = "regex"
    """A regular expression that matches the whole answer."""
    LARK = "lark"
    """llguidance's dialect of Lark."""


@dataclass(frozen=True, slots=True, eq=False)
class OutputForm:
    """The form of an answer. It holds for all of it, but not for thinking before."""

    kind: FormKind
    value: Any
    """A schema, or the text of a grammar."""
    parameter: str
    """Where the request has it."""

    def write(
        self,
        grammar: LarkGrammar,
        control_tokens: Mapping[str, int],
        end_tokens: Sequence[int] = (),
        *,
        is_dense: bool = False,
    ) -> str:
        """Add the form to `grammar` and return its expression.

        Args:
            grammar: Where its rules go.
            control_tokens: Text to number.
            end_tokens: What ends a text, and is never part of one.
            is_dense: JSON has no white space but a blank after commas and colons.

        Raises:
            ConstraintError: It cannot be honoured; the path begins with `parameter`.
        """
        try:
            if self.kind is FormKind.SCHEMA:
                return self._json(is_dense)
            return self._written(grammar, control_tokens, end_tokens)
        except ConstraintError as error:
            if error.path:
                raise
            raise ConstraintError(str(error), self.parameter) from error

    def _written(
        self,
        grammar: LarkGrammar,
        control_tokens: Mapping[str, int],
        end_tokens: Sequence[int],
    ) -> str:
        if self.kind is FormKind.GBNF:
            return gbnf_expression(self.value, grammar, control_tokens, end_tokens)
        if self.kind is FormKind.REGEX:
            return grammar.terminal(regex(translated_pattern(self.value, whole=True)))
        return grammar.nested(self.value)

    def _json(self, is_dense: bool) -> str:
        # As llama-server has it: an empty schema is that of any object.
        schema = {"type": "object"} if self.value == {} else self.value
        return json_schema_rule(schema, path=self.parameter, is_dense=is_dense)

    def mentions(self, text: str, control_tokens: Mapping[str, int]) -> bool:
        """Whether a grammar speaks of `text`, such as a tag of thinking, itself."""
        text = text.strip()
        if self.kind is FormKind.SCHEMA or not text:
            return False
        number = control_tokens.get(text)
        return text in self.value or f"<[{number}]>" in self.value

    @property
    def shown(self) -> str:
        """The form as text, for echoes of what was asked."""
        return self.value if isinstance(self.value, str) else json.dumps(self.value)


def form_grammar(
    form: OutputForm,
    control_tokens: Mapping[str, int],
    end_tokens: Sequence[int] = (),
) -> str:
    """Return the grammar of outputs that are `form` from the first token to the last.

    Raises:
        ConstraintError: See `OutputForm.write`.
    """
    if form.kind is FormKind.LARK:
        return str(form.value)
    grammar = LarkGrammar(control_tokens)
    return grammar.finish(form.write(grammar, control_tokens, end_tokens))
