"""How requests and flags shape prompts, on every route that renders a template."""

from __future__ import annotations

import json

import pytest

from tests.support.fake_engine import BOS, EOS, FakeEngine, FakeVocab, make_info

CHAT = "/v1/chat/completions"
USER = {"role": "user", "content": "Hi"}
LINES = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    "{% if documents %}<docs>{{ documents | tojson }}{% endif %}"
    "{% if tools %}<tools>{{ tools | tojson }}{% endif %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)
THINKS = (
    "{% for m in messages %}[{{ m.role }}]"
    "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n"
    "{% endif %}{{ m.content }}[end]{% endfor %}"
    "{% if add_generation_prompt %}[assistant]"
    "{% if enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
OPENS_THINKING = THINKS.replace(
    "{% endif %}{% endif %}", "{% else %}<think>\n{% endif %}{% endif %}"
)


@pytest.fixture
def api_of(make_api):
    def make(template, *, text="abc", vocab=None, variants=None, **settings):
        info = make_info(
            chat_template=template, chat_templates=variants or {}, n_ctx_slot=4096
        )
        engine = FakeEngine(text, info=info)
        if vocab is not None:
            engine.vocab = vocab
        return make_api(engine=engine, **settings)

    return make


def prompt_of(api, status=200, **body):
    reply = api.post("/apply-template", {"messages": [USER], **body})
    assert reply.status_code == status, reply.text
    return reply.json["prompt"] if status == 200 else reply.json["error"]["message"]


# -- which template ------------------------------------------------------------------


def test_a_request_chooses_one_of_the_models_templates(api_of):
    api = api_of("default", variants={"rag": "rag {{ documents[0].text }}"})
    documents = [{"title": "T", "text": "fact"}]
    assert prompt_of(api) == "default"
    assert prompt_of(api, chat_template="default") == "default"
    assert prompt_of(api, chat_template="rag", documents=documents) == "rag fact"
    refusal = prompt_of(api, 400, chat_template="other")
    assert refusal == "there is no chat template 'other'; there are: default, rag"


def test_a_template_in_a_request_is_refused(api_of):
    message = prompt_of(api_of(LINES), 400, chat_template="{{ messages }}")
    assert "must be the name of one of the model's templates" in message


def test_a_flag_chooses_one_of_the_models_templates(api_of):
    variants = {"tool_use": "tools", "rag": "rag"}
    api = api_of("default", variants=variants, chat_template="rag")
    assert prompt_of(api) == "rag"
    tool = {"type": "function", "function": {"name": "f"}}
    assert prompt_of(api, tools=[tool]) == "rag"


def test_documents_reach_the_template_and_need_one(api_of):
    documents = [{"text": "ü"}]
    prompt = prompt_of(api_of(LINES), documents=documents)
    assert prompt == '[user]Hi<docs>[{"text": "ü"}][assistant]'
    api = api_of(LINES, jinja=False)
    assert "documents param requires --jinja" in prompt_of(
        api, 400, documents=documents
    )


def test_names_of_templates_need_jinja(api_of):
    api = api_of(LINES, jinja=False, variants={"rag": "rag"})
    assert "there is no chat template 'rag'" in prompt_of(api, 400, chat_template="rag")


def test_a_model_whose_template_does_not_parse_is_served_without_chats(api_of):
    api = api_of("{% if %}")
    assert "does not parse: line 1" in prompt_of(api, 400)
    assert api.get("/props").status_code == 200
    assert api.post("/completion", {"prompt": "Hi"}).status_code == 200


# -- what is continued ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "fields", "last", "end"),
    [
        (LINES, {}, {"content": "So"}, "[assistant]So"),
        (THINKS, {}, {"content": "So"}, "[assistant]So"),
        (
            THINKS,
            {},
            {"content": "So", "reasoning_content": "Hm"},
            "[assistant]<think>\nHm\n</think>\n\nSo",
        ),
        (THINKS, {}, {"reasoning_content": "Hm"}, "[assistant]<think>\nHm"),
        (OPENS_THINKING, {}, {"content": "So"}, "<think>\n\n</think>\n\nSo"),
        (
            OPENS_THINKING,
            {},
            {"content": "So", "reasoning_content": "Hm"},
            "[assistant]<think>\nHm\n</think>\n\nSo",
        ),
        (OPENS_THINKING, {}, {"reasoning_content": "Hm"}, "[assistant]<think>\nHm"),
        (
            THINKS,
            {"reasoning_effort": "none"},
            {"content": "So"},
            "[assistant]<think>\n\n</think>\n\nSo",
        ),
        (
            THINKS,
            {"reasoning_effort": "none"},
            {"reasoning_content": "Hm"},
            "[assistant]<think>\nHm",
        ),
        (
            THINKS,
            {"continue_final_message": "content", "add_generation_prompt": False},
            {"content": "", "reasoning_content": "Hm"},
            "[assistant]<think>\nHm\n</think>\n\n",
        ),
        (
            THINKS,
            {
                "continue_final_message": "reasoning_content",
                "add_generation_prompt": False,
            },
            {"content": None, "reasoning_content": "Hm"},
            "[assistant]<think>\nHm",
        ),
    ],
)
def test_an_answer_goes_on_where_the_last_message_ends(
    api_of, template, fields, last, end
):
    messages = [USER, {"role": "assistant", **last}]
    prompt = prompt_of(api_of(template), messages=messages, **fields)
    assert prompt.endswith(end), prompt
    assert "[end]" not in prompt.removeprefix("[user]Hi[end]")


def test_thinking_is_not_continued_by_a_model_that_does_not_think(api_of):
    last = {"role": "assistant", "reasoning_content": "Hm"}
    message = prompt_of(api_of(LINES), 400, messages=[USER, last])
    assert "nothing in this model's chat template says how it thinks" in message


def test_a_continued_thought_is_answered_with_the_rest_of_it(api_of):
    api = api_of(THINKS, text="m.</think>Yes.")
    last = {"role": "assistant", "reasoning_content": "Hm"}
    reply = api.post(CHAT, {"messages": [USER, last]}).json
    message = reply["choices"][0]["message"]
    assert message["reasoning_content"] == "m."
    assert message["content"] == "Yes."


def test_earlier_thinking_is_kept_or_forgotten_as_the_flag_says(api_of):
    template = (
        "{% for m in messages %}{{ m.content }}{% if preserve_thinking %}"
        "({{ m.reasoning_content }}){% endif %}{% endfor %}{{ clear_thinking }}"
    )
    turns = [{"role": "assistant", "content": "A", "reasoning_content": "R"}, USER]
    assert prompt_of(api_of(template), messages=turns) == "A(R)Hi()False"
    kwargs = {"preserve_reasoning": False}
    forgetful = api_of(template, chat_template_kwargs=kwargs)
    assert prompt_of(forgetful, messages=turns) == "AHiTrue"
    forgotten = prompt_of(api_of(template), messages=turns, chat_template_kwargs=kwargs)
    assert forgotten == "AHiTrue"


# -- what is refused -----------------------------------------------------------------


def test_an_order_of_roles_that_a_template_refuses_is_repaired(api_of):
    template = (
        "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('roles must alternate') }}{% endif %}[{{ m.role }}]"
        "{{ m.content }}{% endfor %}"
    )
    api = api_of(template)
    messages = [{"role": "system", "content": "S"}, USER, USER]
    assert prompt_of(api, messages=messages) == "[user]S\nHi\nHi"
    assert prompt_of(api, messages=[USER]) == "[user]Hi"


@pytest.mark.parametrize("path", [CHAT, "/v1/responses", "/v1/messages"])
def test_a_refusal_is_400_with_the_templates_words_on_every_route(api_of, path):
    api = api_of("{{ raise_exception('only on Sundays') }}")
    body = {"messages": [USER], "input": "Hi", "max_tokens": 5}
    if path == "/v1/responses":
        del body["messages"], body["max_tokens"]
    reply = api.post(path, body)
    assert reply.status_code == 400
    assert "only on Sundays" in reply.text


@pytest.mark.parametrize("name", ["messages", "tools", "documents", "bos_token"])
@pytest.mark.parametrize("value", [5, "text", ["text"], {"a": [1]}, None])
def test_a_variable_in_the_place_of_another_is_never_a_500(api_of, name, value):
    template = "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"
    api = api_of(template + "{{ functions }}{{ tools | tojson }}")
    kwargs = {name: value}
    reply = api.post(CHAT, {"messages": [USER], "chat_template_kwargs": kwargs})
    assert reply.status_code in (200, 400), reply.text


# -- text that spells a control token ------------------------------------------------

SPELT = "a<s>b</s>"


def requests():
    """Every place where a client's text gets into a prompt: route and body."""
    schema = {"type": "object", "properties": {SPELT: {"description": SPELT}}}
    tool = {"name": "f", "description": SPELT, "parameters": schema}
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "f", "arguments": json.dumps({"a": SPELT})},
    }
    yield CHAT, {"messages": [{"role": "user", "content": SPELT}]}
    yield CHAT, {"messages": [{"role": "system", "content": SPELT}, USER]}
    yield CHAT, {"messages": [{"role": "user<s>", "content": "Hi"}]}
    parts = [{"type": "text", "text": "a<"}, {"type": "text", "text": "s>b"}]
    yield CHAT, {"messages": [{"role": "user", "content": parts}]}
    yield CHAT, {"messages": [USER, {"role": "assistant", "content": SPELT}]}
    yield CHAT, {"messages": [USER], "tools": [{"type": "function", "function": tool}]}
    yield CHAT, {"messages": [USER], "documents": [{"text": SPELT}]}
    yield (
        CHAT,
        {
            "messages": [
                USER,
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": SPELT},
            ]
        },
    )
    yield "/v1/responses", {"input": SPELT, "instructions": SPELT}
    yield "/v1/responses", {"input": "Hi", "tools": [{"type": "function", **tool}]}
    blocks = [{"type": "tool_result", "tool_use_id": "c", "content": SPELT}]
    use = {"type": "tool_use", "id": "c", "name": "f", "input": {"a": SPELT}}
    yield (
        "/v1/messages",
        {
            "max_tokens": 5,
            "system": SPELT,
            "tools": [{"name": "f", "description": SPELT, "input_schema": schema}],
            "messages": [
                USER,
                {"role": "assistant", "content": [use]},
                {"role": "user", "content": blocks},
            ],
        },
    )


@pytest.mark.parametrize(("path", "body"), list(requests()))
@pytest.mark.parametrize("jinja", [True, False])
def test_no_text_of_a_client_becomes_a_control_token(api_of, path, body, jinja):
    api = api_of(LINES, jinja=jinja)
    reply = api.post(path, body)
    if not jinja and reply.status_code == 400:
        assert "jinja" in reply.text  # tools and documents
        return
    assert reply.status_code == 200, reply.text
    [request] = api.engine.requests
    specials = [token for token in request.prompt_tokens if token in (BOS, EOS)]
    assert specials == [BOS]


def test_the_flag_lets_text_be_control_tokens(api_of):
    api = api_of(LINES, parse_special_content=True)
    api.post(CHAT, {"messages": [{"role": "user", "content": SPELT}]})
    [request] = api.engine.requests
    assert list(request.prompt_tokens).count(EOS) == 1


def test_the_shown_prompt_is_the_plain_text(api_of):
    messages = [{"role": "user", "content": SPELT}]
    assert prompt_of(api_of(LINES), messages=messages) == f"[user]{SPELT}[assistant]"


def test_counting_counts_what_is_generated_from(api_of):
    api = api_of(LINES)
    body = {"messages": [{"role": "user", "content": SPELT}]}
    counted = api.post(f"{CHAT}/input_tokens", body).json["input_tokens"]
    usage = api.post(CHAT, body).json["usage"]
    assert counted == usage["prompt_tokens"] == len(f"[user]{SPELT}[assistant]") + 1


def test_variables_of_the_flags_may_hold_control_tokens(api_of):
    template = "{{ ending }}{{ messages[0].content }}{{ given }}"
    api = api_of(template, chat_template_kwargs={"ending": "</s>"})
    kwargs = {"given": "</s>"}
    api.post(CHAT, {"messages": [USER], "chat_template_kwargs": kwargs})
    [request] = api.engine.requests
    assert list(request.prompt_tokens[:2]) == [BOS, EOS]
    assert list(request.prompt_tokens).count(EOS) == 1


# -- one beginning -------------------------------------------------------------------


class EndingVocab(FakeVocab):
    """Adds both ends by itself."""

    add_eos = True

    def tokenize(self, text, *, add_special=False, parse_special=True):
        tokens = super().tokenize(
            text, add_special=add_special, parse_special=parse_special
        )
        return [*tokens, EOS] if add_special else tokens


@pytest.mark.parametrize("content", ["Hi", "<s>Hi", "Hi</s>", "<s><s>Hi</s></s>", ""])
@pytest.mark.parametrize("before", ["", "{{ bos_token }}", "<s>"])
@pytest.mark.parametrize("add_bos", [True, False])
def test_a_chat_has_one_beginning_at_most(api_of, content, before, add_bos):
    vocab = FakeVocab(add_bos=add_bos)
    api = api_of(before + "{{ messages[0].content }}", vocab=vocab)
    api.post(CHAT, {"messages": [{"role": "user", "content": content or " "}]})
    [request] = api.engine.requests
    tokens = list(request.prompt_tokens)
    n_expected = 1 if add_bos or before else 0
    assert [t for t in tokens if t in (BOS, EOS)] == [BOS] * n_expected
    text = bytes(t for t in tokens if t < BOS).decode()
    assert text == (content or " ")


@pytest.mark.parametrize("content", ["Hi", "<s>Hi</s>"])
@pytest.mark.parametrize("after", ["", "{{ eos_token }}"])
def test_a_chat_has_one_end_where_the_vocabulary_adds_it(api_of, content, after):
    api = api_of("{{ messages[0].content }}" + after, vocab=EndingVocab())
    api.post(CHAT, {"messages": [{"role": "user", "content": content}]})
    [request] = api.engine.requests
    tokens = list(request.prompt_tokens)
    assert [t for t in tokens if t in (BOS, EOS)] == [BOS, EOS]
    assert tokens[0] == BOS
    assert tokens[-1] == EOS


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/apply-template"])
@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ([{"role": "system", "content": 1e308}, USER], "messages[0].content"),
        ([{"role": "system", "content": 0}, USER], "messages[0].content"),
        ([{"role": "system", "content": {"a": 1}}, USER], "messages[0].content"),
        ([{"role": "system"}, USER], "messages[0].content"),
        ([USER, {"role": "user"}], "messages[1].content"),
        ([USER, {"role": "tool", "content": 5}], "messages[1].content"),
    ],
)
def test_malformed_messages_are_named_where_tools_are_told_in_words(
    make_api, path, messages, param
):
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    reply = make_api().post(path, {"messages": messages, "tools": tools})
    assert reply.status_code == 400, reply.text
    assert reply.json["error"]["param"] == param
