"""Flags that say what answers look like: grammars and schemas, given or in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from api.settings.flags import Kind, SettingsError
from llamactypes.constraints.output_form import FormKind, OutputForm, form_grammar
from llamactypes.errors import ConstraintError

__all__ = ("GRAMMAR", "GRAMMAR_FILE", "SCHEMA", "SCHEMA_FILE")


def _checked(form: OutputForm) -> OutputForm:
    """Return the form, if it can be honoured by some model.

    Raises:
        SettingsError: It cannot by any.
    """
    if form.kind is FormKind.GBNF and "<" in form.value:
        return form  # it may name tokens, and there is no vocabulary yet
    try:
        form_grammar(form, {})
    except ConstraintError as error:
        raise SettingsError(f"{form.parameter}: {error}") from error
    return form


def _grammar(text: str) -> OutputForm:
    return _checked(OutputForm(FormKind.GBNF, text, "--grammar"))


def _schema(text: str) -> OutputForm:
    schema: Any = json.loads(text)
    return _checked(OutputForm(FormKind.SCHEMA, schema, "--json-schema"))


GRAMMAR = Kind(_grammar, "a grammar in GBNF")
GRAMMAR_FILE = Kind(
    lambda path: _grammar(Path(path).read_text(encoding="utf-8")), "a readable file"
)
SCHEMA = Kind(_schema, "a JSON Schema")
SCHEMA_FILE = Kind(
    lambda path: _schema(Path(path).read_text(encoding="utf-8")),
    "a readable file with a JSON Schema",
)
