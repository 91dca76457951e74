import pytest

from api.protocol.chat.continuation import Continuation
from api.protocol.chat.conversation import (
    ChatDefaults,
    read_conversation,
    read_logprobs,
)
from api.protocol.invalid import InvalidRequest

READ_VARIABLES = {
    "enable_thinking": True,
    "preserve_reasoning": True,
    "preserve_thinking": True,
    "clear_thinking": False,
    "truncate_history_thinking": False,
    "drop_thinking": False,
}
USER = {"role": "user", "content": "Hi"}
ASSISTANT = {"role": "assistant", "content": "Well"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}


def read(body, **defaults):
    return read_conversation(body, ChatDefaults(**defaults))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "'messages' is required"),
        ({"messages": "x"}, "Expected 'messages' to be an array"),
        ({"messages": []}, "'messages' must not be empty"),
        ({"messages": [1]}, "Expected messages\\[0\\] to be an object"),
        ({"tools": {}}, "Failed to parse tools"),
        ({"tools": [{"type": "web"}]}, 'tools\\[0\\].type must be "function"'),
        ({"tools": [{"type": "function"}]}, "function needs a name"),
        ({"tool_choice": "maybe"}, "Invalid tool_choice: maybe"),
        ({"tool_choice": "required"}, "a call is required, but there are no 'tools'"),
        ({"tool_choice": {"type": "function"}}, "the function needs a name"),
        ({"chat_template_kwargs": []}, "Field 'chat_template_kwargs'"),
        (
            {"chat_template_kwargs": {"enable_thinking": "false"}},
            'invalid type for "enable_thinking" \\(expected boolean, got string\\)',
        ),
        ({"messages": [USER, ASSISTANT, ASSISTANT]}, "2 or more assistant messages"),
        (
            {"messages": [USER, ASSISTANT], "continue_final_message": True},
            "Cannot set both add_generation_prompt and continue_final_message",
        ),
        (
            {"continue_final_message": True, "add_generation_prompt": False},
            "needs a last message of role 'assistant'",
        ),
        (
            {"messages": [USER, {**ASSISTANT, "tool_calls": [{}]}]},
            "Cannot continue an assistant message that contains tool calls",
        ),
        ({"continue_final_message": "thinking"}, "Field 'continue_final_message'"),
        ({"continue_final_message": 1}, "Field 'continue_final_message'"),
        (
            {
                "messages": [USER, {**ASSISTANT, "reasoning_content": "Hm"}],
                "continue_final_message": "reasoning_content",
                "add_generation_prompt": False,
            },
            "of a message that has content as well",
        ),
        (
            {"messages": [USER, {**ASSISTANT, "reasoning_content": 5}]},
            "Expected messages\\[1\\].reasoning_content to be a string",
        ),
        ({"documents": {}}, "Field 'documents'"),
        ({"documents": ["text"]}, "Expected documents\\[0\\] to be an object"),
        ({"chat_template": "{{ messages }}"}, "Field 'chat_template'"),
        (
            {"chat_template_kwargs": {"preserve_reasoning": 1}},
            'invalid type for "preserve_reasoning"',
        ),
        ({"reasoning_effort": 5}, "Field 'reasoning_effort'"),
    ],
)
def test_read_conversation_refuses_with_llama_servers_words(body, message):
    base = {} if "messages" in body or not body else {"messages": [USER]}
    with pytest.raises(InvalidRequest, match=message):
        read({**base, **body})


def test_read_conversation_continues_a_last_assistant_message():
    parts = [{"type": "text", "text": "Wh"}, {"type": "text", "text": "ill"}]
    talk = read({"messages": [USER, {"role": "assistant", "content": parts}]})
    assert talk.messages == [USER]
    assert talk.prefill == "Wh\n\nill"
    assert talk.add_generation_prompt


def test_read_conversation_continues_when_told_to():
    body = {
        "messages": [USER, ASSISTANT],
        "continue_final_message": True,
        "add_generation_prompt": False,
    }
    assert read(body, prefill_assistant=False).prefill == "Well"


def test_read_conversation_answers_a_last_assistant_message_when_prefill_is_off():
    talk = read({"messages": [USER, ASSISTANT]}, prefill_assistant=False)
    assert talk.prefill is None
    assert talk.messages == [USER, ASSISTANT]


def test_read_conversation_merges_template_variables():
    body = {
        "messages": [USER],
        "chat_template_kwargs": {"a": 2},
        "reasoning_effort": "low",
    }
    talk = read(body, template_kwargs={"a": 1, "b": 3})
    assert talk.template_kwargs == {
        **READ_VARIABLES,
        "a": 2,
        "b": 3,
        "reasoning_effort": "low",
        "reasoning_strength": "low",
    }


def test_read_conversation_forgets_reasoning_where_it_is_told_to():
    kwargs = {"preserve_reasoning": False, "drop_thinking": False}
    talk = read({"messages": [USER], "chat_template_kwargs": kwargs})
    assert talk.template_kwargs["clear_thinking"] is True
    assert talk.template_kwargs["preserve_thinking"] is False
    assert talk.template_kwargs["drop_thinking"] is False


def test_read_conversation_turns_thinking_off_by_effort_none():
    talk = read({"messages": [USER], "reasoning_effort": "none"})
    assert talk.template_kwargs == {**READ_VARIABLES, "enable_thinking": False}


@pytest.mark.parametrize(
    ("last", "wanted", "continuation"),
    [
        ({"content": "A"}, None, Continuation("A")),
        ({"content": "A", "reasoning_content": "R"}, None, Continuation("A", "R")),
        ({"reasoning_content": "R"}, None, Continuation("", "R", True)),
        (
            {"content": None, "reasoning_content": "R"},
            True,
            Continuation("", "R", True),
        ),
        ({"content": "", "reasoning_content": "R"}, "content", Continuation("", "R")),
        ({"content": ""}, "reasoning_content", Continuation("", "", True)),
    ],
)
def test_read_conversation_finds_what_is_continued(last, wanted, continuation):
    fields = {} if wanted is None else {"continue_final_message": wanted}
    if wanted is not None:
        fields["add_generation_prompt"] = False
    messages = [USER, {"role": "assistant", **last}]
    assert read({"messages": messages, **fields}).continuation == continuation


def test_read_conversation_keeps_tools_with_choice_none():
    talk = read({"messages": [USER], "tools": [TOOL], "tool_choice": "none"})
    assert talk.tools == [TOOL]


def test_read_conversation_refuses_tools_without_jinja():
    with pytest.raises(InvalidRequest, match="tools param requires --jinja flag"):
        read({"messages": [USER], "tools": [TOOL]}, jinja=False)


@pytest.mark.parametrize(
    ("body", "n_probs", "n_top"),
    [
        ({}, None, None),
        ({"logprobs": False}, None, None),
        ({"logprobs": True}, 1, 0),
        ({"logprobs": True, "top_logprobs": 0}, 1, 0),
        ({"logprobs": True, "top_logprobs": 5}, 5, 5),
    ],
)
def test_read_logprobs_translates_to_n_probs(body, n_probs, n_top):
    rest, shown = read_logprobs(body)
    assert rest.get("n_probs") == n_probs
    assert shown == n_top
    assert "logprobs" not in rest


def test_read_logprobs_refuses_alternatives_without_logprobs():
    with pytest.raises(InvalidRequest, match="top_logprobs requires logprobs"):
        read_logprobs({"top_logprobs": 2})
