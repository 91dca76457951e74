"""Small templates of our own, one for each way to write calls and thinking."""

from __future__ import annotations

_CALLS = "{% for c in m.tool_calls or [] %}"
_ARGUMENTS = "{{ c.function.arguments | tojson }}"
_OBJECT = '{"name": "{{ c.function.name }}", "arguments": ' + _ARGUMENTS + "}"
_VALUE = "{{ v if v is string else v | tojson }}"
_ITEMS = "{% for k, v in c.function.arguments | items %}"


def _template(turn: str, prompt: str = "") -> str:
    """Return a template by what it writes of the assistant's turn `m`.

    Args:
        turn: Template of the turn.
        prompt: What a prompt ends with, behind the assistant's header.
    """
    return (
        "{% for m in messages %}{% if m.role != 'assistant' %}"
        "<|{{ m.role }}|>{{ m.content }}<|end|>{% else %}<|assistant|>"
        + turn
        + "<|end|>{% endif %}{% endfor %}"
        + "{% if add_generation_prompt %}<|assistant|>"
        + prompt
        + "{% endif %}"
    )


def _section(opening: str, call: str, closing: str) -> str:
    """Return what writes the answer and then all calls, with commas between them."""
    comma = "{% if not loop.last %}, {% endif %}{% endfor %}"
    calls = f"{opening}{_CALLS}{call}{comma}{closing}"
    return "{{ m.content }}{% if m.tool_calls %}" + calls + "{% endif %}"


def _each(call: str) -> str:
    """Return what writes the answer and then one call after the other."""
    return "{{ m.content }}" + _CALLS + call + "{% endfor %}"


TEMPLATES = {
    "plain": _template("{{ m.content }}"),
    "objects": _template(_each(f"<call>\n{_OBJECT}\n</call>\n")),
    "list": _template(_section("<calls>[", _OBJECT, "]</calls>")),
    "names": _template(_each("[CALL]{{ c.function.name }}[ARGS]" + _ARGUMENTS)),
    "ids": _template(
        _section("<calls>[", _OBJECT[:-1] + ', "id": "{{ c.id }}"}', "]</calls>")
    ),
    "counted": _template(
        _section(
            "<calls>",
            "#{{ loop.index0 }}: {{ c.function.name }} " + _ARGUMENTS,
            "</calls>",
        )
    ),
    "strings": _template(
        _section("<calls>[", _OBJECT.replace("tojson", "tojson | tojson"), "]</calls>")
    ),
    "tags": _template(
        _each(
            "<call={{ c.function.name }}>\n"
            + _ITEMS
            + "<arg={{ k }}>\n"
            + _VALUE
            + "\n</arg>\n{% endfor %}</call>\n"
        )
    ),
    "typed tags": _template(
        _each(
            "<call={{ c.function.name }}>"
            + _ITEMS
            + '<arg={{ k }} text="{{ v is string }}">'
            + _VALUE
            + "</arg>{% endfor %}</call>"
        )
    ),
    "python": _template(
        _section(
            "<calls>[",
            "{{ c.function.name }}("
            + _ITEMS
            + "{{ k }}={{ v | tojson }}"
            + "{% if not loop.last %}, {% endif %}{% endfor %})",
            "]</calls>",
        )
    ),
    "thinking": _template(
        "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n"
        "{% endif %}" + _each(f"<call>{_OBJECT}</call>")
    ),
    "thinking in the prompt": _template(
        "{{ m.content.split('</think>')[-1] }}",
        "{% if enable_thinking is not defined or enable_thinking %}<think>\n"
        "{% else %}<think>\n\n</think>\n\n{% endif %}",
    ),
    "answers in tags": _template(
        "{% if m.reasoning_content %}<|START_THINKING|>{{ m.reasoning_content }}"
        "<|END_THINKING|>{% endif %}{% if m.tool_calls %}"
        + _section("<|ACTION|>[", _OBJECT, "]<|END_ACTION|>")
        + "{% else %}<|ANSWER|>{{ m.content }}<|END_ANSWER|>{% endif %}"
    ),
}
