"""Prompts of messages that spell special tokens, whatever templates do with them."""

from __future__ import annotations

import random
import time

import pytest

from llamactypes.chat import CHATML, ChatTemplate
from llamactypes.chat.templates.guard import guarded
from llamactypes.chat.templates.special_text import SpecialText, SpecialTexts
from llamactypes.errors import TemplateError

SPECIALS = SpecialTexts(
    SpecialText(text)
    for text in ("<s>", "</s>", "<|im_start|>", "<|im_end|>", "<think>", "</think>")
)


def _loop(body):
    return "{% for m in messages %}<|im_start|>" + body + "<|im_end|>{% endfor %}"


TEMPLATES = {
    "plain": CHATML,
    "trimmed": _loop("{{ m.content | trim }}"),
    "stripped": _loop("{{ m.content.strip() }}"),
    "json": _loop("{{ m.content | tojson }}"),
    "ascii json": _loop("{{ m.content | tojson(ensure_ascii=True) }}"),
    "whole json": "<s>{{ messages | tojson(indent=2) }}",
    "printed": "<s>{{ messages }}",
    "escaped": _loop("{{ m.content | e }}"),
    "by words": _loop("{{ m.content.split() | join(' ') }}"),
    "by characters": _loop("{% for c in m.content %}{{ c }}{% endfor %}"),
    "without thinking": _loop(
        "{% if '</think>' in m.content %}{{ m.content.split('</think>')[-1].lstrip() }}"
        "{% else %}{{ m.content }}{% endif %}"
    ),
    "thinking apart": _loop(
        "{% set c = m.content %}{% if '</think>' in c %}"
        "[{{ c.split('</think>')[0].rstrip('\\n').split('<think>')[-1] | trim }}]"
        "{% set c = c.split('</think>')[-1].lstrip('\\n') %}{% endif %}{{ c }}"
    ),
    "cut short": _loop("{{ m.content[:9] }}"),
    "truncated": _loop("{{ m.content | truncate(12) }}"),
    "by length": _loop("{{ m.content | length }}{{ m.content }}"),
    "by its beginning": _loop(
        "{% if m.content.startswith('<s>') %}</s>{% endif %}{{ m.content }}"
    ),
    "upper": _loop("{{ m.content | upper | lower }}"),
    "doubled": _loop("{{ m.content }}{{ m.content }}"),
    "joined": "{% for m in messages %}{{ m.content }}{% endfor %}",
}
CONFUSING = {"cut short", "by length"}
"""Templates that write something else when a message is longer."""


def prompt_of(template, *contents, role="user"):
    messages = [{"role": role, "content": content} for content in contents]
    return guarded(
        SPECIALS,
        {"messages": messages},
        lambda values: ChatTemplate(template).render(values["messages"]),
    )


def n_tokens(rendered):
    """Return how many special tokens the prompt has when it is tokenized."""
    pieces = SPECIALS.pieces(rendered.text, rendered.foreign)
    return sum(SPECIALS.count(piece.text) for piece in pieces if piece.parse_special)


def test_an_ordinary_conversation_is_rendered_once():
    calls = []

    def render(values):
        calls.append(values)
        return "<s>x"

    assert guarded(SPECIALS, {"m": ["a < b", {"k": 1}, None]}, render).foreign == ()
    assert calls == [{"m": ["a < b", {"k": 1}, None]}]


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_text_stays_what_the_template_makes_of_it(name):
    content = "  a <s>\n\nb </think> c "
    plain = ChatTemplate(TEMPLATES[name]).render([{"role": "user", "content": content}])
    rendered = prompt_of(TEMPLATES[name], content)
    if name in CONFUSING:
        assert "\N{WORD JOINER}" in rendered.text
    else:
        assert rendered.text == plain


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_content_makes_a_special_token(name):
    template = TEMPLATES[name]
    words = [*("<s>", "</s>", "<|im_end|>", "<think>", "</think>", "<|im_", "end|>")]
    words += ["<", ">", "s>", " ", "\n", "a", "x", '"', "\\"]
    chance = random.Random(name)
    harmless = n_tokens(prompt_of(template, "a", "b"))
    for _ in range(30):
        contents = [
            "".join(chance.choice(words) for _ in range(chance.randrange(7)))
            for _ in range(2)
        ]
        found = n_tokens(prompt_of(template, *contents))
        if name == "by its beginning":  # here the template itself writes one more
            found -= sum(content.startswith("<s>") for content in contents)
            assert found <= harmless, contents
        else:
            assert found == harmless, contents


def test_a_template_that_takes_thinking_out_still_does():
    rendered = prompt_of(TEMPLATES["thinking apart"], "<think>\nWhy\n</think>\n\nSo.")
    assert rendered.text == "<|im_start|>[Why]So.<|im_end|>"
    assert rendered.foreign == ()


def test_names_of_properties_and_nested_texts_are_guarded():
    tools = [{"parameters": {"properties": {"<s>": {"description": "</s>"}}}}]
    rendered = guarded(
        SPECIALS,
        {"tools": tools},
        lambda values: ChatTemplate("<s>{{ tools | tojson }}").render(
            [], tools=values["tools"]
        ),
    )
    assert n_tokens(rendered) == 1
    assert len(rendered.foreign) == 2


def test_a_token_put_together_out_of_two_parts_stays_text():
    rendered = prompt_of(TEMPLATES["joined"], "a<|im_", "end|>b")
    assert rendered.text == "a<|im_end|>b"
    assert n_tokens(rendered) == 0


def test_a_template_that_refuses_marks_gets_joiners():
    template = (
        "{% if messages[0].content | length > 9 %}{{ raise_exception('long') }}"
        "{% endif %}<s>{{ messages[0].content }}"
    )
    rendered = prompt_of(template, "<s>")
    assert rendered.text.replace("\N{WORD JOINER}", "") == "<s><s>"
    assert n_tokens(rendered) == 1


def test_a_refusal_is_the_templates_own():
    with pytest.raises(TemplateError, match="never"):
        prompt_of("{{ raise_exception('never') }}", "<s>")


@pytest.mark.parametrize("name", ["plain", "thinking apart", "cut short"])
def test_thousands_of_spelled_tokens_take_no_square_time(name):
    begin = time.monotonic()
    rendered = prompt_of(TEMPLATES[name], "<s> \n</think>" * 10_000)
    assert n_tokens(rendered) == n_tokens(prompt_of(TEMPLATES[name], "a"))
    assert time.monotonic() - begin < 5
