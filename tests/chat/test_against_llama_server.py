"""llama-server's own prompts and capabilities, recorded once, against ours.

``data/llama_server_b11549.json`` holds what llama-server b11549, as the package
xllamacpp 2026.10.11549 embeds it, answered on ``/props``
and ``/apply-template`` for each of llama.cpp's templates on 30 November 2026, with the
vocabulary of a Llama model; prompts as the beginning of their SHA-256.
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from pathlib import Path

import pytest

from llamactypes.chat import ChatTemplate, normalise_messages, template_capabilities
from llamactypes.errors import TemplateError
from tests.chat.conversations import QUESTION, TOOL, TOOL_TURNS, TURNS

RECORDED = json.loads(
    (Path(__file__).parent / "data" / "llama_server_b11549.json").read_text("utf-8")
)
CONVERSATIONS = {
    "question": (QUESTION, None),
    "turns": (TURNS, None),
    "tools": (TOOL_TURNS, [TOOL]),
}

OTHER_CAPABILITIES = {
    # It reads `functions`, which llama-server leaves undefined, and so empty.
    "fireworks-ai-llama-3-firefunction-v2",
    # It wants one part with two languages, which a text is made for it.
    "google-translategemma-4b-it",
    # They do read lists of parts; llama-server's probe does not see it.
    "LFM2.5-8B-A1B",
    "mistralai-Ministral-3-14B-Reasoning-2512",
}

OTHER_PROMPTS = {
    # llama-server gives `enable_thinking` only to templates where it finds thinking.
    ("Apertus-8B-Instruct", "question"),
    ("Apertus-8B-Instruct", "turns"),
    ("Apertus-8B-Instruct", "tools"),
    # llama-server rewrites the messages for these templates by name.
    ("IFM-K2-Horizon", "turns"),
    ("IFM-K2-Horizon", "tools"),
    ("google-gemma-4-31B-it-interleaved", "tools"),
    # Reasons as above.
    ("fireworks-ai-llama-3-firefunction-v2", "question"),
    ("fireworks-ai-llama-3-firefunction-v2", "turns"),
    ("fireworks-ai-llama-3-firefunction-v2", "tools"),
    # `safe` makes Jinja2 escape what is added to it, as in Hugging Face's renderer.
    ("meetkai-functionary-medium-v3.1", "tools"),
}


@pytest.fixture(scope="module")
def templates(upstream_templates):
    return {
        path.stem: ChatTemplate(
            path.read_text("utf-8"), bos_token="<s>", eos_token="</s>"
        )
        for path in sorted(upstream_templates.glob("*.jinja"))
    }


def test_capabilities_are_those_of_llama_server(templates):
    assert set(templates) == set(RECORDED)
    different = set()
    for name, template in templates.items():
        found = template_capabilities(template)
        ours = sorted(k.removeprefix("supports_") for k, v in found.items() if v)
        if ours != RECORDED[name]["capabilities"]:
            different.add(name)
    assert different == OTHER_CAPABILITIES


@pytest.mark.parametrize("kind", CONVERSATIONS)
def test_prompts_are_those_of_llama_server(templates, kind):
    different = set()
    for name, template in templates.items():
        recorded = RECORDED[name][kind]
        if _digest(template, *CONVERSATIONS[kind]) != recorded:
            different.add((name, kind))
    assert different == {key for key in OTHER_PROMPTS if key[1] == kind}


def _digest(template, messages, tools):
    shaped = normalise_messages(messages, template_capabilities(template))
    extra = {"enable_thinking": True}
    now = datetime(2026, 11, 30)
    try:
        text = template.render(shaped, tools=tools, extra=extra, now=now)
    except TemplateError:
        return None
    # The vocabulary adds its first token itself, so llama-server takes it off.
    return hashlib.sha256(text.removeprefix("<s>").encode()).hexdigest()[:16]
