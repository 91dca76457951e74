"""Requests that chance has changed: refused or answered, and never a fault.

``LLAMACTYPES_MUTANTS=10000`` runs that many; ``LLAMACTYPES_MUTANTS_SEED`` others.
"""

import json
import os

import pytest

from tests.support.mutations import PLAIN, mutants

N = int(os.environ.get("LLAMACTYPES_MUTANTS", "400"))
SEED = int(os.environ.get("LLAMACTYPES_MUTANTS_SEED", "0"))
ALLOWED_5XX = (501, 503)


def answer(api, method, path, body, headers=None):
    return api.client.simulate_request(method, path, body=body, headers=headers or {})


def check(reply, mutant):
    assert reply.status_code < 500 or reply.status_code in ALLOWED_5XX, mutant
    assert reply.headers["x-request-id"], mutant
    assert b"Traceback" not in reply.content, mutant
    if reply.status_code < 400 or mutant.method == "HEAD":
        return
    error = reply.json["error"]
    assert error["message"], mutant
    if "messages" not in mutant.path.split("?")[0]:
        assert error["code"] == reply.status_code or isinstance(error["code"], str)


def test_mutated_requests_are_answered_or_refused(api, caplog):
    refused = 0
    for mutant in mutants(N, SEED):
        reply = answer(api, mutant.method, mutant.path, mutant.body, mutant.headers)
        check(reply, mutant)
        refused += reply.status_code >= 400
    assert not [r for r in caplog.records if r.exc_info], caplog.text
    assert N / 10 < refused < N * 9 / 10  # it tries both
    assert api.post("/completion", {"prompt": "a"}).json["content"] == "abc"


@pytest.mark.parametrize("n", range(len(PLAIN)))
def test_what_is_mutated_was_right(api, n):
    method, path, body = PLAIN[n]
    text = b"" if body is None else json.dumps(body).encode()
    reply = answer(api, method, path, text)
    assert reply.status_code in (200, 501) or "resp_1" in path, reply.text
