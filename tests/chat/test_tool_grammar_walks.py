"""Random walks through grammars of random tools: what they write is valid calls.

``LLAMACTYPES_TOOL_WALKS=5000`` runs that many; ``LLAMACTYPES_TOOL_WALKS_SEED`` others.
"""

from __future__ import annotations

import json
import os
import random
from functools import cache

import pytest

from llamactypes.chat import ChatTemplate
from llamactypes.chat.learning import learn_format
from llamactypes.chat.output.format import ArgumentForm
from llamactypes.chat.output.grammar.properties import with_object
from llamactypes.chat.output.parser import ChatParser
from llamactypes.chat.output.pieces import Arguments, CallBegin, Content
from llamactypes.chat.output.tool_choice import ToolChoice
from llamactypes.chat.output.tool_grammar import tool_grammar
from llamactypes.constraints.compiler import Compiler
from llamactypes.constraints.constraint import Constraint
from llamactypes.errors import ConstraintError
from tests.chat.corpus.corpus import families
from tests.chat.small_templates import TEMPLATES
from tests.support.byte_grammar import EOS, ByteVocabulary, control_in
from tests.support.grammar_walks import is_valid
from tests.support.random_schemas import RandomSchemas

pytest.importorskip("llguidance")
pytest.importorskip("jsonschema")

N = int(os.environ.get("LLAMACTYPES_TOOL_WALKS", "80"))
SEED = int(os.environ.get("LLAMACTYPES_TOOL_WALKS_SEED", "0"))
KEYS = ("a", "b", "name", "xy", "é")
NAMES = ("get", "get_all", "d.e-f")
CLOSING = '"}]<),:>'
LONGEST = 500


def _formats():
    every = {name: corpus.format for name, corpus in families()}
    every |= {name: learn_format(ChatTemplate(t)) for name, t in TEMPLATES.items()}
    forms = {n: f for n, f in every.items() if f.tools is not None}
    unconstrained = ArgumentForm.JSON_STRING
    return [f for f in forms.values() if f.tools.arguments is not unconstrained]


FORMATS = _formats()


@cache
def _compiler(control):
    vocabulary = ByteVocabulary(control)
    return vocabulary, Compiler(lambda: vocabulary)


def _tools(draw):
    tools = []
    for name in draw.sample(NAMES, draw.choice([1, 2])):
        keys = draw.sample(KEYS, draw.choice([0, 1, 2, 3]))
        properties = {
            key: RandomSchemas(draw.randrange(1 << 30)).schema() for key in keys
        }
        definitions = {}
        for each in properties.values():
            for word in ("$defs", "definitions"):
                definitions.setdefault(word, {}).update(each.pop(word, {}))
        schema = {"type": "object", "properties": properties, **definitions}
        schema["required"] = [key for key in keys if draw.random() < 0.5]
        function = {"name": name, "parameters": schema}
        tools.append({"type": "function", "function": function})
    return tools


def _walk(matcher, vocabulary, draw):
    """Return a text that matches; None: it did not come to its end, or is no text."""
    text = b""
    for step in range(LONGEST):
        mask = int.from_bytes(matcher.mask(), "little")
        allowed = [token for token in range(vocabulary.n_tokens) if mask >> token & 1]
        others = [token for token in allowed if token != EOS]
        if EOS in allowed and (not others or draw.random() < 0.3 or step > 200):
            return text.decode(errors="ignore")
        assert others or matcher.is_finished, f"a dead end behind {text!r}"
        if not others:
            return text.decode(errors="ignore")
        token = _drawn(others, step, draw)
        matcher.consume(token)
        text += vocabulary.piece(token)
    return None


def _drawn(others, step, draw):
    control = [token for token in others if token > EOS]
    closing = [token for token in others if chr(token) in CLOSING]
    if control and draw.random() < 0.6:
        return draw.choice(control)
    if step > 60 and closing and draw.random() < 0.6:
        return draw.choice(closing)
    # No text is cut within a letter.
    return draw.choice([token for token in others if 32 <= token < 127] or others)


def _read(form, text, schemas):
    parser = ChatParser(form, with_tools=True, streams_arguments=True, schemas=schemas)
    pieces = [*parser.feed(text), *parser.finish()]
    calls = [[piece.name, ""] for piece in pieces if isinstance(piece, CallBegin)]
    for piece in pieces:
        if isinstance(piece, Arguments):
            calls[piece.call][1] += piece.text
    content = "".join(piece.text for piece in pieces if isinstance(piece, Content))
    return calls, content.strip()


def _check(seed):
    """Return how many calls were made; None: the tools were refused."""
    draw = random.Random(seed)
    form, tools = draw.choice(FORMATS), _tools(draw)
    control = tuple(control_in(form.markers)) if draw.random() < 0.5 else ()
    vocabulary, compiler = _compiler(control)
    mode = draw.choice(["auto", "required"])
    try:
        grammar = tool_grammar(
            form,
            tools,
            ToolChoice(mode),
            is_parallel=draw.random() < 0.5,
            in_reasoning=False,
            control_tokens=vocabulary.control_tokens,
        )
        matcher = compiler.compile(Constraint(grammar)).matcher()
    except ConstraintError:
        return None
    text = _walk(matcher, vocabulary, draw)
    if text is None:
        return 0
    schemas = {t["function"]["name"]: t["function"]["parameters"] for t in tools}
    calls, content = _read(form, text, schemas)
    if mode == "required":
        assert calls, (seed, text)
        assert content == "", (seed, text)
    for name, arguments in calls:
        schema = with_object(schemas[name])
        assert is_valid(schema, json.loads(arguments)), (seed, text, arguments)
    return len(calls)


def test_what_grammars_allow_is_read_as_valid_calls():
    made = [_check(SEED * 1_000_000 + number) for number in range(N)]
    followed = [n_calls for n_calls in made if n_calls is not None]
    assert len(followed) > N / 5
    assert sum(followed) > N / 10
