"""Items of a request, and the messages they become. Pure."""

from __future__ import annotations

import pytest

from api.protocol.invalid import InvalidRequest
from api.protocol.responses.items import read_input
from api.protocol.responses.messages import chat_messages, shortened

KEPT = {"id": "msg_kept", "type": "message", "role": "user", "content": []}


def read(value):
    return read_input(value, {"msg_kept": KEPT}.get)


def refusal(value):
    with pytest.raises(InvalidRequest) as caught:
        read(value)
    return caught.value


def user(text):
    return {"role": "user", "content": text}


# -- items ---------------------------------------------------------------------------


def test_a_text_is_one_complete_message_of_the_user():
    (item,) = read("Hi")
    assert item.pop("id").startswith("msg_")
    assert item == {
        "type": "message",
        "status": "completed",
        "role": "user",
        "content": [{"type": "input_text", "text": "Hi"}],
    }


def test_what_an_assistant_said_is_output():
    parts = [
        {"type": "output_text", "text": "a", "annotations": [], "logprobs": []},
        {"type": "refusal", "refusal": "no"},
    ]
    item = {
        "role": "assistant",
        "content": parts,
        "id": "msg_1",
        "status": "incomplete",
    }
    assert read([item]) == [
        {
            "id": "msg_1",
            "type": "message",
            "status": "incomplete",
            "role": "assistant",
            "content": [
                {"type": "output_text", "text": "a", "annotations": []},
                {"type": "refusal", "refusal": "no"},
            ],
        }
    ]


@pytest.mark.parametrize("reference", [{"type": "item_reference"}, {}, {"type": None}])
def test_a_reference_is_what_it_refers_to(reference):
    assert read([{**reference, "id": "msg_kept"}]) == [KEPT]


def test_a_reference_to_nothing_is_404():
    error = refusal([{"type": "item_reference", "id": "msg_gone"}])
    assert (error.status, error.param) == (404, "input")
    assert "'msg_gone' not found" in error.message


@pytest.mark.parametrize(
    ("value", "param"),
    [
        (None, "input"),
        (7, "input"),
        ([], "input"),
        (["a"], "input[0]"),
        ([{}], "input[0]"),
        ([{"type": "item_reference", "id": 7}], "input[0]"),
        ([{"type": "computer_call"}], "input[0].type"),
        ([{"type": ["message"]}], "input[0].type"),
        ([user("a"), {"role": "tool", "content": "a"}], "input[1].role"),
        ([user("a"), {"role": 7, "content": "a"}], "input[1].role"),
        ([{"role": "user"}], "input[0].content"),
        ([user([7])], "input[0].content[0]"),
        ([user([{"type": "sound"}])], "input[0].content[0].type"),
        ([user([{"type": "refusal", "refusal": ""}])], "input[0].content[0].type"),
        ([user([{"type": "input_text"}])], "input[0].content[0].text"),
        (
            [user([{"type": "input_text", "text": 7}])],
            "input[0].content[0].text",
        ),
        (
            [{"type": "function_call", "name": "f", "arguments": "{}"}],
            "input[0].call_id",
        ),
        (
            [{"type": "function_call_output", "call_id": "c", "output": 7}],
            "input[0].output",
        ),
        ([{"type": "reasoning", "content": "a"}], "input[0].content"),
        ([{"type": "reasoning", "content": [7]}], "input[0].content[0]"),
    ],
)
def test_a_malformed_input_is_refused_by_its_place(value, param):
    error = refusal(value)
    assert (error.status, error.param) == (400, param)


@pytest.mark.parametrize(
    ("kind", "word"),
    [("input_image", "image"), ("input_file", "file"), ("input_audio", "audio")],
)
def test_other_input_than_text_is_refused_by_name(kind, word):
    error = refusal([user([{"type": "input_text", "text": "a"}, {"type": kind}])])
    assert error.param == "input[0].content[1]"
    assert f"{word} input; this server reads text only" in error.message


# -- messages ------------------------------------------------------------------------


def messages_of(value, instructions=None):
    return chat_messages(read(value), instructions)


def test_instructions_come_first():
    assert messages_of("Hi", "Be brief") == [
        {"role": "system", "content": "Be brief"},
        user("Hi"),
    ]


def test_several_parts_stay_parts_and_one_becomes_a_string():
    parts = [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]
    assert messages_of([user(parts), user(parts[:1]), user([])]) == [
        user([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        user("a"),
        user(""),
    ]


def test_what_the_assistant_thought_said_and_called_is_one_message():
    call = {"type": "function_call", "name": "f", "arguments": "{}"}
    messages = messages_of(
        [
            user("Q"),
            {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "T"}]},
            {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "U"}]},
            {"role": "assistant", "content": "A"},
            {**call, "call_id": "1"},
            {**call, "call_id": "2"},
            {"type": "function_call_output", "call_id": "1", "output": "one"},
            {
                "type": "function_call_output",
                "call_id": "2",
                "output": [{"type": "input_text", "text": "two"}],
            },
            {"role": "assistant", "content": "B"},
        ]
    )
    function = {"name": "f", "arguments": "{}"}
    assert messages == [
        user("Q"),
        {
            "role": "assistant",
            "content": "A",
            "reasoning_content": "T\nU",
            "tool_calls": [
                {"id": "1", "type": "function", "function": function},
                {"id": "2", "type": "function", "function": function},
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": "one"},
        {"role": "tool", "tool_call_id": "2", "content": "two"},
        {"role": "assistant", "content": "B"},
    ]


def test_a_refusal_stays_a_refusal():
    said = {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}
    assert messages_of([user("Q"), said])[1] == said


@pytest.mark.parametrize(
    "hidden",
    [
        {"summary": [{"type": "summary_text", "text": "S"}]},
        {"summary": [], "encrypted_content": "x"},
        {"content": []},
    ],
)
def test_reasoning_that_cannot_be_read_is_left_out(hidden):
    assert messages_of([user("Q"), {"type": "reasoning", **hidden}]) == [user("Q")]


def test_a_conversation_is_shortened_before_questions_only():
    system, answer = {"role": "system"}, {"role": "assistant"}
    call, output = {"role": "assistant", "tool_calls": []}, {"role": "tool"}
    one, two, three = ({"role": "user", "n": n} for n in (1, 2, 3))
    whole = [system, one, answer, two, call, output, answer, three]
    assert shortened(whole) == [
        whole,
        [system, two, call, output, answer, three],
        [system, three],
    ]
    assert shortened([system]) == [[system]]
    assert shortened([one]) == [[one]]
