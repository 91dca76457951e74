"""Legacy completions whose lists of logprobs begin with the prompt."""

import json

import pytest

from llamactypes.engine import FinishReason
from tests.support.fake_engine import (
    BOS,
    FakeEngine,
    FakeVocab,
    delta,
    make_info,
    progress_delta,
    prompt_delta,
    result,
    token_probs,
)

PATH = "/v1/completions"
ASK = {"echo": True, "logprobs": 1, "max_tokens": 1}


def logprobs(reply, index=0):
    assert reply.status_code == 200, reply.text
    return reply.json["choices"][index]["logprobs"]


def joined(events):
    """Return text and lists of each choice of a stream."""
    texts, lists = {}, {}
    for event in events[:-1]:
        choice = event["choices"][0]
        index = choice["index"]
        texts[index] = texts.get(index, "") + choice["text"]
        for key, values in (choice["logprobs"] or {}).items():
            lists.setdefault(index, {}).setdefault(key, []).extend(values)
    return texts, lists


def scripted(*deltas, **end):
    """Return an engine that sends the prompt's logprobs first."""

    def script(request):
        wanted = request.prompt_probs is not None
        return [prompt_delta(request)] * wanted + list(deltas), result(**end)

    return FakeEngine(script=script)


def test_lists_begin_with_the_prompt_and_hold_every_generated_token(make_api):
    api = make_api(engine=scripted(delta("!", [33], probs=(token_probs(b"!"),))))
    reply = api.post(PATH, {"prompt": "Hi", **ASK})
    assert reply.json["choices"][0]["text"] == "Hi!"
    assert logprobs(reply) == {
        "tokens": ["H", "i", "!"],
        "token_logprobs": [None, -2.0, -0.5],
        "top_logprobs": [None, {"i": -2.0}, {"a": -0.5, "b": -1.5, "!": -0.5}],
        "text_offset": [0, 1, 2],
    }


@pytest.mark.parametrize(
    ("prompt", "tokens", "values"),
    [
        ("Hi", ["H", "i"], [None, -2.0]),
        ("<s>Hi", ["<s>", "H", "i"], [None, -1.0, -2.0]),
        ([72, 105], ["H", "i"], [None, -1.0]),
        ([BOS, 72, 105], ["<s>", "H", "i"], [None, -1.0, -2.0]),
        (["Hi", 33], ["H", "i", "!"], [None, -2.0, -3.0]),
        ([72, "i!"], ["H", "i", "!"], [None, -1.0, -2.0]),
        ({"prompt_string": "Hi"}, ["H", "i"], [None, -2.0]),
        ("H", ["H"], [None]),
        ([72], ["H"], [None]),
        ("", [], []),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_echo_is_what_the_client_sent_without_a_bos_of_ours(
    api, prompt, tokens, values, stream
):
    body = {"prompt": prompt, **ASK, "max_tokens": 0}
    if stream:
        texts, lists = joined(api.events(PATH, body))
        text, found = texts[0], lists[0]
    else:
        reply = api.post(PATH, body)
        text, found = reply.json["choices"][0]["text"], logprobs(reply)
    assert found["tokens"] == tokens
    assert found["token_logprobs"] == values
    assert [top is None for top in found["top_logprobs"]] == [v is None for v in values]
    assert text == "".join(tokens)
    assert [text[i : i + 1] for i in found["text_offset"]] == [t[0] for t in tokens]


def test_a_model_without_bos_hides_nothing(make_api):
    api = make_api(engine=FakeEngine(vocab=FakeVocab(add_bos=False)))
    found = logprobs(api.post(PATH, {"prompt": "Hi", **ASK, "max_tokens": 0}))
    assert found["token_logprobs"] == [None, -1.0]


@pytest.mark.parametrize("prompt", ["Hi", "Hi</s>"])
def test_an_eos_that_the_vocabulary_adds_is_hidden_too(make_api, prompt):
    class Ending(FakeVocab):
        add_eos = True

        def tokenize(self, text, *, add_special=False, parse_special=True):
            options = {"add_special": add_special, "parse_special": parse_special}
            return super().tokenize(text, **options) + [self.eos] * add_special

    api = make_api(engine=FakeEngine(vocab=Ending()))
    found = logprobs(api.post(PATH, {"prompt": prompt, **ASK, "max_tokens": 0}))
    assert "".join(found["tokens"]) == prompt
    n_tokens = len(found["tokens"])
    assert found["token_logprobs"] == [None, -2.0, -3.0][:n_tokens]
    assert len(found["top_logprobs"]) == len(found["text_offset"]) == n_tokens


def test_several_prompts_each_have_their_own(api):
    body = {"prompt": ["Hi", [72], "xyz"], **ASK, "max_tokens": 0}
    reply = api.post(PATH, body)
    found = [logprobs(reply, index)["tokens"] for index in range(3)]
    assert found == [["H", "i"], ["H"], ["x", "y", "z"]]
    texts, lists = joined(api.events(PATH, body))
    assert texts == {0: "Hi", 1: "H", 2: "xyz"}
    assert [lists[index]["tokens"] for index in range(3)] == found


def test_a_prompt_is_computed_once_for_all_its_choices(api):
    body = {"prompt": ["Hi", "xyz"], "n": 2, **ASK}
    reply = api.post(PATH, body)
    asked = [request.prompt_probs for request in api.engine.requests]
    assert asked == [1, None, 1, None]
    found = ["".join(logprobs(reply, index)["tokens"]) for index in range(4)]
    assert found == ["Hi", "Hi", "xyz", "xyz"]


def test_a_piece_of_a_character_is_spelt_in_hex_and_offsets_count_characters(api):
    emoji = "\N{GRINNING FACE}"
    found = logprobs(api.post(PATH, {"prompt": f"{emoji}a", **ASK, "max_tokens": 0}))
    assert found["tokens"] == [*(f"bytes:\\x{b:02x}" for b in emoji.encode()), "a"]
    assert found["text_offset"] == [0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("prompt", "tokens", "offsets"),
    [
        ("Hi", [" ", "H", "i"], [0, 0, 1]),
        (" Hi", [" ", " ", "H", "i"], [0, 1, 1, 2]),
        ("<s>Hi", ["<s>", " ", "H", "i"], [0, 3, 3, 4]),
    ],
)
def test_a_blank_that_the_vocabulary_adds_moves_no_offset(
    make_api, prompt, tokens, offsets
):
    class Spacing(FakeVocab):
        def tokenize(self, text, **options):
            special, _, rest = text.rpartition("<s>")
            marked = "<s>" * ("<s>" in text) + special + " " + rest
            return super().tokenize(marked, **options)

    api = make_api(engine=FakeEngine(vocab=Spacing(add_bos=False)))
    reply = api.post(PATH, {"prompt": prompt, **ASK, "max_tokens": 0})
    assert reply.json["choices"][0]["text"] == prompt
    assert logprobs(reply)["tokens"] == tokens
    assert logprobs(reply)["text_offset"] == offsets


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("finish", [FinishReason.STOP_EOS, FinishReason.STOP_WORD])
def test_tokens_without_text_are_in_the_lists(make_api, stream, finish):
    """Harnesses cut the generated tokens off by their number."""
    last = delta("", [2], probs=(token_probs(b"</s>", -0.25),))
    api = make_api(engine=scripted(last, finish=finish))
    body = {"prompt": "Hi", **ASK}
    if stream:
        _, lists = joined(api.events(PATH, body))
        found = lists[0]
    else:
        found = logprobs(api.post(PATH, body))
    assert found["tokens"] == ["H", "i", "</s>"]
    assert found["token_logprobs"] == [None, -2.0, -0.25]
    assert found["text_offset"] == [0, 1, 2]


def test_first_event_of_a_stream_has_the_prompt(api):
    events = api.events(PATH, {"prompt": "Hi", **ASK, "max_tokens": 2})
    first = events[0]["choices"][0]
    assert (first["text"], first["finish_reason"]) == ("Hi", None)
    assert first["logprobs"]["tokens"] == ["H", "i"]
    assert [e["choices"][0]["text"] for e in events[1:-1]] == ["a", "b", ""]


def test_prompt_in_parts_is_sent_as_one_and_progress_at_once(make_api):
    def script(request):
        parts = [prompt_delta(request, 1, 3), prompt_delta(request, 3, 99)]
        return [
            progress_delta(6, 0, 3),
            parts[0],
            progress_delta(6, 0, 6),
            parts[1],
            delta("!", [33], probs=(token_probs(b"!"),)),
        ], result()

    api = make_api(engine=FakeEngine(script=script))
    body = {"prompt": "Hello", **ASK, "return_progress": True}
    events = api.events(PATH, body)
    kinds = [
        "progress" if "prompt_progress" in event else event["choices"][0]["text"]
        for event in events[:-1]
    ]
    assert kinds == ["progress", "progress", "Hello", "!", ""]
    assert events[2]["choices"][0]["logprobs"]["tokens"] == list("Hello")


def test_choices_wait_for_the_one_that_computes_the_prompt(make_api):
    """The second choice may be done, from a cached prefix, before the first began."""
    api = make_api(engine=FakeEngine(is_manual=True))
    engine = api.engine
    submit = engine.submit_many

    def submit_backwards(requests):
        found = submit(requests)
        found[1].append(delta("b", [98], probs=(token_probs(b"b"),)), None)
        found[1].append(None, result())
        found[0].append(prompt_delta(requests[0]), None)
        found[0].append(delta("a", [97], probs=(token_probs(b"a"),)), result())
        return found

    engine.submit_many = submit_backwards
    texts, lists = joined(api.events(PATH, {"prompt": "Hi", "n": 2, **ASK}))
    assert texts == {0: "Hia", 1: "Hib"}
    assert lists[1]["tokens"] == ["H", "i", "b"]


def test_what_json_has_no_number_for_is_the_lowest_float(make_api):
    impossible = delta("!", [33], probs=(token_probs(b"!", float("-inf")),))
    api = make_api(engine=scripted(impossible))
    reply = api.post(PATH, {"prompt": "Hi", **ASK})
    json.loads(reply.text, parse_constant=pytest.fail)
    assert logprobs(reply)["token_logprobs"][-1] == pytest.approx(-3.4028235e38)


def test_prompt_logprobs_are_raw_also_beside_probabilities_after_sampling(make_api):
    post = delta("!", [33], probs=(token_probs(b"!", 1.0),))
    api = make_api(engine=scripted(post))
    body = {"prompt": "Hi", **ASK, "post_sampling_probs": True}
    assert logprobs(api.post(PATH, body))["token_logprobs"] == [None, -2.0, 0.0]


def test_more_alternatives_than_memory_holds_are_refused(make_api):
    api = make_api(engine=FakeEngine(info=make_info(n_ctx_slot=1 << 20)))
    body = {"prompt": [72] * 10_000, **ASK, "logprobs": 120}
    reply = api.post(PATH, body)
    assert reply.status_code == 400
    assert "at most 8594 tokens" in reply.json["error"]["message"]
    assert api.engine.requests == []
    assert api.post(PATH, {**body, "prompt": [72] * 8594}).status_code == 200
    reply = api.post(PATH, {**body, "prompt": [72] * 8594, "n": 2})
    assert "not for 17188" in reply.json["error"]["message"]


@pytest.mark.parametrize("echo", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_zero_shows_the_chosen_tokens_alone(make_api, echo, stream):
    api = make_api(engine=scripted(delta("!", [33], probs=(token_probs(b"!"),))))
    body = {"prompt": "Hi", "max_tokens": 1, "logprobs": 0, "echo": echo}
    if stream:
        _, lists = joined(api.events(PATH, body))
        found = lists[0]
    else:
        found = logprobs(api.post(PATH, body))
    prompt = [None, {"i": -2.0}] if echo else []
    assert found["top_logprobs"] == [*prompt, {"!": -0.5}]


@pytest.mark.parametrize("off", [{"logprobs": None}, {"logprobs": False}, {}])
def test_lists_are_null_when_nobody_asks(api, off):
    body = {"prompt": "Hi", "echo": True, **off}
    assert logprobs(api.post(PATH, body)) is None
    body = {"prompt": "Hi", "logprobs": 0, "n_probs": 0}
    assert logprobs(api.post(PATH, body)) is None


def test_without_logprobs_echo_asks_the_engine_for_nothing(api):
    assert api.post(PATH, {"prompt": "Hi", "echo": True}).status_code == 200
    assert api.engine.requests[0].prompt_probs is None


def test_other_routes_do_not_ask_for_the_prompts_logprobs(api):
    api.post("/completion", {"prompt": "Hi", "echo": True, "n_probs": 1})
    message = {"role": "user", "content": "Hi"}
    body = {"messages": [message], "echo": True, "logprobs": True}
    api.post("/v1/chat/completions", body)
    assert [request.prompt_probs for request in api.engine.requests] == [None, None]
