"""Grammars of tool calls take what models of each family write."""

from __future__ import annotations

import pytest

from llamactypes.chat.output.tool_choice import ToolChoice
from llamactypes.chat.output.tool_grammar import tool_grammar
from tests.chat.corpus.calls import SCHEMAS
from tests.chat.corpus.corpus import families
from tests.support.byte_grammar import ByteVocabulary, Followed, control_in

pytest.importorskip("llguidance")

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": schema}}
    for name, schema in SCHEMAS.items()
]
OTHERS = {
    # The model leaves something out, and a grammar does not let it.
    "broken, then right",
    "no end marker",
    "newline in a JSON string",
    "cut off behind a call",
    # A template's slip, which a grammar does not repeat.
    "constants as the template writes them",
    "Python's spelling of objects",
}
NOT_IN_FAMILY = {
    ("lfm2", "nested values"),
    ("lfm2", "single quotes and numbers"),
}
"""Python's constants within a value, which the grammar has as JSON."""
NOT_REQUIRED = {"thinking again between calls", "answer behind a call"}
"""Outputs with more than calls."""

FAMILIES = {
    name: corpus for name, corpus in families() if corpus.format.tools is not None
}


def _followed(form, mode, *, in_reasoning, has_control):
    markers = control_in(form.markers) if has_control else []
    vocabulary = ByteVocabulary(markers)
    grammar = tool_grammar(
        form,
        TOOLS,
        ToolChoice(mode),
        is_parallel=True,
        in_reasoning=in_reasoning,
        control_tokens=vocabulary.control_tokens,
    )
    return Followed(grammar, vocabulary)


def _fits(output, mode):
    if not output.calls or output.only_whole or output.name in OTHERS:
        return False
    is_more = output.content or output.name in NOT_REQUIRED
    return mode == "auto" or not is_more


@pytest.mark.parametrize("has_control", [False, True])
@pytest.mark.parametrize("mode", ["auto", "required"])
@pytest.mark.parametrize("name", FAMILIES)
def test_grammar_takes_the_calls_of_the_corpus(name, mode, has_control):
    corpus = FAMILIES[name]
    n_taken = 0
    for in_reasoning in (False, True):
        if in_reasoning and corpus.format.reasoning is None:
            continue
        form = _followed(
            corpus.format, mode, in_reasoning=in_reasoning, has_control=has_control
        )
        for output in corpus.outputs:
            if output.in_reasoning is not in_reasoning or not _fits(output, mode):
                continue
            if (name, output.name) in NOT_IN_FAMILY:
                continue
            assert form.refusal(output.text) is None, output.name
            n_taken += 1
    assert n_taken >= 3
