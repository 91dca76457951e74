"""What is learned from llama.cpp's collection of templates: a table, file by file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llamactypes.chat import ChatTemplate
from llamactypes.chat.learning import learn_format
from tests.chat.format_summary import summary

TABLE = json.loads(
    (Path(__file__).parent / "data" / "learned_formats.json").read_text("utf-8")
)


@pytest.fixture(scope="module")
def formats(upstream_templates):
    paths = sorted(upstream_templates.glob("*.jinja"))
    assert paths
    return {
        path.stem: learn_format(
            ChatTemplate(path.read_text(encoding="utf-8"), bos_token="<s>")
        )
        for path in paths
    }


def test_formats_of_upstream_templates_are_those_of_the_table(formats):
    found = {name: summary(form) for name, form in formats.items()}
    assert found == TABLE
