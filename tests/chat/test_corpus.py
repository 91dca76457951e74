"""Every output of the corpus, whole and in every split: the same, and nothing lost."""

from __future__ import annotations

import os
import random
from itertools import pairwise

import pytest

from llamactypes.chat import ChatTemplate
from llamactypes.chat.learning import learn_format
from tests.chat.corpus.calls import SCHEMAS
from tests.chat.corpus.corpus import families
from tests.chat.reading import is_json, lost_text, read

FAMILIES = dict(families())

STRIDE = 1 if os.environ.get("EVERY_CUT") else 29
"""Two-part cuts that are tried: with EVERY_CUT=1 all of them, which takes a minute.
Single characters, which are always tried, are cuts everywhere at once."""


def options(output, *, streams_arguments=False):
    return {
        "in_reasoning": output.in_reasoning,
        "with_tools": True,
        "streams_arguments": streams_arguments,
        "schemas": SCHEMAS,
    }


@pytest.fixture(params=FAMILIES)
def corpus(request):
    return FAMILIES[request.param]


def test_corpus_has_twenty_families_of_ten_outputs():
    assert len(FAMILIES) >= 20
    assert all(len(corpus.outputs) >= 10 for corpus in FAMILIES.values())


def test_output_says_what_the_model_meant(corpus):
    for output in corpus.outputs:
        got = read(corpus.format, [output.text], **options(output))
        assert got.reasoning == output.reasoning, output.name
        assert got.content == output.content, output.name
        assert got.parsed_calls == list(output.calls), output.name
        assert not output.ids or got.ids == list(output.ids), output.name


def test_output_says_the_same_when_calls_are_shown_as_they_come(corpus):
    for output in corpus.outputs:
        if output.only_whole:
            continue
        settings = options(output, streams_arguments=True)
        got = read(corpus.format, [output.text], **settings)
        assert got.reasoning == output.reasoning, output.name
        if all(is_json(arguments) for _, _, arguments in got.calls):
            assert got.content == output.content, output.name
            assert got.parsed_calls == list(output.calls), output.name
        else:
            assert not output.calls, output.name


@pytest.mark.parametrize("streams_arguments", [False, True])
def test_output_reads_the_same_however_it_is_cut(corpus, streams_arguments):
    for output in corpus.outputs:
        settings = options(output, streams_arguments=streams_arguments)
        text, whole = output.text, read(corpus.format, [output.text], **settings)
        for parts in splits(text):
            assert read(corpus.format, parts, **settings) == whole, parts


def splits(text):
    yield list(text)
    dice = random.Random(text)
    for at in range(1 + dice.randrange(STRIDE), len(text), STRIDE):
        yield [text[:at], text[at:]]
    for _ in range(3):
        cuts = sorted(dice.sample(range(1, len(text)), min(8, len(text) - 1)))
        yield [text[a:b] for a, b in pairwise([0, *cuts, len(text)])]


@pytest.mark.parametrize("streams_arguments", [False, True])
def test_output_loses_no_text(corpus, streams_arguments):
    for output in corpus.outputs:
        settings = options(output, streams_arguments=streams_arguments)
        got = read(corpus.format, [output.text], **settings)
        assert lost_text(corpus.format, output.text, got) == "", output.name


def test_format_is_learned_from_the_templates(corpus, upstream_templates):
    # What others of the family teach, `test_upstream_formats` has, too.
    for name in corpus.templates if STRIDE == 1 else corpus.templates[:1]:
        source = (upstream_templates / f"{name}.jinja").read_text(encoding="utf-8")
        assert learn_format(ChatTemplate(source)) == corpus.format, name
