import pytest

from api.protocol.invalid import InvalidRequest
from api.protocol.prompt import detokenize, read_prompts, with_bos
from tests.support.fake_engine import BOS, EOS, FakeVocab

VOCAB = FakeVocab()


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("ab", [(BOS, 97, 98)]),
        ([97, 98], [(97, 98)]),
        ([97, "b", 99, "d"], [(97, 98, 99, 100)]),
        (["a", 98, "c"], [(BOS, 97, 98, 99)]),
        ({"prompt_string": "a"}, [(BOS, 97)]),
        (["a", "b"], [(BOS, 97), (BOS, 98)]),
        ([[97], "b", {"prompt_string": "c"}], [(97,), (BOS, 98), (BOS, 99)]),
        ("", [(BOS,)]),
        ("<s>a", [(BOS, 97)]),
    ],
)
def test_read_prompts_reads_every_shape(prompt, expected):
    assert read_prompts({"prompt": prompt}, VOCAB) == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, '"prompt" is required'),
        ({"prompt": None}, '"prompt" is required'),
        ({"prompt": []}, '"prompt" must not be empty'),
        ({"prompt": 5}, '"prompt" elements must be'),
        ({"prompt": True}, '"prompt" elements must be'),
        ({"prompt": [1, None]}, '"prompt" elements must be'),
        ({"prompt": [{"a": 1}]}, '"prompt" elements must be'),
        ({"prompt": [1.5]}, '"prompt" elements must be'),
        ({"prompt": [9999]}, "Prompt contains invalid tokens"),
        ({"prompt": [-1]}, "Prompt contains invalid tokens"),
        (
            {"prompt": {"prompt_string": "a", "multimodal_data": ["x"]}},
            "Multimodal data provided",
        ),
    ],
)
def test_read_prompts_refuses_other_shapes(body, message):
    with pytest.raises(InvalidRequest, match=message):
        read_prompts(body, VOCAB)


def test_with_bos_keeps_two_when_the_vocabulary_adds_none():
    vocab = FakeVocab(add_bos=False)
    assert with_bos("<s><s>", vocab) == [BOS, BOS]


def test_with_bos_does_not_double_the_end():
    vocab = FakeVocab()
    vocab.add_eos = True
    assert with_bos("a</s></s>", vocab) == [BOS, 97, EOS]


def test_detokenize_spells_special_tokens():
    assert detokenize([BOS, 97, 0xC3, 0xA9, EOS], VOCAB) == "<s>a\u00e9</s>"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/completion", {"prompt": ""}, 200),
        ("/completion", {"prompt": []}, 400),
        ("/v1/completions", {"prompt": ""}, 200),
        ("/v1/completions", {"prompt": [[]]}, 200),
        ("/v1/chat/completions", {"messages": []}, 400),
        (
            "/v1/chat/completions",
            {"messages": [{"role": "user", "content": ""}]},
            200,
        ),
    ],
)
def test_an_empty_input_is_answered(api, path, body, status):
    assert api.post(path, body).status_code == status
