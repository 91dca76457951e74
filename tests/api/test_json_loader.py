import json
from typing import Any

import pytest

from api.json_loader import MAX_DEPTH, dumps, dumps_bytes, dumps_large, load_object
from api.protocol.invalid import InvalidRequest


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"{", "not valid JSON"),
        (b'{"a":1}x', "not valid JSON"),
        (b"[]", "must be a JSON object, not array"),
        (b'"text"', "must be a JSON object, not string"),
        (b"null", "must be a JSON object, not null"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": -Infinity}', "-Infinity is not JSON"),
        (b'{"a": 1e999}', "number out of range"),
        (b'{"a": 1, "a": 2}', "duplicate key 'a'"),
        (b'{"prompt":"\xb0\xa1"}', "not valid UTF-8"),
        (b'{"a":"\\ud83d"}', "lone surrogate"),
        (b'{"\\udc00":1}', "lone surrogate"),
        (b'{"a":' + b"1" * 5000 + b"}", "not valid JSON"),
        (b'{"a":' + b"[" * 20000 + b"]" * 20000 + b"}", "nested too deeply"),
        (b'{"a":' * 20000, "nested too deeply"),
    ],
)
def test_load_object_refuses_a_bad_body(body, reason):
    with pytest.raises(InvalidRequest, match=reason.replace("[", r"\[")):
        load_object(body)


def test_load_object_counts_depth_and_not_brackets():
    flat = {"a": [[1]] * (MAX_DEPTH * 2), "b": "[" * (MAX_DEPTH * 2) + '"'}
    assert load_object(json.dumps(flat).encode()) == flat


def test_load_object_ignores_a_byte_order_mark():
    assert load_object(b'\xef\xbb\xbf{"a":1}') == {"a": 1}


def test_load_object_accepts_a_surrogate_pair():
    assert load_object(b'{"a":"\\ud83d\\ude00"}') == {"a": "\N{GRINNING FACE}"}


def test_dumps_bytes_survives_a_lone_surrogate():
    assert dumps_bytes({"a": "x\ud83d"}) == b'{"a":"x?"}'


def test_dumps_writes_null_for_numbers_that_json_lacks():
    assert dumps([{"a": float("inf")}, float("nan"), 1.5]) == '[{"a":null},null,1.5]'


@pytest.mark.parametrize(
    "value",
    [
        [],
        {"tokens": list(range(10_000)), "a": "é", "b": None},
        {"data": [{"index": i, "embedding": [0.5, i]} for i in range(50)], "n": 1},
        [[float("nan"), i] for i in range(40)],
        {"deep": {"tokens": list(range(5000))}},
        "text",
    ],
)
def test_large_values_are_encoded_as_small_ones(value: Any) -> None:
    assert dumps_large(value) == dumps_bytes(value)
