"""``/lora-adapters``, and the ``lora`` field of requests."""

from __future__ import annotations

import pytest

from llamactypes.engine import AdapterInfo
from llamactypes.errors import AdapterError
from tests.support.fake_engine import FakeEngine, make_info

ADAPTERS = (
    AdapterInfo("/a.gguf", "task", "prefix"),
    AdapterInfo("/b.gguf", invocation_tokens=(1, 2), invocation_text="<go>"),
)


@pytest.fixture
def api(make_api):
    return make_api(engine=FakeEngine(info=make_info(adapters=ADAPTERS)))


def test_adapters_are_listed_with_their_scales(api):
    api.engine.scales = {1: 0.5}
    assert api.get("/lora-adapters").json == [
        {
            "id": 0,
            "path": "/a.gguf",
            "scale": 0.0,
            "task_name": "task",
            "prompt_prefix": "prefix",
        },
        {
            "id": 1,
            "path": "/b.gguf",
            "scale": 0.5,
            "task_name": "",
            "prompt_prefix": "",
            "alora_invocation_string": "<go>",
            "alora_invocation_tokens": [1, 2],
        },
    ]


def test_without_adapters_the_list_is_empty(make_api):
    assert make_api().get("/lora-adapters").json == []


def test_scales_are_chosen_and_the_others_go_off(api):
    body = [{"id": 1, "scale": 0.5}, {"id": 0}]
    assert api.post("/lora-adapters", body).json == {"success": True}
    assert api.engine.scales == {0: 0.0, 1: 0.5}
    assert api.post("/lora-adapters", []).json == {"success": True}
    assert api.engine.scales == {}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "Request body must be an array"),
        (b"", "a JSON array is expected"),
        ([{"id": 2, "scale": 1}], "no LoRA adapter 2"),
        ([1], "Entries must be objects"),
    ],
)
def test_wrong_scales_are_refused_and_change_nothing(api, body, message):
    api.engine.scales = {0: 1.0}
    reply = api.post("/lora-adapters", body)
    assert reply.status_code == 400
    assert message in reply.json["error"]["message"]
    assert api.engine.scales == {0: 1.0}


def test_a_request_names_its_adapters(api):
    lora = [{"id": 1, "scale": 0.5}, {"id": 0, "scale": 0}]
    reply = api.post("/completion", {"prompt": "x", "lora": lora})
    assert api.engine.requests[0].lora == ((1, 0.5), (0, 0.0))
    assert reply.json["generation_settings"]["lora"] == lora
    api.post("/v1/chat/completions", {"messages": [], "lora": lora})
    assert api.post("/completion", {"prompt": "x"}).status_code == 200
    assert api.engine.requests[-1].lora is None


def test_an_adapter_that_does_not_exist_is_the_requests_fault(api):
    api.engine.refusal = AdapterError("there is no LoRA adapter 7")
    reply = api.post("/completion", {"prompt": "x", "lora": [{"id": 7}]})
    error = reply.json["error"]
    assert (reply.status_code, error["param"]) == (400, "lora")
    assert error["type"] == "invalid_request_error"
