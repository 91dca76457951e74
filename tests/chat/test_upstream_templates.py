"""llama.cpp's collection of templates × what clients send."""

from __future__ import annotations

import re

import pytest

from llamactypes.chat import ChatTemplate, normalise_messages, template_capabilities
from llamactypes.chat.templates.repaired import needed_repairs, render_repaired
from llamactypes.chat.templates.repairs import Talk
from llamactypes.errors import TemplateError
from tests.chat.conversations import MATRIX

KEEP_THINKING = {
    "enable_thinking": True,
    "preserve_thinking": True,
    "clear_thinking": False,
    "truncate_history_thinking": False,
    "drop_thinking": False,
}

DATES = {"date_string": "D", "datetime": "T"}

LEFT_OUT = {
    # Its own template forgets the text beside a call, or the call beside a text, in
    # every renderer: its model was taught so.
    "call and text": {"Aone", "Zürich"},
    "call and thinking": {"Aone", "Zürich"},
}
"""What some templates leave out of a conversation on purpose."""

OTHERS_THAN_TRANSFORMERS = {
    # They change lists of their own, which transformers' sandbox refuses.
    *("Kimi-K2-Instruct", "Kimi-K2-Thinking"),
    # They read what only their own host programs give.
    *("fireworks-ai-llama-3-firefunction-v2", "google-translategemma-4b-it"),
}


@pytest.fixture(scope="module")
def templates(upstream_templates):
    """Every template under its name, with capabilities and what it would leave out."""
    compiled = {
        path.stem: ChatTemplate(
            path.read_text(encoding="utf-8"), bos_token="<s>", eos_token="</s>"
        )
        for path in sorted(upstream_templates.glob("*.jinja"))
    }
    return {
        name: (each, template_capabilities(each), needed_repairs(each))
        for name, each in compiled.items()
    }


def rendered(template, capabilities, needed, kind):
    messages, tools = MATRIX[kind]
    return render_repaired(
        Talk(normalise_messages(messages, capabilities), tools),
        lambda talk: template.render(
            talk.messages, tools=talk.tools, extra={**KEEP_THINKING, **DATES}
        ),
        needed,
    )


def texts_of(kind):
    for message in MATRIX[kind][0]:
        content = message["content"] or ""
        yield from re.findall(r"\w+", content if isinstance(content, str) else "Uone")
        if "tool_calls" in message:
            yield from ("get_weather", "Zürich")


@pytest.mark.parametrize("kind", MATRIX)
def test_every_template_renders_and_leaves_nothing_out(templates, kind):
    for name, facts in templates.items():
        prompt, _ = rendered(*facts, kind)
        prompt = prompt.replace("\\u00fc", "ü")
        missing = {text for text in texts_of(kind) if text not in prompt}
        assert missing <= LEFT_OUT.get(kind, set()), (name, prompt)


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
    _, found, _ = templates[name]
    assert not any(found[f"supports_{key}"] for key in missing), found


def test_prompts_equal_those_of_transformers(templates):
    utils = pytest.importorskip("transformers.utils.chat_template_utils")
    n_compared = 0
    for name, facts in templates.items():
        if name in OTHERS_THAN_TRANSFORMERS:
            continue
        for kind in MATRIX:
            prompt, talk = rendered(*facts, kind)
            expected = transformers_prompt(utils, facts[0].source, talk)
            if expected is not None:
                assert prompt == expected, (name, kind)
                n_compared += 1
    assert n_compared > 1500


def transformers_prompt(utils, source, talk):
    try:
        [prompt], _ = utils.render_jinja_template(
            [talk.messages],
            tools=talk.tools,
            chat_template=source,
            add_generation_prompt=True,
            bos_token="<s>",
            eos_token="</s>",
            **KEEP_THINKING,
            **DATES,
        )
    except TypeError as error:  # ours loops over absent tools, and writes generators
        if re.search("NoneType|type generator is not JSON", str(error)):
            return None
        raise
    return prompt


def test_a_refusal_that_nothing_repairs_is_the_templates_own(templates):
    template, capabilities, needed = templates["openai-gpt-oss-120b"]
    content = "<|channel|>analysis<|message|>"
    messages = [{"role": "user", "content": "Hi"}, said_by_assistant(content)]
    with pytest.raises(TemplateError, match=r"You have passed a message containing"):
        render_repaired(
            Talk(normalise_messages(messages, capabilities)),
            lambda talk: template.render(talk.messages),
            needed,
        )


def said_by_assistant(content):
    return {"role": "assistant", "content": content}
