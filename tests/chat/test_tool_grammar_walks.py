"""Whatever a grammar of tool calls lets a model write is read as calls of the tools."""

from __future__ import annotations

import json
import os
import random

import jsonschema
import pytest

from llamactypes.chat.output.format import Slot
from llamactypes.chat.output.tool_choice import ToolChoice
from llamactypes.chat.output.tool_grammar import tool_grammar
from tests.chat.corpus.calls import SCHEMAS
from tests.chat.corpus.corpus import families
from tests.chat.reading import read
from tests.support.byte_grammar import EOS, ByteVocabulary, Followed, control_in

pytest.importorskip("llguidance")

N_WALKS = int(os.environ.get("GRAMMAR_WALKS", "1"))
"""For each family and mode."""
LONGEST = 1500

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": schema}}
    for name, schema in SCHEMAS.items()
]
FAMILIES = {name: each for name, each in families() if each.format.tools is not None}


class Walk:
    """One random output that a grammar allows."""

    def __init__(self, form, followed, seed):
        self._dice = random.Random(seed)
        self._vocabulary = followed.vocabulary
        self._matcher = followed.grammar.matcher()
        self._wanted = []
        self._texts = [*form.markers, *endings(form), "Paris é", '"', "3", '{"a": [1]}']
        self.written = []
        self.is_over = False

    def run(self):
        while not self.is_over and len(self.written) < LONGEST:
            self._step()
        pieces = (self._vocabulary.piece(token) for token in self.written)
        return b"".join(pieces).decode(errors="replace")

    def _step(self):
        allowed = self._allowed()
        assert allowed, "a dead end"
        if EOS in allowed and (len(allowed) == 1 or self._dice.random() < 0.3):
            self.is_over = True
            return
        token = self._choose(allowed)
        self._matcher.consume(token)
        self.written.append(token)

    def _choose(self, allowed):
        """Go on with a text that ends something, or begin with one, or anything."""
        if not self._wanted and self._dice.random() < 0.5:
            self._wanted = self._vocabulary.tokens(self._dice.choice(self._texts))
        if self._wanted and self._wanted[0] in allowed:
            return self._wanted.pop(0)
        self._wanted = []
        plain = [token for token in allowed if token == 10 or 32 <= token < 127]
        control = [token for token in allowed if token > EOS]
        return self._dice.choice(control or plain or sorted(allowed))

    def _allowed(self):
        bits = int.from_bytes(self._matcher.mask(), "little")
        return {
            token for token in range(self._vocabulary.n_tokens) if bits >> token & 1
        }


def endings(form):
    """Return what ends values and calls, which chance alone would hardly write."""
    tagged = form.tools.tagged
    return [] if tagged is None else [tagged.after_value] * 4


def walks(form, mode):
    vocabulary = ByteVocabulary(control_in(form.markers))
    grammar = tool_grammar(
        form,
        TOOLS,
        ToolChoice(mode),
        is_parallel=True,
        in_reasoning=False,
        control_tokens=vocabulary.control_tokens,
    )
    followed = Followed(grammar, vocabulary)
    for seed in range(N_WALKS):
        walk = Walk(form, followed, seed)
        yield walk, walk.run()


@pytest.mark.parametrize("mode", ["auto", "required"])
@pytest.mark.parametrize("name", FAMILIES)
def test_what_a_grammar_allows_is_read_as_calls_that_fit_the_schemas(name, mode):
    form = FAMILIES[name].format
    for walk, text in walks(form, mode):
        got = read(
            form, list(text), with_tools=True, streams_arguments=True, schemas=SCHEMAS
        )
        calls = got.calls if walk.is_over else got.calls[:-1]
        for _, tool, arguments in calls:
            jsonschema.validate(json.loads(arguments), SCHEMAS[tool])
        if walk.is_over and mode == "required":
            assert calls, text
            assert got.content == "", text
        if Slot.ID in form.tools.call:
            assert all(call_id for call_id, _, _ in calls)
