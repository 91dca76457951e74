"""Requests that chance has changed: refused or answered, and never a fault.

``LLAMACTYPES_MUTANTS=10000`` runs that many; ``LLAMACTYPES_MUTANTS_SEED`` others.
"""

import json
import os

import pytest

from api.app import _ROUTES
from api.openapi.requests import REQUESTS
from tests.support.fake_engine import FakeEngine, make_info
from tests.support.mutations import PLAIN, Mutant, mutants

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
def test_what_is_mutated_was_right(make_api, n):
    # Tools are described in words, each letter of which is a token here.
    api = make_api(engine=FakeEngine(info=make_info(n_ctx_slot=2048)))
    method, path, body = PLAIN[n]
    text = b"" if body is None else json.dumps(body).encode()
    reply = answer(api, method, path, text)
    assert reply.status_code in (200, 501) or "resp_1" in path, reply.text


PLAUSIBLE = (2, True, "a", 0, -1, 0.5, [], {}, "auto", ["a"], [1], {"a": 1}, [{}])


@pytest.mark.parametrize("name", REQUESTS)
def test_every_field_may_have_any_plausible_value(api, name):
    paths = {kind.__name__: paths for kind, paths in _ROUTES}[name]
    n_values = len(PLAUSIBLE) if N > 1000 else 3
    for method, path, body in PLAIN:
        if method != "POST" or path.partition("?")[0] not in paths:
            continue
        for field in REQUESTS[name].properties:
            for value in PLAUSIBLE[:n_values]:
                mutant = Mutant(
                    0, method, path, json.dumps({**body, field: value}).encode()
                )
                check(answer(api, method, path, mutant.body), mutant)
