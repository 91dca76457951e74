"""What is learned from llama.cpp's collection of templates: a table, file by file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llamactypes.chat import ChatTemplate
from llamactypes.chat.learning import learn_format
from llamactypes.chat.learning.probes import Call, Probes
from llamactypes.chat.learning.turns import written_turn
from llamactypes.chat.output.parser import ChatParser
from llamactypes.chat.output.pieces import Arguments, CallBegin, Content, Reasoning
from llamactypes.chat.output.tool_choice import ToolChoice
from llamactypes.chat.output.tool_grammar import tool_grammar
from tests.chat.format_summary import summary
from tests.support.byte_grammar import ByteVocabulary, Followed, control_in

TABLE = json.loads(
    (Path(__file__).parent / "data" / "learned_formats.json").read_text("utf-8")
)


CALLS = (
    Call("get_weather", "abcdefgh1", {"city": 'Zürich "Nord"', "days": 7}),
    Call("write", "abcdefgh2", {"text": "two\nlines", "deep": {"list": [1, "x"]}}),
)
NO_CALLS = {
    # Written nowhere: the table of families says how.
    "LFM2-8B-A1B",
    "LFM2.5-Instruct",
    "ibm-granite-granite-3.3-2B-Instruct",
}
ONE_CALL = {
    "GigaChat3-10B-A1.8B",
    "GigaChat3.1-10B-A1.8B",
    "openai-gpt-oss-120b",
}
PYTHON = {"ByteDance-Seed-OSS", "openbmb-MiniCPM5-1B"}
"""Objects are written as Python has them, which a grammar does not allow."""
ESCAPES = {"Reka-Edge"}
"""Letters are escaped in JSON, which a grammar does not allow."""
TEXT_AROUND = {
    # The prompt closes the thinking there.
    "GLM-4.7-Flash": "</think>",
    "Spark2.5": "</think>",
    "poolside-Laguna-XS-2.1": "</think>",
    "poolside-Laguna-XS.2": "</think>",
    "CohereForAI-c4ai-command-r-plus-tool_use": "<|CHATBOT_TOKEN|>",
}
SLIPS = {
    # A text with a new line is put into marks of its own.
    "openbmb-MiniCPM5-1B",
    # Arguments that were a text of JSON become one again.
    "fireworks-ai-llama-3-firefunction-v2",
}


@pytest.fixture(scope="module")
def templates(upstream_templates):
    paths = sorted(upstream_templates.glob("*.jinja"))
    assert paths
    return {
        path.stem: ChatTemplate(path.read_text(encoding="utf-8"), bos_token="<s>")
        for path in paths
    }


@pytest.fixture(scope="module")
def formats(templates):
    return {name: learn_format(template) for name, template in templates.items()}


@pytest.fixture(scope="module")
def written(templates, formats):
    """What the models of templates would have written, by template and number."""
    turns = {}
    for name, form in formats.items():
        probes = Probes(templates[name])
        for n_calls in (1, 2):
            turn = probes.calls(CALLS[:n_calls]) if form.tools is not None else ""
            if turn:
                turns[name, n_calls] = written_turn(probes, form, turn)
    return turns


def test_formats_of_upstream_templates_are_those_of_the_table(formats):
    found = {name: summary(form) for name, form in formats.items()}
    assert found == TABLE


def _read(form, text, *, streams_arguments):
    schemas = {c.name: c.tool()["function"]["parameters"] for c in CALLS}
    parser = ChatParser(
        form, with_tools=True, streams_arguments=streams_arguments, schemas=schemas
    )
    pieces = [*parser.feed(text), *parser.finish()]
    calls = [[p.name, ""] for p in pieces if isinstance(p, CallBegin)]
    for piece in pieces:
        if isinstance(piece, Arguments):
            calls[piece.call][1] += piece.text
    rest = [p.text for p in pieces if isinstance(p, Content | Reasoning)]
    return [(name, json.loads(text)) for name, text in calls], "".join(rest).strip()


@pytest.mark.parametrize("streams_arguments", [False, True])
def test_calls_of_upstream_templates_are_read_back(written, formats, streams_arguments):
    wrong = {}
    for (name, n_calls), text in written.items():
        if name in NO_CALLS | SLIPS or (name in PYTHON and n_calls > 1):
            continue
        known = CALLS[: 1 if name in ONE_CALL else n_calls]
        read = _read(formats[name], text, streams_arguments=streams_arguments)
        expected = [(c.name, c.arguments) for c in known], TEXT_AROUND.get(name, "")
        if read != expected:
            wrong[name, n_calls] = read
    assert not wrong
    assert len(written) > 100


def _followed(form, mode, *, has_control):
    vocabulary = ByteVocabulary(control_in(form.markers) if has_control else ())
    grammar = tool_grammar(
        form,
        [call.tool() for call in CALLS],
        ToolChoice(mode),
        is_parallel=True,
        in_reasoning=False,
        control_tokens=vocabulary.control_tokens,
    )
    return Followed(grammar, vocabulary)


@pytest.mark.parametrize("mode", ["auto", "required"])
@pytest.mark.parametrize("has_control", [False, True])
def test_calls_of_upstream_templates_match_their_grammars(
    written, formats, mode, has_control
):
    pytest.importorskip("llguidance")
    known: dict[tuple, Followed] = {}
    wrong = {}
    for (name, n_calls), text in written.items():
        if name in NO_CALLS | SLIPS | ESCAPES or (name in PYTHON and n_calls > 1):
            continue
        if mode == "required" and name in TEXT_AROUND:
            continue
        form = formats[name]
        if form not in known:
            known[form] = _followed(form, mode, has_control=has_control)
        refusal = known[form].refusal(text)
        if refusal is not None:
            wrong[name, n_calls] = refusal
    assert not wrong
