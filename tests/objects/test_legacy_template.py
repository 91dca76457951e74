from __future__ import annotations

from pathlib import Path

import pytest

from llamactypes import Model, ModelParams, TemplateError, legacy_template

TALK = [("system", "Be brief."), ("user", "Hi é")]


def test_chatml_is_spelled_as_everybody_does() -> None:
    prompt = legacy_template.apply("chatml", TALK, add_generation_prompt=True)
    assert prompt == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nHi é<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    shorter = legacy_template.apply("chatml", TALK, add_generation_prompt=False)
    assert prompt.removeprefix(shorter) == "<|im_start|>assistant\n"


def test_a_jinja_template_is_recognised_by_its_markers(smollm2_path: Path) -> None:
    with Model(smollm2_path, ModelParams(vocab_only=True)) as model:
        template = model.chat_template()
    assert template is not None
    prompt = legacy_template.apply(template, TALK, add_generation_prompt=True)
    assert "<|im_start|>user\nHi é<|im_end|>" in prompt


def test_a_prompt_longer_than_the_first_buffer_is_whole() -> None:
    talk = [("user", "x")] * 2000
    prompt = legacy_template.apply("chatml", talk, add_generation_prompt=False)
    assert prompt == "<|im_start|>user\nx<|im_end|>\n" * 2000


def test_every_builtin_name_renders() -> None:
    names = legacy_template.builtin_names()
    assert {"chatml", "llama2", "gemma"} <= set(names)
    for name in names:
        prompt = legacy_template.apply(name, TALK, add_generation_prompt=True)
        assert "Hi é" in prompt


def test_an_unknown_template_is_an_error_that_names_the_known() -> None:
    with pytest.raises(TemplateError, match="chatml"):
        legacy_template.apply("{{ messages }}", TALK, add_generation_prompt=True)


def test_a_nul_character_is_refused() -> None:
    with pytest.raises(TemplateError, match="NUL"):
        legacy_template.apply("chatml", [("user", "a\0b")], add_generation_prompt=True)
