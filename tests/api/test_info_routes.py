from llamactypes.engine import SlotState
from llamactypes.engine.request import GenerationRequest
from llamactypes.sampling_params import SamplingParams


def test_front_page_names_the_server(api):
    reply = api.get("/")
    assert reply.status_code == 200
    assert reply.json["name"] == "llamactypes"
    assert reply.json["model"] == "tiny.gguf"


def test_models_lists_the_one_model_for_two_families_of_clients(make_api):
    api = make_api(model_alias=("b", "a"), model_tags=("t",))
    for path in ("/models", "/v1/models"):
        reply = api.get(path).json
        assert reply["object"] == "list"
        assert [each["name"] for each in reply["models"]] == ["a"]
        (entry,) = reply["data"]
        assert (entry["id"], entry["aliases"], entry["tags"]) == (
            "a",
            ["a", "b"],
            ["t"],
        )
        assert entry["meta"] == {
            "vocab_type": 1,
            "n_vocab": 258,
            "n_ctx": 256,
            "n_ctx_train": 2048,
            "n_embd": 64,
            "n_params": 500,
            "size": 1000,
            "ftype": "all F32",
        }


def test_a_model_is_shown_under_each_of_its_names(make_api):
    api = make_api(model_alias=("b", "user/a"))
    (listed,) = api.get("/v1/models").json["data"]
    for name in ("b", "user/a"):
        shown = api.get(f"/v1/models/{name}").json
        assert abs(shown["created"] - listed["created"]) < 60
        assert shown == {**listed, "id": name, "created": shown["created"]}
    assert api.client.simulate_head("/v1/models/b").status_code == 200


def test_a_model_that_is_not_served_is_404_as_openai_says_it(make_api):
    error = make_api(model_alias=("a",)).get("/v1/models/gpt-4").json["error"]
    assert error["code"] == "model_not_found"
    assert error["type"] == "not_found_error"
    assert error["param"] == "model"
    assert "'gpt-4' does not exist" in error["message"]


def test_without_an_alias_a_model_has_its_files_name(api):
    assert api.get("/v1/models/tiny.gguf").json["id"] == "tiny.gguf"


def test_props_shows_defaults_template_and_model(make_api):
    api = make_api(sampling=SamplingParams(seed=42), slots=False)
    props = api.get("/props").json
    defaults = props["default_generation_settings"]
    assert defaults["n_ctx"] == 256
    assert defaults["params"]["seed"] == 42
    assert "logit_bias" not in defaults["params"]
    assert props["total_slots"] == 2
    assert props["model_path"] == "/models/tiny.gguf"
    assert props["build_info"] == "b11549-86a2835"
    assert (props["n_threads"], props["threads_source"]) == (1, "default")
    assert "<|im_start|>" in props["chat_template"]
    assert props["chat_template_caps"]["supports_system_role"] is True
    assert "chat_template_tool_use" not in props
    assert props["endpoint_slots"] is False
    assert props["deterministic"] is False
    assert props["is_sleeping"] is False


def test_props_cannot_be_posted_unless_enabled(make_api):
    refused = make_api().post("/props", {})
    assert refused.status_code == 501
    assert refused.json["error"]["type"] == "not_supported_error"
    assert make_api(props=True).post("/props", {}).json == {"success": True}


def test_slots_shows_details_once_a_slot_had_a_task(api):
    request = GenerationRequest((1, 2, 3), max_tokens=5)
    api.engine.slot_states = [
        SlotState(0, 256, False),
        SlotState(1, 256, True, 7, 3, 2, 1, request, 4, 1, True, False),
    ]
    idle, busy = api.get("/slots").json
    assert idle == {
        "id": 0,
        "n_ctx": 256,
        "speculative": False,
        "is_processing": False,
    }
    assert busy["is_processing"] is True
    assert busy["id_task"] == 7
    assert busy["params"]["n_predict"] == 5
    assert busy["next_token"] == [
        {"has_next_token": True, "has_new_line": False, "n_remain": 1, "n_decoded": 4}
    ]


def test_slots_can_be_off(make_api):
    reply = make_api(slots=False).get("/slots")
    assert reply.status_code == 501
    assert reply.json["error"]["code"] == 501


def test_slots_fails_on_request_when_all_are_busy(api):
    assert api.get("/slots?fail_on_no_slot=1").status_code == 200
    api.engine.slot_states = [SlotState(0, 256, True)]
    reply = api.get("/slots?fail_on_no_slot=1")
    assert reply.status_code == 503
    assert reply.json["error"]["message"] == "no slot available"
