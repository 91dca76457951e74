"""llama.cpp's collection of templates, rendered: which do not, and why."""

from __future__ import annotations

import pytest

from llamactypes.chat import ChatTemplate, normalise_messages, template_capabilities
from llamactypes.errors import TemplateError
from tests.chat.conversations import QUESTION, TOOL, TOOL_TURNS, TURNS

FAILURES = {
    # Wants `functions`, a text that only its own host program prepares.
    ("fireworks-ai-llama-3-firefunction-v2", "question"): "'functions' is undefined",
    ("fireworks-ai-llama-3-firefunction-v2", "turns"): "'functions' is undefined",
    ("fireworks-ai-llama-3-firefunction-v2", "tools"): "'functions' is undefined",
    # Wants a content part with language codes of its own.
    ("google-translategemma-4b-it", "question"): "User role must provide `content`",
    ("google-translategemma-4b-it", "turns"): "User role must provide `content`",
    ("google-translategemma-4b-it", "tools"): "User role must provide `content`",
    # Knows no tool role.
    ("google-gemma-2-2b-it", "tools"): "Conversation roles must alternate",
    # Wants the reasoning of every assistant turn.
    ("IFM-K2-Horizon", "turns"): "missing a thinking field",
    ("IFM-K2-Horizon", "tools"): "missing a thinking field",
    # Appends to a list of its own, which the sandbox refuses, as Hugging Face's does.
    ("Kimi-K2-Instruct", "tools"): "'append' of 'list' object is unsafe",
    ("Kimi-K2-Thinking", "tools"): "'append' of 'list' object is unsafe",
}

CONVERSATIONS = {
    "question": (QUESTION, None),
    "turns": (TURNS, None),
    "tools": (TOOL_TURNS, [TOOL]),
}


@pytest.fixture(scope="module")
def templates(upstream_templates):
    """Every template under its name, with its capabilities."""
    paths = sorted(upstream_templates.glob("*.jinja"))
    compiled = {
        path.stem: ChatTemplate(path.read_text(encoding="utf-8"), bos_token="<s>")
        for path in paths
    }
    return {
        name: (each, template_capabilities(each)) for name, each in compiled.items()
    }


@pytest.mark.parametrize("kind", CONVERSATIONS)
def test_upstream_templates_render_except_for_known_reasons(templates, kind):
    messages, tools = CONVERSATIONS[kind]
    failures = {}
    for name, (template, capabilities) in templates.items():
        shaped = normalise_messages(messages, capabilities)
        try:
            assert template.render(shaped, tools=tools).strip(), name
        except TemplateError as error:
            failures[name, kind] = str(error)
    known = {key for key in FAILURES if key[1] == kind}
    assert set(failures) == known, failures
    assert all(FAILURES[key] in failures[key] for key in known), failures


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        (
            "Qwen-Qwen3-0.6B",
            {"typed_content", "preserve_reasoning", "reasoning_effort"},
        ),
        ("google-gemma-2-2b-it", {"system_role", "tools", "tool_calls"}),
        ("meta-llama-Llama-3.3-70B-Instruct", {"parallel_tool_calls"}),
        ("openai-gpt-oss-120b", {"parallel_tool_calls", "typed_content"}),
    ],
)
def test_capabilities_of_known_templates(templates, name, missing):
    _, found = templates[name]
    assert not any(found[f"supports_{key}"] for key in missing), found


def test_prompts_equal_those_of_transformers(templates):
    utils = pytest.importorskip("transformers.utils.chat_template_utils")
    n_compared = 0
    for name, (template, capabilities) in templates.items():
        for kind, (messages, tools) in CONVERSATIONS.items():
            if (name, kind) in FAILURES:
                continue
            shaped = normalise_messages(messages, capabilities)
            expected = _transformers_prompt(utils, template.source, shaped, tools)
            if expected is not None:
                extra = {"date_string": "D", "datetime": "T"}
                ours = template.render(shaped, tools=tools, extra=extra)
                assert ours == expected, (name, kind)
                n_compared += 1
    assert n_compared > 150


def _transformers_prompt(utils, source, messages, tools):
    try:
        [prompt], _ = utils.render_jinja_template(
            [messages],
            tools=tools,
            chat_template=source,
            add_generation_prompt=True,
            bos_token="<s>",
            eos_token="",
            date_string="D",
            datetime="T",
        )
    except TypeError:  # it loops over the absent tools, which ours allows
        return None
    return prompt
