from __future__ import annotations

import json
import socket
import threading
import time

import pytest

from benchmarks.client import Outcome, Run, chat, completion, encode, stream

USAGE = (
    b'{"choices":[],"usage":{"completion_tokens":7,"prompt_tokens":18},'
    b'"timings":{"prompt_ms":12.5,"predicted_ms":3e1}}'
)


def event(text: str, key: str = "text") -> bytes:
    return b"data: " + json.dumps({"choices": [{key: text}]}).encode() + b"\n\n"


def outcome(*pieces: bytes, sent_at: float = 10.0) -> Outcome:
    """Return an outcome whose pieces arrived one second apart."""
    made = Outcome(sent_at)
    for second, piece in enumerate(pieces, 1):
        made.receive(piece, sent_at + second)
    made.ended_at = sent_at + len(pieces)
    return made


def test_tokens_are_those_of_the_usage_not_of_the_events():
    made = outcome(event("a"), event("b"), b"data: " + USAGE + b"\n\n")
    assert (made.n_tokens, made.n_prompt_tokens) == (7, 18)


def test_tokens_are_read_from_a_reply_that_is_no_stream():
    assert outcome(b"HTTP/1.1 200 OK\r\n\r\n" + USAGE).n_tokens == 7


def test_a_reply_without_usage_is_an_error_that_shows_it():
    with pytest.raises(RuntimeError, match="context is full"):
        _ = outcome(b'{"error":"context is full"}').n_tokens


def test_compute_time_is_prompt_and_generation_together():
    assert outcome(USAGE).compute_s == pytest.approx(0.0425)


def test_the_first_token_is_the_first_event_with_text():
    role = b'data: {"delta":{"role":"assistant","content":null}}\n\n'
    made = outcome(b"HTTP/1.1 200 OK\r\n\r\n", role, event("", "content"), event("hi"))
    assert made.first_token_s == 4.0


def test_an_event_counts_when_its_last_byte_arrived():
    whole = event("hi")
    made = outcome(whole[:20], whole[20:-1], whole[-1:])
    assert made.event_times == [13.0]


def test_events_that_arrive_together_are_one_moment():
    assert outcome(event("a") + event("b")).event_times == [11.0]


def test_a_reply_without_text_has_no_first_token():
    with pytest.raises(RuntimeError, match="no text"):
        _ = outcome(b"data: [DONE]\n\n").first_token_s


@pytest.mark.parametrize("text", ["two\nlines", 'a "word"', "back\\slash", "né ☃"])
def test_the_text_keeps_escaped_characters(text: str):
    made = outcome(event(text[:2]), event(text[2:]))
    assert made.text == text
    assert len(made.event_times) == 2


def test_rates_of_a_run_are_over_all_its_streams():
    slow = outcome(event("a"), event("b"), b"data: " + USAGE + b"\n\n")
    fast = outcome(event("a"), b"data: " + USAGE + b"\n\n")
    run = Run((slow, fast))
    assert run.tokens_per_second == pytest.approx(14 / 3)
    assert run.decode_tokens_per_second == pytest.approx(12 / 2)
    assert run.first_token_s == 1.0


@pytest.mark.parametrize("request_of", [completion, lambda *a: chat([], a[1])])
def test_requests_ask_for_usage_in_their_stream(request_of):
    _, body = request_of("hello", 5)
    assert body["stream_options"] == {"include_usage": True}
    assert body["max_tokens"] == 5


def test_a_request_that_is_no_stream_closes_its_connection():
    head, _, body = encode(80, "/x", {"stream": False}).partition(b"\r\n\r\n")
    assert b"Connection: close" in head
    assert f"Content-Length: {len(body)}".encode() in head


def serve(replies: list[list[bytes]]) -> int:
    """Answer one connection with each list of pieces and close it; return the port."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(5)

    def run() -> None:
        with listener:
            for pieces in replies:
                with listener.accept()[0] as connection:
                    connection.settimeout(5)
                    connection.recv(65536)
                    for piece in pieces:
                        connection.sendall(piece)

    threading.Thread(target=run, daemon=True).start()
    port: int = listener.getsockname()[1]
    return port


def test_streams_are_read_to_their_end_at_once():
    reply = [event("a"), b"data: " + USAGE + b"\n\n\r\n0\r\n\r\n"]
    port = serve([reply, reply])
    started = time.perf_counter()
    run = stream(port, [completion("x", 7), completion("y", 7)])
    assert [one.n_tokens for one in run.outcomes] == [7, 7]
    assert all(one.sent_at >= started and one.total_s > 0 for one in run.outcomes)


def test_a_closed_connection_ends_a_reply():
    port = serve([[USAGE]])
    assert stream(port, [completion("x", 7, stream=False)]).outcomes[0].n_tokens == 7
