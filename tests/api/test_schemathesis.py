"""Schemathesis reads /openapi.json and sends what it allows, and what it does not.

Of several paths of one route the first is tried.

``LLAMACTYPES_EXAMPLES=50`` sends that many for each operation and kind.
"""

import contextlib
import os

import pytest

pytest.importorskip("schemathesis")

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.specs.openapi import checks

from tests.api.conftest import Api
from tests.support.fake_engine import FakeEngine

N = int(os.environ.get("LLAMACTYPES_EXAMPLES", "1"))
ALLOWED_5XX = (501, 503)
CHECKS = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
SETTINGS = settings(
    max_examples=N,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.filterwarnings("ignore")  # schemathesis' own
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_answers_are_as_the_document_says(mode):
    api = Api(FakeEngine())
    schema = schemathesis.openapi.from_wsgi("/openapi.json", api.app)
    statuses, seen = set(), set()
    is_negative = mode is GenerationMode.NEGATIVE
    for each in schema.get_all_operations():
        operation = each.ok()
        kind = operation.definition.raw.get("requestBody", operation.path)
        if str(kind) in seen or (kind is operation.path and is_negative):
            continue
        seen.add(str(kind))

        @given(case=operation.as_strategy(generation_mode=mode))
        @SETTINGS
        def send(case):
            reply = case.call()
            statuses.add(reply.status_code)
            assert reply.status_code < 500 or reply.status_code in ALLOWED_5XX
            case.validate_response(reply, checks=CHECKS)

        # Where everything is allowed nothing is wrong.
        with contextlib.suppress(Unsatisfiable):
            send()
    assert 400 in statuses
    assert api.post("/completion", {"prompt": "a"}).json["content"] == "abc"
