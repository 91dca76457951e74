import json
import logging
import re

import pytest
from falcon import testing

from api.observing.exchange import Exchange
from llamactypes.errors import KVCacheFull
from tests.support.fake_engine import FakeEngine, delta, result


@pytest.fixture
def lines(caplog):
    """The lines of the access log, whatever their level."""
    caplog.set_level(logging.DEBUG, logger="llamactypes.access")
    return lambda: [
        r.getMessage() for r in caplog.records if r.name == "llamactypes.access"
    ]


def begin_stream(api, path="/completion", environ=None):
    """Call the application as a server does; return the body's iterator."""
    body = json.dumps({"prompt": "a", "stream": True}).encode()
    env = testing.create_environ(path, method="POST", body=body) | (environ or {})
    return api.app(env, lambda status, headers, *more: None)


def test_a_reply_has_status_bytes_tokens_and_its_id(api, lines):
    reply = api.post(
        "/completion?secret=1",
        {"prompt": "abcde"},
        headers={"X-Request-Id": "r-1"},
        remote_addr="10.1.2.3",
    )
    (line,) = lines()
    assert line.startswith("POST /completion 200 client=10.1.2.3 bytes=")
    assert f"bytes={len(reply.content)} " in line
    assert "prompt=6 cached=2 generated=3 end=complete id=r-1" in line
    assert "secret" not in line


def test_a_stream_is_logged_at_its_true_end(make_api, lines):
    api = make_api("abc")
    body = begin_stream(api)
    first = next(iter(body))
    assert lines() == []
    n_bytes = len(first) + sum(map(len, body))
    body.close()
    (line,) = lines()
    assert f"bytes={n_bytes} " in line
    assert "end=complete" in line


def test_a_stream_nobody_reads_to_its_end_is_logged_as_gone(make_api, lines):
    engine = FakeEngine(script=lambda request: ([delta("a", [1])], None))
    body = begin_stream(make_api(engine=engine))
    next(iter(body))
    body.close()
    (line,) = lines()
    assert "generated=1 end=client-gone" in line
    assert engine.cancelled


def test_a_client_that_the_server_knows_is_gone_is_logged_as_gone(make_api, lines):
    engine = FakeEngine(script=lambda request: ([delta("a", [1])], None))
    gone = {"waitress.client_disconnected": lambda: bool(engine.generations)}
    body = begin_stream(make_api(engine=engine), environ=gone)
    assert list(body) == []
    body.close()
    assert "end=client-gone" in lines()[0]


def test_a_stream_that_breaks_is_logged_as_an_error(make_api, lines):
    engine = FakeEngine(script=lambda request: ([delta("a", [1])], None))
    body = begin_stream(make_api(engine=engine))
    next(iter(body))
    engine.generations[0].append(None, result(error=KVCacheFull("full", 1)))
    assert b"error" in b"".join(body)
    body.close()
    (line,) = lines()
    assert " 200 " in line
    assert "end=error" in line


def test_a_refusal_is_complete_and_a_fault_is_an_error(make_api, lines):
    api = make_api()
    api.post("/completion", {})
    api.engine.refusal = RuntimeError("odd")
    api.post("/completion", {"prompt": "a"})
    refused, failed = lines()
    assert " 400 " in refused
    assert "end=complete" in refused
    assert " 500 " in failed
    assert "end=error" in failed


def test_looks_at_the_server_are_for_debugging_only(api, caplog):
    caplog.set_level(logging.INFO, logger="llamactypes.access")
    api.get("/health")
    api.get("/slots")
    assert not caplog.records
    api.get("/nope")
    assert len(caplog.records) == 1


def test_a_path_cannot_add_to_the_log(api, lines):
    api.get("/a\nPOST /x 200 \u00e9")
    (line,) = lines()
    assert re.fullmatch(r"GET /a\\x0aPOST\\x20/x\\x20200\\x20\S* 404 .*", line), line


def test_choices_of_a_prompt_count_it_once(make_api, lines):
    make_api().post("/v1/completions", {"prompt": "abc", "n": 2, "max_tokens": 2})
    assert "prompt=4 cached=2 generated=4" in lines()[0]


def test_an_observer_that_fails_breaks_nothing(api, caplog):
    def observe(exchange: Exchange) -> None:
        raise RuntimeError("odd")

    api.app._observers = (observe,)
    assert api.get("/health").status_code == 200
    assert "could not be recorded" in caplog.text
