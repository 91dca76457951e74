import dataclasses

import pytest

from tests.support.fake_engine import (
    BOS,
    FakeEngine,
    delta,
    make_info,
    progress_delta,
    result,
    text_deltas,
    token_probs,
)

PATH = "/v1/chat/completions"
HI = {"messages": [{"role": "user", "content": "Hi"}]}
CHATML_HI = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
BOS_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    "{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}"
    "{% if enable_thinking is false %}<no-think>{% endif %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}


def engine_with_template(template=BOS_TEMPLATE, text="abc", **variants):
    info = make_info(chat_template=template, chat_templates=variants)
    return FakeEngine(text, info=info)


def prompt_of(api, **body):
    reply = api.post("/apply-template", {**HI, **body})
    assert reply.status_code == 200, reply.text
    return reply.json["prompt"]


# -- whole replies -------------------------------------------------------------------


@pytest.mark.parametrize("path", [PATH, "/chat/completions"])
def test_reply_has_openais_fields(api, path):
    reply = api.post(path, {**HI, "max_tokens": 2, "model": "gpt-4"}).json
    assert reply.pop("id").startswith("chatcmpl-")
    assert isinstance(reply.pop("created"), int)
    assert set(reply.pop("timings")) >= {"prompt_n", "predicted_n", "cache_n"}
    n_prompt = len(CHATML_HI) + 1
    assert reply == {
        "choices": [
            {
                "finish_reason": "length",
                "index": 0,
                "message": {"role": "assistant", "content": "ab"},
            }
        ],
        "model": "tiny.gguf",
        "system_fingerprint": "b11549-86a2835",
        "object": "chat.completion",
        "usage": {
            "completion_tokens": 2,
            "prompt_tokens": n_prompt,
            "total_tokens": n_prompt + 2,
            "prompt_tokens_details": {"cached_tokens": 2},
        },
    }


def test_model_is_the_first_alias(make_api):
    api = make_api(model_alias=("zeta", "alpha"))
    assert api.post(PATH, {**HI, "model": "other"}).json["model"] == "alpha"


def test_verbose_adds_the_native_object(api):
    reply = api.post(PATH, {**HI, "verbose": True}).json
    assert reply["__verbose"]["prompt"] == "<s>" + CHATML_HI
    assert reply["__verbose"]["content"] == "abc"


def test_n_answers_as_many_choices(api):
    reply = api.post(PATH, {**HI, "n": 2, "seed": 5, "max_tokens": 1}).json
    assert [choice["index"] for choice in reply["choices"]] == [0, 1]
    assert [r.sampling.seed for r in api.engine.requests] == [5, 6]
    assert reply["usage"]["completion_tokens"] == 2
    assert reply["usage"]["prompt_tokens"] == len(CHATML_HI) + 1


def test_n_above_the_slots_is_refused(api):
    reply = api.post(PATH, {**HI, "n": 3})
    assert reply.status_code == 400
    assert "Field 'n'" in reply.json["error"]["message"]


@pytest.mark.parametrize(
    "field",
    [
        "user",
        "metadata",
        "store",
        "service_tier",
        "parallel_tool_calls",
        "prediction",
        "prompt_cache_key",
        "safety_identifier",
    ],
)
def test_fields_that_mean_nothing_here_are_ignored(api, field):
    assert api.post(PATH, {**HI, field: True}).status_code == 200


# -- prompts -------------------------------------------------------------------------


def test_prompt_has_one_bos_when_the_template_writes_it(make_api):
    api = make_api(engine=engine_with_template())
    api.post(PATH, HI)
    (request,) = api.engine.requests
    assert request.prompt_tokens.count(BOS) == 1
    assert request.prompt_tokens[0] == BOS
    assert prompt_of(api) == "[user]Hi[assistant]"


def test_developer_becomes_system_and_parts_are_joined(make_api):
    api = make_api(engine=engine_with_template())
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    messages = [
        {"role": "developer", "content": "S"},
        {"role": "user", "content": parts},
    ]
    assert prompt_of(api, messages=messages) == "[system]S[user]a\nb[assistant]"


def test_null_content_beside_tool_calls_is_accepted(make_api):
    api = make_api(engine=engine_with_template())
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "r"},
    ]
    call_text = '{"name": "f", "arguments": {}}'
    prompt = prompt_of(api, messages=messages)
    assert prompt == f"[user]a[assistant]{call_text}[tool]r[assistant]"


def test_a_last_assistant_message_is_continued(make_api):
    api = make_api(engine=engine_with_template())
    messages = [*HI["messages"], {"role": "assistant", "content": "Wel"}]
    assert prompt_of(api, messages=messages) == "[user]Hi[assistant]Wel"
    reply = api.post(PATH, {"messages": messages, "echo": True}).json
    assert reply["choices"][0]["message"]["content"] == "Welabc"


def test_add_generation_prompt_and_kwargs_reach_the_template(make_api):
    api = make_api(engine=engine_with_template())
    assert prompt_of(api, add_generation_prompt=False) == "[user]Hi"
    kwargs = {"enable_thinking": False}
    assert "<no-think>" in prompt_of(api, chat_template_kwargs=kwargs)
    assert "<no-think>" in prompt_of(api, reasoning_effort="none")


def test_tools_are_rendered_by_the_tool_use_variant(make_api):
    variant = "T:" + BOS_TEMPLATE
    api = make_api(engine=engine_with_template(tool_use=variant))
    assert prompt_of(api, tools=[TOOL]).startswith("T:<s>[user]Hi<tools>")
    assert prompt_of(api) == "[user]Hi[assistant]"
    assert api.get("/props").json["chat_template_tool_use"] == variant


@pytest.mark.parametrize(
    "choice",
    ["required", {"type": "function", "function": {"name": "f"}}],
    ids=["any", "named"],
)
def test_calls_can_be_required_of_a_template_without_tools(make_api, choice):
    api = make_api(engine=FakeEngine(info=make_info(n_ctx_slot=2048)))
    body = {**HI, "tools": [TOOL], "tool_choice": choice}
    assert api.post(PATH, body).status_code == 200
    (constraint,) = api.engine.constraints
    assert "tool_call" in constraint.grammar
    assert '<tools>\n{"name": "f"' in prompt_of(api, tools=[TOOL])


def test_a_template_without_tools_has_calls_and_results_in_words(make_api):
    api = make_api(engine=FakeEngine(info=make_info(n_ctx_slot=2048)))
    call = {"type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    turns = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", **call}]},
        {"role": "tool", "tool_call_id": "1", "content": "7"},
    ]
    prompt = prompt_of(api, messages=turns, tools=[TOOL])
    assert prompt.startswith("<|im_start|>system\nS\n\nYou may call")
    called = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
    assert f"<|im_start|>assistant\n{called}<|im_end|>" in prompt
    result = "<tool_response>\n7\n</tool_response>"
    assert f"<|im_start|>user\n{result}<|im_end|>" in prompt


def test_settings_override_the_models_template(make_api):
    api = make_api(engine=engine_with_template(), chat_template="Fixed {{ 1 + 1 }}")
    assert prompt_of(api) == "Fixed 2"


def test_no_jinja_uses_the_library_renderer_and_falls_back_to_chatml(make_api):
    api = make_api(engine=engine_with_template("odd"), jinja=False)
    assert prompt_of(api) == "[chatml:user]Hi[assistant]"
    assert [name for name, _ in api.engine.rendered] == ["odd", "chatml"]


def test_a_built_in_template_is_chosen_by_name(make_api):
    api = make_api(engine=engine_with_template(), chat_template="llama3")
    assert prompt_of(api) == "[llama3:user]Hi[assistant]"


def test_a_template_that_refuses_is_400_with_its_words(make_api):
    template = "{{ raise_exception('roles must alternate') }}"
    api = make_api(engine=engine_with_template(template))
    reply = api.post(PATH, {**HI, "stream": True})
    assert reply.status_code == 400
    assert "roles must alternate" in reply.json["error"]["message"]


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "image_url", "image_url": {"url": "data:image/png;base64,xx"}}],
        [{"type": "input_audio", "input_audio": {}}],
        [{"type": "odd"}],
        [5],
        7,
    ],
)
def test_content_that_is_not_text_is_400(api, content):
    reply = api.post(PATH, {"messages": [{"role": "user", "content": content}]})
    assert reply.status_code == 400
    assert reply.json["error"]["param"].startswith("messages[0]")


@pytest.mark.parametrize(
    "messages",
    [
        None,
        "string",
        [],
        [123],
        [{}],
        [{"role": 123}],
        [{"role": "system", "content": 123}],
        [{"role": "system", "content": "test"}, {}],
    ],
)
def test_malformed_messages_are_400(api, messages):
    reply = api.post(PATH, {"messages": messages})
    assert reply.status_code == 400
    assert reply.json["error"]["message"]


# -- streams -------------------------------------------------------------------------


def deltas_of(events):
    return [e["choices"][0]["delta"] for e in events if e != "[DONE]" and e["choices"]]


def test_stream_sends_role_text_finish_and_done(api):
    events = api.events(PATH, HI)
    assert events[-1] == "[DONE]"
    assert deltas_of(events) == [
        {"role": "assistant", "content": None},
        {"content": "a"},
        {"content": "b"},
        {"content": "c"},
        {},
    ]
    reasons = [e["choices"][0]["finish_reason"] for e in events[:-1]]
    assert reasons == [None, None, None, None, "length"]
    assert not any("usage" in e for e in events[:-1])
    assert [("timings" in e) for e in events[:-1]] == [False] * 4 + [True]
    assert {e["object"] for e in events[:-1]} == {"chat.completion.chunk"}
    assert len({(e["id"], e["created"], e["model"]) for e in events[:-1]}) == 1


def test_stream_sends_usage_last_and_only_when_asked(api):
    events = api.events(PATH, {**HI, "stream_options": {"include_usage": True}})
    usage = events[-2]
    assert usage["choices"] == []
    assert usage["usage"] == api.post(PATH, HI).json["usage"]
    assert "timings" in usage
    assert not any("usage" in e or "timings" in e for e in events[:-2])


@pytest.mark.parametrize(
    "deltas",
    [
        [delta("", [0xC3]), delta("\u00e9", [0xA9])],
        [delta("", [1], n_decoded=1)],
        [],
        [progress_delta(4, 0, 0), progress_delta(4, 0, 4), *text_deltas("a")],
    ],
)
def test_stream_sends_the_role_exactly_once(make_api, deltas):
    api = make_api(engine=FakeEngine(script=lambda request: (deltas, result())))
    shown = deltas_of(api.events(PATH, HI))
    assert shown[0] == {"role": "assistant", "content": None}
    assert sum("role" in each for each in shown) == 1
    assert shown[-1] == {}


def test_stream_reports_progress_with_the_role(make_api):
    deltas = [progress_delta(4, 1, 1), progress_delta(4, 1, 4), *text_deltas("a")]
    api = make_api(engine=FakeEngine(script=lambda request: (deltas, result())))
    events = api.events(PATH, {**HI, "return_progress": True})
    assert api.engine.requests[0].return_progress
    progress = [e["prompt_progress"]["processed"] for e in events[:2]]
    assert progress == [1, 4]
    assert not any("prompt_progress" in e for e in events[2:-1])


def test_stream_times_each_token_when_asked(api):
    events = api.events(PATH, {**HI, "timings_per_token": True})
    assert [("timings" in e) for e in events[:-1]] == [False] + [True] * 4


def test_stream_of_two_choices_keeps_them_apart(api):
    body = {**HI, "n": 2, "stream_options": {"include_usage": True}}
    events = api.events(PATH, body)
    for index in (0, 1):
        mine = [
            e["choices"][0]
            for e in events[:-2]
            if e["choices"] and e["choices"][0]["index"] == index
        ]
        assert "role" in mine[0]["delta"]
        assert "".join(c["delta"].get("content") or "" for c in mine) == "abc"
        assert [c["finish_reason"] for c in mine][-1] == "length"
    assert events[-2]["usage"]["completion_tokens"] == 6
    assert events.count("[DONE]") == 1


# -- logprobs ------------------------------------------------------------------------


def probs_engine():
    emoji = "\N{GRINNING FACE}".encode()
    deltas = [
        delta("", [1], probs=(token_probs(emoji[:3]),)),
        delta("\N{GRINNING FACE}", [2], probs=(token_probs(emoji[3:]),)),
        delta("a", [3], probs=(token_probs(b"a"),)),
        delta("", [4], probs=(token_probs(b"</s>"),)),
    ]
    return FakeEngine(script=lambda request: (deltas, result()))


@pytest.mark.parametrize(("top", "n_shown"), [(None, 0), (0, 0), (1, 1), (2, 2)])
def test_logprobs_join_to_the_text_whole_and_streamed(make_api, top, n_shown):
    api = make_api(engine=probs_engine())
    body = {**HI, "logprobs": True, "top_logprobs": top}
    choice = api.post(PATH, body).json["choices"][0]
    items = choice["logprobs"]["content"]
    text = bytes(b for item in items for b in item["bytes"]).decode()
    assert text == choice["message"]["content"] == "\N{GRINNING FACE}a"
    for item in items:
        assert isinstance(item["top_logprobs"], list)
        assert len(item["top_logprobs"]) == n_shown
    streamed = [
        item
        for event in api.events(PATH, body)[:-1]
        for item in (event["choices"][0].get("logprobs") or {"content": []})["content"]
    ]
    assert streamed == items


def test_logprobs_are_absent_unless_asked(make_api):
    api = make_api(engine=probs_engine())
    assert "logprobs" not in api.post(PATH, HI).json["choices"][0]


def test_defaults_of_the_server_reach_the_engine(make_api):
    from llamactypes.sampling_params import SamplingParams

    sampling = SamplingParams(temperature=0.25, seed=9)
    api = make_api(sampling=sampling, n_predict=2, reverse_prompts=("END",))
    api.post(PATH, HI)
    (request,) = api.engine.requests
    assert dataclasses.asdict(request.sampling) == dataclasses.asdict(sampling)
    assert (request.max_tokens, request.stop) == (2, ("END",))
