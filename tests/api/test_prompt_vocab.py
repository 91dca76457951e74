from __future__ import annotations

import pytest

from api.prompt_vocab import BoundedVocab
from llamactypes.errors import PromptTooLong
from tests.support.fake_engine import FakeVocab


def test_text_that_cannot_fit_is_refused_before_it_is_tokenized(monkeypatch):
    vocab = FakeVocab()
    monkeypatch.setattr(vocab, "tokenize", lambda *_, **__: pytest.fail("tokenized"))
    with pytest.raises(PromptTooLong) as caught:
        BoundedVocab(vocab, 8).tokenize("x" * 400)
    assert (caught.value.n_prompt_tokens, caught.value.n_ctx) == (100, 8)


def test_long_text_that_may_fit_is_tokenized():
    vocab = FakeVocab()
    vocab.longest_piece_bytes = 1000
    assert len(BoundedVocab(vocab, 8).tokenize("x" * 400)) == 400
