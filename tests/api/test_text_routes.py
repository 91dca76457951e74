import pytest

from tests.support.fake_engine import BOS


def test_tokenize_answers_tokens(api):
    assert api.post("/tokenize", {"content": "ab"}).json == {"tokens": [97, 98]}


def test_tokenize_adds_and_parses_special_tokens_when_asked(api):
    body = {"content": "<s>a", "add_special": True}
    assert api.post("/tokenize", body).json == {"tokens": [BOS, BOS, 97]}
    body = {"content": "<s>", "parse_special": False}
    assert api.post("/tokenize", body).json == {"tokens": [60, 115, 62]}


def test_tokenize_shows_pieces_as_bytes_when_they_are_no_text(api):
    body = {"content": "a\u00e9", "with_pieces": True}
    assert api.post("/tokenize", body).json["tokens"] == [
        {"id": 97, "piece": "a"},
        {"id": 0xC3, "piece": [0xC3]},
        {"id": 0xA9, "piece": [0xA9]},
    ]


def test_tokenize_takes_text_and_tokens_mixed(api):
    body = {"content": ["a", 98, "c"], "add_special": True}
    assert api.post("/tokenize", body).json == {"tokens": [BOS, 97, 98, 99]}


@pytest.mark.parametrize("body", [{}, {"content": None}, {"content": []}])
def test_tokenize_of_nothing_is_empty(api, body):
    assert api.post("/tokenize", body).json == {"tokens": []}


@pytest.mark.parametrize("content", [5, {}, True, [None], [9999], [1.5]])
def test_tokenize_refuses_other_content(api, content):
    reply = api.post("/tokenize", {"content": content})
    assert reply.status_code == 400
    assert reply.json["error"]["param"] == "content"


def test_detokenize_is_the_way_back(api):
    text = "h\u00e9llo <s>"
    tokens = api.post("/tokenize", {"content": text}).json["tokens"]
    assert api.post("/detokenize", {"tokens": tokens}).json == {"content": text}


def test_detokenize_of_nothing_is_empty(api):
    assert api.post("/detokenize", {}).json == {"content": ""}


def test_detokenize_replaces_half_a_character(api):
    assert api.post("/detokenize", {"tokens": [0xC3]}).json == {"content": "\ufffd"}


@pytest.mark.parametrize("tokens", ["abc", 5, [-1], [9999], ["a"], [[1]]])
def test_detokenize_refuses_what_are_no_tokens(api, tokens):
    reply = api.post("/detokenize", {"tokens": tokens})
    assert reply.status_code == 400
    assert reply.json["error"]["param"] == "tokens"


def test_apply_template_answers_the_prompt_without_generating(api):
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    assert api.post("/apply-template", body).json == {
        "prompt": "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    }
    assert api.engine.requests == []


def test_apply_template_refuses_like_chat(api):
    reply = api.post("/apply-template", {"messages": "x"})
    assert reply.status_code == 400
    assert reply.json["error"]["message"] == "Expected 'messages' to be an array"
