import json

from api import sse


def test_data_event_escapes_separators_that_split_lines():
    text = "a\u2028b\u2029c\u0085d\n"
    event = sse.data_event({"text": text}).decode()
    assert len(event.splitlines()) == 2
    assert json.loads(event.removeprefix("data: ")) == {"text": text}


def test_data_event_survives_a_lone_surrogate():
    assert sse.data_event({"a": "\udc00"}) == b'data: {"a":"?"}\n\n'


def test_named_event_puts_the_name_before_the_data():
    event = sse.named_event("message_stop", {"type": "message_stop"})
    assert event == b'event: message_stop\ndata: {"type":"message_stop"}\n\n'


def test_ping_ends_no_event():
    # A blank line would dispatch an empty event in clients that keep the last id.
    assert sse.PING == b":\n"
