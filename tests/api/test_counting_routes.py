"""How many tokens a prompt has."""

from __future__ import annotations

import pytest

MESSAGES = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize("prefix", ["/v1/chat/completions", "/chat/completions"])
def test_a_conversation_is_counted_as_it_would_be_sent(api, prefix):
    reply = api.post(f"{prefix}/input_tokens", {"messages": MESSAGES})
    assert reply.status_code == 200
    api.post(prefix, {"messages": MESSAGES})
    assert reply.json == {
        "input_tokens": len(api.engine.requests[0].prompt_tokens),
        "object": "response.input_tokens",
    }


def test_prompts_of_a_completion_are_counted_together(api):
    reply = api.post("/v1/completions/input_tokens", {"prompt": ["ab", [1, 2, 3]]})
    assert reply.json["input_tokens"] == 3 + 3
    assert not api.engine.requests


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions"])
def test_errors_are_those_of_the_route_that_generates(api, path):
    counted, sent = api.post(f"{path}/input_tokens", {}), api.post(path, {})
    assert (counted.status_code, counted.json) == (sent.status_code, sent.json)
