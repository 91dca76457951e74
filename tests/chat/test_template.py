from __future__ import annotations

from datetime import datetime

import pytest

from llamactypes.chat import CHATML, ChatTemplate
from llamactypes.errors import TemplateError

QUESTION = [{"role": "user", "content": "Hi"}]


def render(source: str, **options: object) -> str:
    return ChatTemplate(source, bos_token="<s>", eos_token="</s>").render(
        QUESTION,
        **options,  # type: ignore[arg-type]
    )


def failure(source: str, **options: object) -> str:
    with pytest.raises(TemplateError) as caught:
        render(source, **options)
    return str(caught.value)


def test_chatml_writes_each_turn_and_opens_the_assistants():
    turns = [{"role": "system", "content": "S"}, *QUESTION]
    assert ChatTemplate(CHATML).render(turns) == (
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_render_leaves_the_generation_prompt_out_when_asked():
    text = ChatTemplate(CHATML).render(QUESTION, add_generation_prompt=False)
    assert text == "<|im_start|>user\nHi<|im_end|>\n"


def test_smollm2_prompt_is_exactly_what_the_model_was_trained_on(smollm2_template):
    template = ChatTemplate(smollm2_template, bos_token="<|im_start|>")
    assert template.render(QUESTION) == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by "
        "Hugging Face<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ bos_token }}|{{ eos_token }}", "<s>|</s>"),
        ("{{ tools is none }} {{ documents is none }}", "True True"),
        ("{{ nothing }}|{{ messages[0].nothing }}", "|"),
        ("{% if nothing %}a{% else %}b{% endif %}", "b"),
        ("{% set ns = namespace(x=1) %}{% set ns.x = 2 %}{{ ns.x }}", "2"),
        ("{{ 'a b'.split()[-1] }}{{ ' x '.strip() }}", "bx"),
        ("{{ 'abc'.startswith('a') }}", "True"),
        ("{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}", "a1"),
        ("{% for i in 'ab' %}{{ i }}{% if i %}{% break %}{% endif %}{% endfor %}", "a"),
        ("{% for i in 'ab' %}{% continue %}{{ i }}{% endfor %}", ""),
        ("{{ '{0.__class__}'.format(1) }}", ""),
        ("{% generation %}text{% endgeneration %}", "text"),
        ("{{ dict(a=1) | tojson }}", '{"a": 1}'),
        ("{{ dict.fromkeys('ab', 1) | tojson }}", '{"a": 1, "b": 1}'),
        ("{{ messages | map(attribute='role') | tojson }}", '["user"]'),
        ("{{ 'x' ~ 1 ~ none ~ nothing }}", "x1None"),
        ("  {% if true %}\n  x\n  {% endif %}\n", "  x\n"),
        ("{% for tool in tools %}{{ tool }}{% endfor %}none", "none"),
    ],
)  # fmt: skip
def test_render_follows_hugging_faces_conventions(source, expected):
    assert render(source) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("tojson", '{"é": ["<&>", 1.5, null], "a": true}'),
        ("tojson(indent=1)", '{\n "é": [\n  "<&>",\n  1.5,\n  null\n ],\n "a": true\n}'),  # noqa: E501
        ("tojson(separators=(',', ':'))", '{"é":["<&>",1.5,null],"a":true}'),
        ("tojson(sort_keys=true)", '{"a": true, "é": ["<&>", 1.5, null]}'),
        ("tojson(ensure_ascii=true)", '{"\\u00e9": ["<&>", 1.5, null], "a": true}'),
    ],
)  # fmt: skip
def test_tojson_writes_plain_json(call, expected):
    value = {"é": ["<&>", 1.5, None], "a": True}
    assert render("{{ value | " + call + " }}", extra={"value": value}) == expected


def test_render_gives_the_date_in_three_ways():
    source = "{{ strftime_now('%d.%m.%Y') }}|{{ date_string }}|{{ datetime }}"
    text = render(source, now=datetime(2026, 1, 2, 3, 4))
    assert text == "02.01.2026|02 Jan 2026|Jan 02 2026"


def test_extra_variables_win_over_the_standard_ones():
    assert render("{{ date_string }}", extra={"date_string": "today"}) == "today"


def test_template_names_the_line_that_does_not_parse():
    with pytest.raises(TemplateError, match=r"'tool_use' does not parse: line 2: "):
        ChatTemplate("a\n{% if %}", name="tool_use")


@pytest.mark.parametrize(
    "source", ["{{ " + "(" * 5000, "{% for x in y %}" * 30 + "{% endfor %}" * 30]
)
def test_template_refuses_nesting_that_python_cannot_compile(source):
    with pytest.raises(TemplateError, match="cannot be compiled"):
        ChatTemplate(source)


def test_template_refuses_a_huge_source():
    with pytest.raises(TemplateError, match="the limit is 1048576"):
        ChatTemplate("x" * (1024 * 1024 + 1))


def test_raise_exception_reaches_the_caller_as_it_is():
    assert failure("{{ raise_exception('Roles must ' ~ 'alternate') }}") == (
        "Roles must alternate"
    )


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("\n\n{{ none.strip() }}", "failed at line 3: 'None' has no attribute 'strip'"),
        ("{{ messages[0].x.y }}", "failed at line 1: 'dict object' has no"),
        ("{{ function('x') }}", "failed at line 1: 'function' is undefined"),
        ("{{ 1 + 'a' }}", "failed at line 1: unsupported operand"),
        ("{{ dict.__subclasses__() }}", "has no attribute '__subclasses__'"),
        ("{{ nothing | tojson }}", "Undefined cannot be written as JSON"),
        ("{{ 1 / 0 }}", "failed at line 1: division by zero"),
        ("{% include 'file' %}", "failed at line 1: no loader"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "calls itself without end"),
        ("{{ range(1000000) }}", "failed at line 1: Range too big"),
    ],
)
def test_render_explains_a_failure_with_its_line(source, words):
    assert words in failure(source)


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages.extend([1]) }}",
        "{{ messages.clear() }}",
        "{{ messages[0].update(role='system') }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.__init__.__globals__ }}",
        "{% set ns = namespace() %}{% set ns.__class__ = 1 %}",
        "{{ namespace(_x=1) }}",
    ],
)
def test_render_refuses_mutation_and_python_internals(source):
    assert " is not allowed at line 1: " in failure(source)


def test_render_tells_a_type_error_from_an_absent_variable():
    given = {"tools": [], "documents": []}
    assert "'int' object is not iterable" in failure("{{ 5 | list }}", **given)


def test_render_leaves_the_callers_messages_alone():
    messages = [{"role": "user", "content": "Hi"}]
    template = ChatTemplate("{{ messages.pop() }}{{ tools[0].list.append(1) }}{{ x }}")
    tools = [{"list": []}]
    template.render(messages, tools=tools, extra={"x": []})
    assert messages == [{"role": "user", "content": "Hi"}]
    assert tools == [{"list": []}]


def test_render_lets_a_template_keep_lists():
    source = "{% set l = [1] %}{{ l.append(2) or l.pop(0) }}{{ l }}"
    assert render(source) == "1[2]"


def test_render_gives_tools_as_text_to_a_template_that_reads_functions():
    assert render("{{ functions }}") == "[]"
    tools = [{"name": "ü"}]
    assert render("{{ functions }}", tools=tools) == '[\n  {\n    "name": "ü"\n  }\n]'
    assert render("{{ functions }}", extra={"functions": "F"}) == "F"


def test_render_gives_languages_to_a_template_that_reads_them():
    source = (
        "{{ messages[0].content[0].source_lang_code }}"
        "{{ messages[0].content[0].target_lang_code }}{{ messages[0].content[0].text }}"
    )
    assert render(source, extra={"target_lang_code": "de"}) == "en-GBdeHi"


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'a' * 1000000000 }}",
        "{{ [0] * 1000000000 }}",
        "{{ 10 ** 1000000000 }}",
        "{{ 'a' | center(1000000000) }}",
        "{{ 'a' | indent(1000000000) }}",
        "{{ 'a'.ljust(1000000000) }}",
        "{{ ('a' * 99999).replace('a', 'b' * 99999) }}",
        "{{ ('a' * 99999).join(range(99999) | list) }}",
        "{{ '%0999999999d' % 1 }}",
        "{{ '{:999999999}'.format(1) }}",
        "{{ '%999999999d' | format(1) }}",
        "{% for i in range(99999) %}{{ 'x' * 9999 }}{% endfor %}",
        # One list in another twice, and so on: small, and endless when it is written,
        # compared or hashed.
        *(
            "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = "
            + f"{container} %}}{{% endfor %}}{{{{ {use} }}}}"
            for container in ("[ns.x, ns.x]", "(ns.x, ns.x)", "{'a': ns.x, 'b': ns.x}")
            for use in ("ns.x", "ns.x | string", "ns.x ~ ''", "ns.x | tojson | length")
        ),
        "{% set ns = namespace(x='a', y='a') %}{% for i in range(60) %}"
        "{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}"
        "{{ ns.x == ns.y }}",
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}"
        "{% set ns.x = (ns.x, ns.x) %}{% endfor %}{{ {ns.x: 1} | length }}",
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}"
        "{% set ns.x = [ns.x, ns.x] | join %}{% endfor %}",
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}"
        "{% set ns.x = '%s%s' % (ns.x, ns.x) %}{% endfor %}",
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}"
        "{% set ns.x = '{0}{0}'.format(ns.x) %}{% endfor %}",
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}"
        "{% set b %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = b %}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}"
        "{% set ns.x = [ns.x, ns.x] | sum(start=[]) %}{% endfor %}",
        "{{ range(99999) | join('x' * 9999) }}",
        "{{ ('x ' * 99999) | wordwrap(1, wrapstring='y' * 9999) }}",
        "{{ [1] | slice(999999999) | list }}",
        "{{ [1] | batch(999999999, 0) | list }}",
        "{{ 'x'.translate({120: 'y'}) }}",
        "{% set ns = namespace(x=9) %}{% for i in range(60) %}"
        "{% set ns.x = ns.x * ns.x %}{% endfor %}",
        "{% set ns = namespace(x='aa') %}{% for i in range(60) %}"
        "{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "{% set ns = namespace(x='aa') %}{% for i in range(60) %}"
        "{% set ns.x = ns.x + ns.x %}{% endfor %}",
    ],
)
def test_render_refuses_a_huge_text_before_making_it(source):
    assert "is not allowed" in failure(source)
