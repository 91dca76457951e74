"""Every output of the corpus, whole and in every split: the same, and nothing lost."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from llamactypes.chat import ChatTemplate
from llamactypes.chat.learning import learn_format
from tests.chat.corpus.calls import SCHEMAS
from tests.chat.corpus.corpus import families
from tests.chat.reading import is_json, lost_text, read

FAMILIES = dict(families())

CASES = [
    pytest.param(corpus.format, output, id=f"{family}-{output.name}")
    for family, corpus in FAMILIES.items()
    for output in corpus.outputs
]


def options(output, *, streams_arguments):
    return {
        "in_reasoning": output.in_reasoning,
        "with_tools": True,
        "streams_arguments": streams_arguments,
        "schemas": SCHEMAS,
    }


def test_the_corpus_has_twenty_families():
    assert len(FAMILIES) >= 20
    assert all(len(corpus.outputs) >= 10 for corpus in FAMILIES.values())


@pytest.mark.parametrize(("form", "output"), CASES)
def test_output_says_what_the_model_meant(form, output):
    got = read(form, [output.text], **options(output, streams_arguments=False))
    assert got.reasoning == output.reasoning
    assert got.content == output.content
    assert got.parsed_calls == list(output.calls)
    assert not output.ids or got.ids == list(output.ids)


@pytest.mark.parametrize(("form", "output"), CASES)
def test_output_reads_the_same_when_its_calls_are_shown_as_they_come(form, output):
    if output.only_whole:
        pytest.skip("says what a model writes that nothing constrains")
    got = read(form, [output.text], **options(output, streams_arguments=True))
    assert got.reasoning == output.reasoning
    if got.is_call_open:
        return
    assert got.content == output.content
    assert got.parsed_calls == list(output.calls)


@pytest.mark.parametrize("streams_arguments", [False, True])
@pytest.mark.parametrize(("form", "output"), CASES)
def test_output_reads_the_same_however_it_is_cut(form, output, streams_arguments):
    settings = options(output, streams_arguments=streams_arguments)
    text = output.text
    whole = read(form, [text], **settings)
    assert read(form, list(text), **settings) == whole
    for at in range(1, len(text)):
        assert read(form, [text[:at], text[at:]], **settings) == whole, at
    dice = random.Random(text)
    for _ in range(5):
        cuts = sorted(dice.sample(range(1, len(text)), min(8, len(text) - 1)))
        parts = [text[a:b] for a, b in pairwise([0, *cuts, len(text)])]
        assert read(form, parts, **settings) == whole, cuts


@pytest.mark.parametrize("streams_arguments", [False, True])
@pytest.mark.parametrize(("form", "output"), CASES)
def test_output_loses_no_text(form, output, streams_arguments):
    settings = options(output, streams_arguments=streams_arguments)
    got = read(form, [output.text], **settings)
    assert lost_text(form, output.text, got) == ""


@pytest.mark.parametrize("family", FAMILIES)
def test_format_is_learned_from_the_templates(family, upstream_templates):
    corpus = FAMILIES[family]
    for name in corpus.templates:
        source = (upstream_templates / f"{name}.jinja").read_text(encoding="utf-8")
        assert learn_format(ChatTemplate(source)) == corpus.format, name


def test_arguments_that_are_shown_as_they_come_are_whole_json():
    for corpus in FAMILIES.values():
        for output in corpus.outputs:
            if not output.only_whole and output.calls:
                settings = options(output, streams_arguments=True)
                got = read(corpus.format, list(output.text), **settings)
                assert all(is_json(call[2]) for call in got.calls), output.name
