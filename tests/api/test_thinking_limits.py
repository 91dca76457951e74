"""How long a model may think, asked for over HTTP, and thinking ended from outside."""

from __future__ import annotations

from types import SimpleNamespace

import falcon
import pytest
from falcon import testing

from api.chat.formats import has_thought, said_in
from api.chat.running import RunningAnswers
from api.chat.thinking_limit import thinking_limit
from api.errors import install_error_handlers
from api.protocol.thinking import ThinkingAsked
from api.resources.thinking_control import ChatControl
from llamactypes.chat.output.format import ChatFormat, Tags
from llamactypes.engine import GenerationRequest
from tests.api.conftest import Api
from tests.support.fake_engine import FakeEngine, make_info, make_settings, result
from tests.support.tool_model import TOOL_TEMPLATE

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
CONTROL = "/v1/chat/completions/control"
HI = {"messages": [{"role": "user", "content": "Hi"}]}
NO_THOUGHTS = "{% for message in messages %}{{ message.content }}{% endfor %}"


def engine(template=TOOL_TEMPLATE, **options):
    return FakeEngine(info=make_info(chat_template=template), **options)


def limit(body, path=CHAT, template=TOOL_TEMPLATE, **settings):
    model = engine(template)
    reply = Api(model, **settings).post(path, body)
    assert reply.status_code == 200, reply.text
    (request,) = model.requests
    return request.thinking


@pytest.mark.parametrize("name", ["reasoning_budget_tokens", "thinking_budget_tokens"])
def test_chat_limits_thinking_by_its_tags(name):
    found = limit({**HI, name: 7, "reasoning_budget_message": "So."})
    assert (found.open, found.close, found.budget) == (b"<think>", b"</think>", 7)
    assert bytes(found.forced) == b"So.</think>"
    assert not found.is_thinking
    assert found.control is None


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (RESPONSES, {"input": "Hi", "reasoning_budget_tokens": 3}),
        (MESSAGES, {**HI, "max_tokens": 8, "thinking_budget_tokens": 3}),
        (
            MESSAGES,
            {
                **HI,
                "max_tokens": 8,
                "thinking": {"type": "enabled", "budget_tokens": 3},
            },
        ),
    ],
)
def test_other_routes_limit_thinking_too(path, body):
    assert limit(body, path).budget == 3


def test_server_limits_the_thinking_of_requests_that_do_not():
    settings = {"reasoning_budget": 5, "reasoning_budget_message": "Now."}
    found = limit({**HI, "reasoning_budget_tokens": -1}, **settings)
    assert found.budget == 5
    assert bytes(found.forced) == b"Now.</think>"
    assert limit({**HI, "reasoning_budget_tokens": 2}, **settings).budget == 2


def test_prompt_that_ends_in_the_thinking_is_counted_from_there():
    template = TOOL_TEMPLATE + "{% if add_generation_prompt %}<think>\n{% endif %}"
    found = limit({**HI, "reasoning_budget_tokens": 0}, template=template)
    assert found.is_thinking
    assert found.n_spent == len("\n")


@pytest.mark.parametrize(
    ("body", "template"),
    [
        (HI, TOOL_TEMPLATE),
        ({**HI, "reasoning_budget_tokens": -1}, TOOL_TEMPLATE),
        ({**HI, "reasoning_budget_tokens": 3}, NO_THOUGHTS),
    ],
)
def test_nothing_is_limited_that_was_not_asked_for_or_is_not_there(body, template):
    assert limit(body, template=template) is None


@pytest.mark.parametrize("value", [-2, 1.5, "3", True])
def test_malformed_limit_is_refused(value):
    reply = Api(engine()).post(CHAT, {**HI, "reasoning_budget_tokens": value})
    assert reply.status_code == 400
    assert reply.json["error"]["param"] == "reasoning_budget_tokens"


# -- the end from outside --------------------------------------------------------------


def controlled(**fields):
    """Return a client of the control route, and a generation it may know."""
    model = engine(is_manual=True)
    limit = thinking_limit(
        model.vocab,
        ChatFormat(Tags("<think>", "</think>")),
        ThinkingAsked(**fields),
        in_thinking=True,
    )
    generation = model.submit(GenerationRequest((1,), thinking=limit))
    generation.is_started = True
    context = SimpleNamespace(settings=make_settings(), running=RunningAnswers())
    context.running.add("chatcmpl-1", [generation])
    app = falcon.App()
    install_error_handlers(app)
    app.add_route(CONTROL, ChatControl(context))
    return testing.TestClient(app), generation


def ask(client, **body):
    return client.simulate_post(CONTROL, json=body)


def test_control_ends_the_thinking_of_a_running_completion():
    client, generation = controlled(is_controllable=True)
    reply = ask(client, id="chatcmpl-1", action="reasoning_end")
    assert (reply.status_code, reply.json) == (200, {"success": True})
    assert generation.request.thinking.control.n_asked == 1


@pytest.mark.parametrize("fields", [{}, {"budget": 5}])
def test_control_says_when_a_completion_did_not_ask_for_it(fields):
    client, _generation = controlled(**fields)
    reply = ask(client, id="chatcmpl-1", action="reasoning_end")
    message = "reasoning control not enabled for this completion"
    assert (reply.status_code, reply.json) == (
        200,
        {"success": False, "message": message},
    )


@pytest.mark.parametrize("end", ["other", "waiting", "over"])
def test_control_says_when_no_completion_is_running(end):
    client, generation = controlled(is_controllable=True)
    id = "chatcmpl-2" if end == "other" else "chatcmpl-1"
    if end == "waiting":
        generation.is_started = False
    elif end == "over":
        generation.append(None, result())
    reply = ask(client, id=id, action="reasoning_end")
    message = "no active completion for this id"
    assert (reply.status_code, reply.json) == (
        200,
        {"success": False, "message": message},
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"action": "reasoning_end"}, "missing completion id"),
        ({"id": "", "action": "reasoning_end"}, "missing completion id"),
        ({"id": "chatcmpl-1"}, "unknown control action"),
        ({"id": "chatcmpl-1", "action": "stop"}, "unknown control action"),
    ],
)
def test_malformed_control_is_refused(body, message):
    client, _ = controlled(is_controllable=True)
    reply = ask(client, **body)
    assert reply.status_code == 400
    assert reply.json["error"]["message"] == message


def test_route_of_control_is_part_of_the_server():
    reply = Api(engine()).post(CONTROL, {"id": "x", "action": "reasoning_end"})
    assert reply.json["message"] == "no active completion for this id"


def test_generations_that_ended_are_forgotten():
    model = engine(is_manual=True)
    running = RunningAnswers()
    first, second, third = (model.submit(GenerationRequest((1,))) for _ in range(3))
    for each in (first, second, third):
        each.is_started = True
    running.add("a", [first])
    running.add("b", [second, third])
    assert running.find("a") == [first]
    first.append(None, result())
    second.append(None, result())
    running.add("c", [])
    assert running.find("a") == []
    assert running.find("b") == [third]


@pytest.mark.parametrize(
    ("prefill", "said"),
    [
        ('{"a":', '{"a":'),
        ('<t>x</t>\n{"a":', '{"a":'),
        ("a </t> b </t>", ""),
        ("<t>x</t>", ""),
        ("", ""),
    ],
)
def test_answer_in_continued_content_is_without_its_thinking(prefill, said):
    assert said_in(prefill, Tags("<t>", "</t>")) == said
    assert said_in(prefill, None) == prefill


@pytest.mark.parametrize(
    ("prompt", "closed"),
    [("U<t>\n\n</t>\n\n", True), ("U</t>", True), ("U<t>", False), ("U</t>A", False)],
)
def test_thinking_that_a_prompt_closes_is_over(prompt, closed):
    form = ChatFormat(reasoning=Tags("<t>", "</t>"))
    assert has_thought(prompt, form) is closed
    assert not has_thought(prompt, ChatFormat())
