from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from llamactypes import Model, ModelParams, TokenizeError
from llamactypes import bindings as C  # noqa: N812
from tests.support import tiny_gguf

TEXT = 'the day she was in it, and it is a "Dog": 12 é 😀\n'


@pytest.fixture(scope="module", params=["spm", "bpe"])
def any_model(request: pytest.FixtureRequest) -> Iterator[Model]:
    name = "tiny_model_path" if request.param == "spm" else "smollm2_path"
    path: Path = request.getfixturevalue(name)
    with Model(path, ModelParams(vocab_only=True)) as model:
        yield model


def test_kind_and_size_are_those_of_the_file(model: Model) -> None:
    assert model.vocab.kind == "spm"
    assert model.vocab.n_tokens == len(tiny_gguf.vocabulary())
    assert (model.vocab.add_bos, model.vocab.add_eos) == (True, False)


def test_special_tokens_that_the_file_lacks_are_none(model: Model) -> None:
    vocab = model.vocab
    assert (vocab.bos, vocab.eos) == (1, 2)
    assert vocab.eog_tokens == (2,)
    assert vocab.suppress_tokens == ()
    assert (vocab.fim_pre, vocab.mask) == (None, None)


def test_bpe_vocabulary_knows_its_end_of_turn(smollm2_path: Path) -> None:
    with Model(smollm2_path, ModelParams(vocab_only=True)) as model:
        vocab = model.vocab
        assert vocab.kind == "bpe"
        assert vocab.eos is not None
        assert vocab.is_eog(vocab.eos)
        assert vocab.piece(vocab.eos) == b"<|im_end|>"
        assert vocab.is_control(vocab.eos)
        assert not vocab.is_control(vocab.tokenize("dog")[0])


def test_pieces_join_to_the_text(any_model: Model) -> None:
    vocab = any_model.vocab
    joined = b"".join(vocab.piece(token) for token in vocab.tokenize(TEXT))
    assert joined.decode().lstrip(" ") == TEXT


def test_detokenize_inverts_tokenize(any_model: Model) -> None:
    vocab = any_model.vocab
    assert vocab.detokenize(vocab.tokenize(TEXT)) == TEXT
    assert vocab.detokenize(vocab.tokenize(TEXT * 40)) == TEXT * 40
    assert vocab.detokenize([]) == ""
    assert vocab.tokenize("") == []


def test_add_special_puts_bos_first(model: Model) -> None:
    vocab = model.vocab
    assert vocab.tokenize("a day", add_special=True)[0] == vocab.bos
    assert vocab.bos not in vocab.tokenize("a day")


def test_special_text_is_a_token_only_when_parsed(model: Model) -> None:
    vocab = model.vocab
    assert vocab.tokenize("</s>") == [vocab.eos]
    assert vocab.eos not in vocab.tokenize("</s>", parse_special=False)


def test_special_pieces_are_empty_when_not_asked_for(model: Model) -> None:
    vocab = model.vocab
    assert vocab.piece(2) == b"</s>"
    assert vocab.piece(2, special=False) == b""
    assert vocab.detokenize([2], unparse_special=False) == ""
    assert vocab.detokenize([1, 2], remove_special=True).strip() == "</s>"


def test_lstrip_leaves_leading_spaces_out(model: Model) -> None:
    token = model.vocab.tokenize("the")[0]
    assert model.vocab.piece(token) == b" the"
    assert model.vocab.piece(token, lstrip=1) == b"the"


def test_text_score_and_attributes_come_from_the_file(model: Model) -> None:
    text, score, _ = tiny_gguf.vocabulary()[300]
    assert model.vocab.text(300) == text
    assert model.vocab.score(300) == score
    assert model.vocab.attributes(300) == C.LLAMA_TOKEN_ATTR_NORMAL
    assert model.vocab.attributes(5) == C.LLAMA_TOKEN_ATTR_BYTE


def test_tokens_outside_the_vocabulary_raise(any_model: Model) -> None:
    vocab = any_model.vocab
    for token in (-1, vocab.n_tokens, 2**31 - 1, 2**40):
        for lookup in (vocab.piece, vocab.text, vocab.score, vocab.attributes):
            with pytest.raises(IndexError, match=f"token {token} is outside"):
                lookup(token)
        with pytest.raises(IndexError):
            vocab.piece(token, special=False)
        with pytest.raises(TokenizeError, match=f"token {token} is outside"):
            vocab.detokenize([0, token])
        assert not vocab.is_eog(token)


@pytest.mark.parametrize(
    "broken",
    [b"\xff", b"\xc3", b"ab\xf0\x9f\x98", b"\x80\x80", b"\xed\xa0\x80", b"\xc0\x80x"],
)
def test_malformed_utf8_becomes_replacement_characters(
    any_model: Model, broken: bytes
) -> None:
    vocab = any_model.vocab
    expected = broken.decode("utf-8", "replace")
    assert vocab.detokenize(vocab.tokenize(broken)) == expected


@pytest.mark.parametrize("text", ["\ud83d", "a\udc00b", "\ud83d\ude00"])
def test_lone_surrogates_become_replacement_characters(
    any_model: Model, text: str
) -> None:
    vocab = any_model.vocab
    expected = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert vocab.detokenize(vocab.tokenize(text)) == expected


def test_a_model_without_vocabulary_says_so(tmp_path: Path) -> None:
    tiny_gguf.write_model(tmp_path / "none.gguf", has_vocabulary=False)
    with Model(tmp_path / "none.gguf") as model:
        vocab = model.vocab
        assert (vocab.kind, vocab.bos, vocab.eog_tokens) == ("none", None, ())
        for use in (
            lambda: vocab.tokenize("a"),
            lambda: vocab.piece(1),
            lambda: vocab.detokenize([1]),
            lambda: vocab.text(1),
            lambda: vocab.attributes(1),
        ):
            with pytest.raises(TokenizeError, match="no vocabulary"):
                use()


def test_nul_characters_survive(any_model: Model) -> None:
    vocab = any_model.vocab
    assert vocab.detokenize(vocab.tokenize("a\0b")) == "a\0b"


@settings(max_examples=200, deadline=None)
@given(st.text() | st.binary())
def test_any_input_survives_the_round_trip(
    any_model: Model, given_text: str | bytes
) -> None:
    if isinstance(given_text, str):
        utf16 = given_text.encode("utf-16", "surrogatepass")
        raw = utf16.decode("utf-16", "replace")
    else:
        raw = given_text.decode("utf-8", "replace")
    assume("\u2581" not in raw)  # SentencePiece spells a space with it
    vocab = any_model.vocab
    tokens = vocab.tokenize(given_text, parse_special=False)
    text = vocab.detokenize(tokens)
    if vocab.kind == "bpe":  # SmolLM2 has no token for some bytes: they are dropped
        assert len(text) <= len(raw.encode())
    else:
        assert text == raw


def test_any_thread_may_tokenize_at_once(any_model: Model) -> None:
    vocab = any_model.vocab
    expected = vocab.tokenize(TEXT)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: vocab.tokenize(TEXT), range(64)))
    assert found == [expected] * 64
