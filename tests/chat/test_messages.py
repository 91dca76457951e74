from __future__ import annotations

import copy

import pytest

from llamactypes.chat import Capabilities, MessageError, normalise_messages

TYPED_ONLY = Capabilities(supports_string_content=False, supports_typed_content=True)
BOTH_FORMS = Capabilities(supports_typed_content=True)
OBJECTS = Capabilities(supports_object_arguments=True)
NO_SYSTEM = Capabilities(supports_system_role=False)
PARTS = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]


def call(arguments: object, **more: object) -> dict[str, object]:
    return {
        "type": "function",
        "function": {"name": "f", "arguments": arguments},
        **more,
    }


@pytest.mark.parametrize(
    ("caps", "content", "expected"),
    [
        (None, "a", "a"),
        (None, None, ""),
        (None, PARTS, "a\nb"),
        (BOTH_FORMS, "a", "a"),
        (BOTH_FORMS, PARTS, PARTS),
        (TYPED_ONLY, "a", [{"type": "text", "text": "a"}]),
        (TYPED_ONLY, PARTS, PARTS),
        ({"supports_typed_content": True}, PARTS, PARTS),
    ],
)
def test_content_takes_the_form_the_template_reads(caps, content, expected):
    [message] = normalise_messages([{"role": "user", "content": content}], caps)
    assert message == {"role": "user", "content": expected}


def test_arguments_may_not_be_nested_deeply():
    caps = Capabilities(supports_object_arguments=True)
    for depth in (300, 900, 100_000):
        arguments = '{"a":' * depth + "1" + "}" * depth
        turn = {"role": "assistant", "content": "", "tool_calls": [call(arguments)]}
        with pytest.raises(MessageError, match="Failed to parse tool call arguments"):
            normalise_messages([turn], caps)


def test_developer_becomes_system():
    [message] = normalise_messages([{"role": "developer", "content": "x"}])
    assert message["role"] == "system"


def test_fields_that_templates_read_are_kept_and_others_dropped():
    given = {
        "role": "assistant",
        "content": "x",
        "reasoning_content": "r",
        "name": "n",
        "refusal": None,
        "audio": None,
    }
    [message] = normalise_messages([given])
    assert message == {
        "role": "assistant",
        "content": "x",
        "reasoning_content": "r",
        "name": "n",
    }


@pytest.mark.parametrize(
    ("caps", "arguments", "expected"),
    [
        (None, '{"a": 1}', '{"a": 1}'),
        (None, {"ä": 1}, '{"ä": 1}'),
        (OBJECTS, '{"a": 1}', {"a": 1}),
        (OBJECTS, {"a": 1}, {"a": 1}),
        (OBJECTS, "", {}),
    ],
)
def test_tool_arguments_take_the_form_the_template_reads(caps, arguments, expected):
    given = {"role": "assistant", "tool_calls": [call(arguments, id="c1")]}
    [message] = normalise_messages([given], caps)
    assert message["content"] == ""
    assert message["tool_calls"] == [call(expected, id="c1")]


def test_an_unsupported_system_message_goes_in_front_of_the_next():
    given = [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
    assert normalise_messages(given, NO_SYSTEM) == [{"role": "user", "content": "S\nU"}]


def test_an_unsupported_system_message_joins_parts_with_parts():
    caps = Capabilities(
        supports_system_role=False,
        supports_string_content=False,
        supports_typed_content=True,
    )
    given = [{"role": "system", "content": "S"}, {"role": "user", "content": PARTS}]
    [message] = normalise_messages(given, caps)
    assert message["content"] == [{"type": "text", "text": "S"}, *PARTS]


def test_an_unsupported_system_message_alone_speaks_as_the_user():
    given = [{"role": "system", "content": "S"}]
    assert normalise_messages(given, NO_SYSTEM) == [{"role": "user", "content": "S"}]


def test_the_given_messages_are_not_changed():
    given = [
        {"role": "developer", "content": "S"},
        {"role": "assistant", "content": None, "tool_calls": [call('{"a": 1}')]},
    ]
    before = copy.deepcopy(given)
    normalise_messages(given, OBJECTS)
    assert given == before


@pytest.mark.parametrize(
    ("messages", "words", "param"),
    [
        ("x", "Expected 'messages' to be an array", "messages"),
        (["x"], "Expected messages[0] to be an object", "messages[0]"),
        ([{"content": "x"}], "Missing 'role' in messages[0]", "messages[0].role"),
        ([{"role": 1, "content": "x"}], "to be a string", "messages[0].role"),
        (
            [{"role": "user"}],
            "All non-assistant messages must contain 'content'",
            "messages[0].content",
        ),
        (
            [{"role": "assistant"}],
            "Assistant message must contain either 'content' or 'tool_calls'!",
            "messages[0].content",
        ),
        (
            [{"role": "user", "content": 5}],
            "Expected 'content' to be a string or an array",
            "messages[0].content",
        ),
        (
            [{"role": "user", "content": [{"type": "smell"}]}],
            "unsupported content[].type",
            "messages[0].content[0].type",
        ),
        (
            [{"role": "user", "content": ["x"]}],
            "Expected messages[0].content[0] to be an object",
            "messages[0].content[0]",
        ),
        (
            [{"role": "user", "content": [{"type": "text"}]}],
            "Expected messages[0].content[0].text to be a string",
            "messages[0].content[0].text",
        ),
        (
            [{"role": "user", "content": [{"type": "image_url"}]}],
            "image input is not supported",
            "messages[0].content[0]",
        ),
        (
            [{"role": "user", "content": "x", "name": 3}],
            "Expected messages[0].name to be a string",
            "messages[0].name",
        ),
        (
            [{"role": "assistant", "tool_calls": {"a": 1}}],
            "Expected messages[0].tool_calls to be an array",
            "messages[0].tool_calls",
        ),
        (
            [{"role": "assistant", "tool_calls": [3]}],
            "Expected messages[0].tool_calls[0] to be an object",
            "messages[0].tool_calls[0]",
        ),
        (
            [{"role": "assistant", "tool_calls": [{"type": "code"}]}],
            "Unsupported tool call type",
            "messages[0].tool_calls[0].type",
        ),
        (
            [{"role": "assistant", "tool_calls": [{"type": "function"}]}],
            "Missing tool call function",
            "messages[0].tool_calls[0]",
        ),
    ],
)
def test_malformed_messages_are_refused_with_the_field(messages, words, param):
    with pytest.raises(MessageError) as caught:
        normalise_messages(messages)
    assert words in str(caught.value)
    assert caught.value.param == param


@pytest.mark.parametrize("arguments", ["{", "[" * 100_000])
def test_arguments_that_are_no_json_are_refused(arguments):
    given = [{"role": "assistant", "tool_calls": [call(arguments)]}]
    with pytest.raises(MessageError, match="Failed to parse tool call arguments"):
        normalise_messages(given, OBJECTS)
