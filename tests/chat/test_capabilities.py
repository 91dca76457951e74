from __future__ import annotations

import pytest

from llamactypes.chat import CHATML, ChatTemplate, template_capabilities

TYPED_ONLY = (
    "{% for m in messages %}{{ m.role }}:"
    "{% for part in m.content %}{% if part.type == 'text' %}{{ part.text }}{% endif %}"
    "{% endfor %}{% endfor %}"
)
TOOLS = (
    "{% if tools %}{{ tools | tojson }}{% endif %}"
    "{% for m in messages %}{{ m.role }}:{{ m.content }}"
    "{% for call in m.tool_calls or [] %}{{ call.function.name }}"
    "(ARGUMENTS){% endfor %}{% endfor %}"
)


def capabilities(source: str) -> set[str]:
    found = template_capabilities(ChatTemplate(source))
    return {name.removeprefix("supports_") for name, value in found.items() if value}


def test_chatml_takes_strings_and_a_system_role_only():
    assert capabilities(CHATML) == {"string_content", "system_role"}


def test_capabilities_have_llama_servers_keys():
    assert set(template_capabilities(ChatTemplate(CHATML))) == {
        "supports_string_content",
        "supports_typed_content",
        "supports_tools",
        "supports_tool_calls",
        "supports_parallel_tool_calls",
        "supports_system_role",
        "supports_preserve_reasoning",
        "supports_reasoning_effort",
        "supports_object_arguments",
    }


def test_a_template_that_loops_over_parts_takes_typed_content_only():
    assert capabilities(TYPED_ONLY) == {"typed_content", "system_role"}


def test_a_printed_list_is_not_typed_content():
    source = "{% for m in messages %}{{ m.content | tojson }}{% endfor %}"
    assert "typed_content" not in capabilities(source)


def test_a_template_that_refuses_system_messages_has_no_system_role():
    source = (
        "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}"
        + CHATML
    )
    assert capabilities(source) == {"string_content"}


@pytest.mark.parametrize(
    ("arguments", "objects"),
    [
        ("{{ call.function.arguments | tojson }}", True),
        ("{{ call.function.arguments }}", False),
    ],
)
def test_capabilities_tell_the_form_of_tool_arguments(arguments, objects):
    found = capabilities(TOOLS.replace("ARGUMENTS", arguments))
    assert {"tools", "tool_calls", "parallel_tool_calls"} <= found
    assert ("object_arguments" in found) is objects


def test_one_call_per_message_is_not_parallel():
    source = TOOLS.replace("ARGUMENTS", "{{ call.function.arguments }}{% break %}")
    assert "parallel_tool_calls" not in capabilities(source)


def test_reasoning_is_found_where_the_template_writes_it():
    source = (
        "{% for m in messages %}{{ m.reasoning_content }}{{ m.content }}{% endfor %}"
    )
    assert "preserve_reasoning" in capabilities(source)
    assert "reasoning_effort" in capabilities("{{ reasoning_effort }}" + CHATML)


def test_a_template_that_always_fails_supports_nothing():
    assert capabilities("{{ raise_exception('no') }}") == set()
