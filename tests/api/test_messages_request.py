"""Anthropic's requests, read into conversations. Pure."""

import pytest

from api.protocol.chat.continuation import Continuation
from api.protocol.chat.conversation import ChatDefaults
from api.protocol.invalid import InvalidRequest
from api.protocol.messages.request import (
    read_message_conversation,
    read_message_form,
    read_message_options,
)

HI = {"role": "user", "content": "Hi"}
USE = {"type": "tool_use", "id": "t1", "name": "ls", "input": {"path": ".", "n": 1}}
CALL = {
    "id": "t1",
    "type": "function",
    "function": {"name": "ls", "arguments": '{"path":".","n":1}'},
}
PIXEL = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}


def text_block(text, **more):
    return {"type": "text", "text": text, **more}


def result_block(content, **more):
    return {"type": "tool_result", "tool_use_id": "t1", "content": content, **more}


def read(messages, defaults=None, **body):
    body = {"messages": messages, **body}
    return read_message_conversation(body, defaults or ChatDefaults())


def messages_of(*messages, **body):
    return read(list(messages), **body).messages


def refusal(*messages, **body):
    with pytest.raises(InvalidRequest) as caught:
        read(list(messages), **body)
    assert caught.value.status == 400
    return caught.value


# -- system and text -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "content"),
    [
        ("Be brief.", "Be brief."),
        ([text_block("Be brief.")], "Be brief."),
        (
            [text_block("a", cache_control={"type": "ephemeral"}), text_block("b")],
            [text_block("a"), text_block("b")],
        ),
    ],
)
def test_system_is_a_string_or_blocks(system, content):
    assert messages_of(HI, system=system) == [
        {"role": "system", "content": content},
        HI,
    ]


@pytest.mark.parametrize("system", [None, "", [], [text_block("")]])
def test_a_system_prompt_that_says_nothing_is_none(system):
    assert messages_of(HI, system=system) == [HI]


@pytest.mark.parametrize("as_blocks", [False, True])
def test_claude_codes_stamp_does_not_change_the_prompt(as_blocks):
    def prompt(stamp):
        text = f"x-anthropic-billing-header: cc_version=2; cch={stamp};You are"
        system = [text_block(text)] if as_blocks else text
        return messages_of(HI, system=system)[0]["content"]

    assert prompt("a5145") == prompt("00f3c")
    assert prompt("a5145").endswith("cch=fffff;You are")


def test_only_a_stamp_at_the_beginning_is_one():
    text = "Say x-anthropic-billing-header: cch=a5145;"
    assert messages_of(HI, system=text)[0]["content"] == text


def test_content_is_a_string_or_blocks_and_cache_control_means_nothing():
    marked = text_block("Hi", cache_control={"type": "ephemeral", "ttl": "1h"})
    assert messages_of({"role": "user", "content": [marked]}) == [HI]
    several = {"role": "user", "content": [marked, text_block("there")]}
    assert messages_of(several) == [
        {"role": "user", "content": [text_block("Hi"), text_block("there")]}
    ]


def test_messages_of_one_role_in_a_row_are_one_turn():
    assert messages_of(HI, {"role": "user", "content": [text_block("there")]}) == [
        {"role": "user", "content": [text_block("Hi"), text_block("there")]}
    ]


def test_a_system_message_may_stand_among_the_others():
    later = {"role": "system", "content": [text_block("Now in French.")]}
    assert messages_of(HI, {"role": "assistant", "content": "Hello"}, later, HI) == [
        HI,
        {"role": "assistant", "content": "Hello"},
        {"role": "system", "content": "Now in French."},
        HI,
    ]


@pytest.mark.parametrize("content", ["", [], [text_block("")]])
def test_an_empty_message_is_a_message(content):
    assert messages_of({"role": "user", "content": content}) == [
        {"role": "user", "content": ""}
    ]


def test_no_messages_are_a_conversation_too():
    assert messages_of() == []
    assert messages_of(system="S") == [{"role": "system", "content": "S"}]


# -- the assistant's last message ----------------------------------------------------


def test_a_last_message_of_the_assistant_is_continued():
    conversation = read([HI, {"role": "assistant", "content": "The answer is"}])
    assert conversation.messages == [HI]
    assert conversation.prefill == "The answer is"


def test_it_is_answered_where_the_server_continues_nothing():
    last = {"role": "assistant", "content": "The answer is"}
    conversation = read([HI, last], ChatDefaults(prefill_assistant=False))
    assert conversation.messages == [HI, last]
    assert conversation.prefill is None


def test_tool_calls_are_not_continued():
    last = {"role": "assistant", "content": [text_block("So"), USE]}
    assert "tool calls" in refusal(HI, last).message


def test_thinking_is_continued_with_what_follows_it():
    thought = {"type": "thinking", "thinking": "Hm."}
    blocks = [thought, text_block("So")]
    continued = read([HI, {"role": "assistant", "content": blocks}]).continuation
    assert continued == Continuation("So", "Hm.")
    only = read([HI, {"role": "assistant", "content": [thought]}]).continuation
    assert only == Continuation("", "Hm.", in_thinking=True)


# -- tools ---------------------------------------------------------------------------


def test_a_tools_use_becomes_a_call_and_its_result_a_message():
    spoken = [text_block("Let me see."), USE]
    assert messages_of(
        HI,
        {"role": "assistant", "content": spoken},
        {"role": "user", "content": [result_block("main.py")]},
    ) == [
        HI,
        {"role": "assistant", "content": "Let me see.", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "t1", "content": "main.py"},
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, ""),
        ([], ""),
        ([text_block("a")], "a"),
        ([text_block("a"), text_block("b")], [text_block("a"), text_block("b")]),
    ],
)
def test_a_result_may_have_blocks_or_nothing(content, expected):
    turn = {"role": "user", "content": [result_block(content)]}
    (message,) = messages_of(turn)
    assert message == {"role": "tool", "tool_call_id": "t1", "content": expected}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("City not found", "Error: City not found"),
        ("error: no such city", "error: no such city"),
        ("", "Error"),
        (None, "Error"),
        (
            [text_block("a"), text_block("b")],
            [text_block("Error: a"), text_block("b")],
        ),
    ],
)
def test_a_failed_result_says_so(content, expected):
    turn = {"role": "user", "content": [result_block(content, is_error=True)]}
    assert messages_of(turn)[0]["content"] == expected


def test_text_beside_results_keeps_its_place_and_is_not_lost():
    turn = {
        "role": "user",
        "content": [
            text_block("before"),
            result_block("one"),
            result_block("two"),
            text_block("after"),
            text_block("that"),
        ],
    }
    assert [(m["role"], m["content"]) for m in messages_of(turn)] == [
        ("user", "before"),
        ("tool", "one"),
        ("tool", "two"),
        ("user", [text_block("after"), text_block("that")]),
    ]


def test_thinking_of_earlier_turns_goes_to_the_template():
    spoken = [
        {"type": "thinking", "thinking": "Look first.", "signature": "s"},
        {"type": "redacted_thinking", "data": "opaque"},
        USE,
    ]
    _, message, _ = messages_of(HI, {"role": "assistant", "content": spoken}, HI)
    assert message["reasoning_content"] == "Look first."
    assert message["tool_calls"] == [CALL]
    assert message["content"] == ""


def test_tools_are_functions():
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    tools = [
        {"name": "ls", "description": "List.", "input_schema": schema},
        {"type": "custom", "name": "rm", "input_schema": {}, "cache_control": None},
    ]
    assert read([HI], tools=tools).tools == [
        {
            "type": "function",
            "function": {"name": "ls", "description": "List.", "parameters": schema},
        },
        {
            "type": "function",
            "function": {"name": "rm", "description": "", "parameters": {}},
        },
    ]


@pytest.mark.parametrize("kind", ["auto", "none"])
def test_tools_that_may_be_used_are_accepted(kind):
    choice = {"type": kind, "disable_parallel_tool_use": True}
    tools = [{"name": "ls", "input_schema": {}}]
    assert read([HI], tools=tools, tool_choice=choice).tools


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "ls"}])
def test_a_call_cannot_be_required_without_the_tool(choice):
    error = refusal(HI, tools=[], tool_choice=choice)
    assert error.param.startswith("tool_choice")


def test_calls_are_not_lost_without_jinja():
    turns = [
        HI,
        {"role": "assistant", "content": [USE]},
        {"role": "user", "content": [result_block("x")]},
    ]
    with pytest.raises(InvalidRequest, match="--no-jinja"):
        read(turns, ChatDefaults(jinja=False))


# -- thinking ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("thinking", "expected"),
    [
        (None, True),
        ({"type": "enabled", "budget_tokens": 2048}, True),
        ({"type": "enabled"}, True),
        ({"type": "adaptive", "display": "summarized"}, True),
        ({"type": "disabled"}, False),
    ],
)
def test_thinking_is_the_templates_variable(thinking, expected):
    kwargs = read([HI], thinking=thinking).template_kwargs
    assert kwargs["enable_thinking"] is expected


def test_template_variables_may_be_given_and_win():
    kwargs = {"enable_thinking": False, "tone": "dry"}
    read_kwargs = read(
        [HI], thinking={"type": "enabled"}, chat_template_kwargs=kwargs
    ).template_kwargs
    assert read_kwargs.items() >= kwargs.items()


def test_effort_is_the_templates_variable():
    kwargs = read([HI], output_config={"effort": "low"}).template_kwargs
    assert kwargs["reasoning_effort"] == "low"


# -- what is refused -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        ({"type": "image", "source": PIXEL}, "image"),
        ({"type": "image", "source": {"type": "url", "url": "https://x"}}, "image"),
        ({"type": "image", "source": {"type": "base64", "data": "%%"}}, "image"),
        ({"type": "document", "source": PIXEL}, "document"),
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_media_are_refused_in_every_place(block, kind, nested):
    blocks = [text_block("What is it?"), result_block([block]) if nested else block]
    error = refusal({"role": "user", "content": blocks})
    assert f"{kind} input is not supported" in error.message
    where = "messages.0.content.1" + (".content.0" if nested else "")
    assert error.param == where
    assert where in error.message


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


@pytest.mark.parametrize(
    ("messages", "where"),
    [
        (None, "messages"),
        ("Hi", "messages"),
        ([123], "messages.0"),
        ([{}], "messages.0.role"),
        ([{"role": 5, "content": "a"}], "messages.0.role"),
        ([{"role": "tool", "content": "a"}], "messages.0.role"),
        ([{"role": "user"}], "messages.0.content"),
        ([{"role": "user", "content": 5}], "messages.0.content"),
        ([HI, user("a")], "messages.1.content.0"),
        ([user({})], "messages.0.content.0.type"),
        ([user({"type": "video"})], "messages.0.content.0.type"),
        ([user({"type": ["text"]})], "messages.0.content.0.type"),
        ([user({"type": "text"})], "messages.0.content.0.text"),
        ([user({"type": "text", "text": 5})], "messages.0.content.0.text"),
        ([user(USE)], "messages.0.content.0.type"),
        ([assistant(result_block("a"))], "messages.0.content.0.type"),
        ([user({"type": "tool_result"})], "messages.0.content.0.tool_use_id"),
        ([user(result_block(5))], "messages.0.content.0.content"),
        ([user(result_block([USE]))], "messages.0.content.0.content.0.type"),
        ([user(result_block("a", is_error="no"))], "messages.0.content.0.is_error"),
        ([assistant({**USE, "id": None}), HI], "messages.0.content.0.id"),
        ([assistant({**USE, "name": 1}), HI], "messages.0.content.0.name"),
        ([assistant({**USE, "input": "{}"}), HI], "messages.0.content.0.input"),
        ([assistant({"type": "thinking"}), HI], "messages.0.content.0.thinking"),
        ([{"role": "system", "content": [USE]}], "messages.0.content.0.type"),
    ],
)
def test_malformed_messages_name_the_place(messages, where):
    with pytest.raises(InvalidRequest) as caught:
        read(messages)
    assert caught.value.param == where
    assert caught.value.message.startswith(f"{where}:")


@pytest.mark.parametrize(
    ("field", "value", "where"),
    [
        ("model", 5, "model"),
        ("system", 5, "system"),
        ("system", [{"type": "image", "source": PIXEL}], "system.0"),
        ("tools", {}, "tools"),
        ("tools", ["ls"], "tools.0"),
        ("tools", [{"input_schema": {}}], "tools.0.name"),
        ("tools", [{"name": "ls"}], "tools.0.input_schema"),
        ("tools", [{"name": "a", "input_schema": "{}"}], "tools.0.input_schema"),
        (
            "tools",
            [{"name": "a", "input_schema": {}, "description": 5}],
            "tools.0.description",
        ),
        ("tools", [{"type": "web_search_20250305", "name": "w"}], "tools.0.type"),
        ("tools", [{"type": "bash_20250124", "name": "bash"}], "tools.0.type"),
        ("tool_choice", "auto", "tool_choice"),
        ("tool_choice", {"type": "some"}, "tool_choice.type"),
        ("tool_choice", {"type": []}, "tool_choice.type"),
        ("thinking", True, "thinking"),
        ("thinking", {"type": "lots"}, "thinking.type"),
        ("thinking", {"type": ["enabled"]}, "thinking.type"),
        ("thinking", {"type": "enabled", "budget_tokens": "x"}, "budget_tokens"),
        ("output_config", "low", "output_config"),
        ("output_config", {"effort": 5}, "effort"),
        ("mcp_servers", [{"type": "url"}], "mcp_servers"),
        ("container", "c_1", "container"),
        ("chat_template_kwargs", 5, "chat_template_kwargs"),
    ],
)
def test_malformed_or_impossible_fields_are_named(field, value, where):
    error = refusal(HI, **{field: value})
    assert error.param == where
    assert where in error.message


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"output_config": {"format": {"type": "xml"}}}, "output_config.format"),
        (
            {"output_format": {"type": "json_schema", "schema": 1}},
            "output_format.schema",
        ),
        (
            {
                "output_config": {"format": {"type": "json_object"}},
                "output_format": {"type": "json_object"},
            },
            "output_format.schema",
        ),
    ],
)
def test_malformed_forms_of_the_answer_are_named(body, where):
    with pytest.raises(InvalidRequest) as caught:
        read_message_form(body)
    assert caught.value.param == where


@pytest.mark.parametrize("name", ["output_config", "output_format"])
def test_the_form_of_the_answer_is_where_messages_have_it(name):
    format = {"type": "json_schema", "schema": {"type": "array"}}
    body = {name: {"format": format} if name == "output_config" else format}
    form = read_message_form(body)
    assert form is not None
    assert form.value == {"type": "array"}
    assert read_message_form({}) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("metadata", {"user_id": "u"}),
        ("service_tier", "auto"),
        ("inference_geo", "eu"),
        ("speed", "fast"),
        ("mcp_servers", []),
        ("cache_control", {"type": "ephemeral"}),
        ("context_management", {"edits": []}),
        ("container", None),
    ],
)
def test_fields_that_mean_nothing_here_are_accepted(field, value):
    assert messages_of(HI, **{field: value}) == [HI]


# -- parameters ----------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, "many", 1.5, -1, True])
def test_max_tokens_is_required_and_checked(value):
    with pytest.raises(InvalidRequest) as caught:
        read_message_options({"max_tokens": value})
    assert caught.value.param == "max_tokens"


def test_max_tokens_has_no_rival():
    body = {"max_tokens": 5, "n_predict": 9, "max_completion_tokens": 8}
    options = read_message_options(body)
    assert options["max_tokens"] == 5
    assert not options.keys() & {"n_predict", "max_completion_tokens"}


def test_stop_sequences_are_the_stops():
    body = {"max_tokens": 5, "stop_sequences": ["END", "\n"]}
    assert read_message_options(body)["stop"] == ["END", "\n"]
    assert "stop" not in read_message_options({"max_tokens": 5})


@pytest.mark.parametrize("value", ["END", [5], {}, ["a"] * 1025])
def test_malformed_stop_sequences_are_named(value):
    with pytest.raises(InvalidRequest) as caught:
        read_message_options({"max_tokens": 5, "stop_sequences": value})
    assert caught.value.param == "stop_sequences"


@pytest.mark.parametrize("name", ["n", "n_cmpl"])
def test_one_message_has_one_answer(name):
    read_message_options({"max_tokens": 5, name: 1})
    with pytest.raises(InvalidRequest) as caught:
        read_message_options({"max_tokens": 5, name: 2})
    assert caught.value.param == name
