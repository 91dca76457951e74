"""``/infill``: the prompt that prefix, suffix and other files become."""

from __future__ import annotations

from typing import Any

import pytest

from api.protocol.completion.infill import InfillLimits, infill_prompt, read_infill
from llamactypes.engine import EngineConfig
from tests.support.fake_engine import BOS, FakeEngine, FakeVocab

PRE, SUF, MID, REP, SEP = 1, 2, 3, 4, 5
LIMITS = InfillLimits(n_batch=40, n_predict=0, n_ctx=100)


def make_vocab(*, has_files: bool = False) -> Any:
    vocab = FakeVocab()
    marks: Any = {"fim_pre": PRE, "fim_suf": SUF, "fim_mid": MID}
    if has_files:
        marks |= {"fim_rep": REP, "fim_sep": SEP}
    for name, token in marks.items():
        setattr(vocab, name, token)
    return vocab


def prompt_of(
    vocab: Any = None,
    limits: InfillLimits = LIMITS,
    *,
    is_spm: bool = False,
    **body: Any,
) -> list[int]:
    vocab = vocab or make_vocab()
    given = {"input_prefix": "ab", "input_suffix": "yz", **body}
    infill = read_infill(given, vocab, vocab, limits)
    return list(infill_prompt(infill, vocab, limits, is_spm=is_spm))


def test_prefix_comes_first_and_the_middle_last():
    assert prompt_of() == [BOS, PRE, *b"ab", SUF, *b"yz", MID]


def test_the_suffix_comes_first_where_a_model_prefers_it():
    assert prompt_of(is_spm=True) == [BOS, SUF, *b"yz", PRE, *b"ab", MID]


def test_the_prompt_ends_the_prefix():
    assert prompt_of(prompt="c") == [BOS, PRE, *b"abc", SUF, *b"yz", MID]


def test_special_tokens_in_the_parts_are_text():
    assert prompt_of(input_prefix="<s>") == [BOS, PRE, *b"<s>", SUF, *b"yz", MID]


def test_parts_may_mix_text_and_tokens():
    assert prompt_of(input_prefix=[65, "b"])[1:4] == [PRE, 65, 98]


def test_a_long_prefix_keeps_its_end_and_a_long_suffix_its_beginning():
    tokens = prompt_of(
        input_prefix="a" * 900 + "b" * 30, input_suffix="y" * 8 + "z" * 9
    )
    assert tokens == [BOS, PRE, *b"b" * 30, SUF, *b"y" * 8, MID]


def test_a_long_prompt_takes_the_place_of_the_suffix():
    assert prompt_of(prompt="c" * 20) == [BOS, PRE, *b"ab", *b"c" * 20, SUF, MID]


EXTRA = [{"filename": "one", "text": "1"}, {"text": "2"}]


def test_other_files_are_marked_as_the_model_knows_them():
    tokens = prompt_of(make_vocab(has_files=True), input_extra=EXTRA)
    files = [REP, *b"myproject\n", SEP, *b"one\n1", SEP, *b"tmp\n2", SEP]
    assert tokens[: len(files)] == files
    assert tokens[len(files) :][:10] == [*b"filename\n", BOS]


def test_other_files_are_snippets_where_the_model_has_no_marks():
    tokens = prompt_of(input_extra=EXTRA)
    snippet = b"\n\n--- snippet ---\n\n"
    assert tokens[: tokens.index(BOS)] == [*snippet, *b"1", *snippet, *b"2"]


def test_the_end_of_the_other_files_fills_what_is_left():
    limits = InfillLimits(n_batch=40, n_predict=25, n_ctx=100)
    tokens = prompt_of(limits=limits, input_extra=[{"text": "x" * 999 + "e" * 7}])
    assert tokens[: tokens.index(BOS)] == [*b"xxxeeeeeee"]


def test_no_room_leaves_other_files_out():
    limits = InfillLimits(n_batch=40, n_predict=30, n_ctx=100)
    tokens = prompt_of(make_vocab(has_files=True), limits, input_extra=EXTRA)
    assert tokens[0] == BOS


# -- the route -----------------------------------------------------------------------


@pytest.fixture
def api(make_api: Any) -> Any:
    return make_api(engine=FakeEngine("mid", vocab=make_vocab()))


def fill(api: Any, **body: Any) -> Any:
    return api.post("/infill", {"input_prefix": "ab", "input_suffix": "yz", **body})


def test_the_reply_is_a_native_completion(api):
    reply = fill(api, n_predict=2)
    assert reply.status_code == 200
    assert (reply.json["content"], reply.json["stop"]) == ("mi", True)
    assert api.engine.requests[0].prompt_tokens[:2] == (BOS, PRE)


def test_a_stream_is_a_native_stream(api):
    body = {"input_prefix": "ab", "input_suffix": "yz"}
    events = api.events("/infill", body)
    assert "".join(event["content"] for event in events) == "mid"
    assert events[-1]["stop"] is True


def test_a_flag_puts_the_suffix_first(make_api):
    engine = FakeEngine("mid", vocab=make_vocab())
    fill(make_api(engine=engine, spm_infill=True))
    assert engine.requests[0].prompt_tokens[:2] == (BOS, SUF)


def test_a_file_larger_than_the_context_is_cut_not_refused(make_api):
    engine = FakeEngine("mid", vocab=make_vocab())
    api = make_api(engine=engine, config=EngineConfig("tiny.gguf", n_batch=40))
    reply = fill(api, input_prefix="a" * 100_000, input_suffix="z" * 100_000)
    assert reply.status_code == 200
    assert len(engine.requests[0].prompt_tokens) == 1 + 1 + 30 + 1 + 8 + 1


@pytest.mark.parametrize(
    ("body", "param", "words"),
    [
        ({"input_prefix": None}, "input_prefix", '"input_prefix" is required'),
        ({"input_suffix": None}, "input_suffix", '"input_suffix" is required'),
        ({"input_suffix": 1}, "input_suffix", "must be a string"),
        ({"prompt": 1}, "prompt", '"prompt" must be a string'),
        ({"input_extra": {}}, "input_extra", "must be an array"),
        *(
            ({"input_extra": [chunk]}, "input_extra", words)
            for chunk, words in (
                ({}, '"text"'),
                (1, '"text"'),
                ({"filename": "ok"}, '"text"'),
                ({"filename": 123, "text": "abc"}, '"filename"'),
                ({"filename": 123, "text": 456}, '"text"'),
            )
        ),
        ({"n_predict": "x"}, "n_predict", "integer"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(api, body, param, words):
    reply = fill(api, **body)
    assert reply.status_code == 400
    assert reply.json["error"]["param"] == param
    assert words in reply.json["error"]["message"]


def test_a_model_without_the_tokens_answers_501(make_api):
    reply = fill(make_api())
    assert reply.status_code == 501
    assert reply.json["error"]["message"] == (
        "Infill is not supported by this model: prefix token is missing. "
        "suffix token is missing. middle token is missing. "
    )
