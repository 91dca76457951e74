"""What grammars of tool calls allow and refuse, over single bytes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llamactypes.chat import ChatTemplate
from llamactypes.chat.learning import learn_format
from llamactypes.chat.output.format import ChatFormat, Slot, Tags, ToolSyntax
from llamactypes.chat.output.tool_choice import ToolChoice
from llamactypes.chat.output.tool_grammar import tool_grammar
from llamactypes.errors import ConstraintError, ConstraintUnavailable
from tests.chat.small_templates import TEMPLATES
from tests.support.byte_grammar import ByteVocabulary, Followed

pytest.importorskip("llguidance")


def tool(name, parameters=None):
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


WEATHER = tool(
    "get_weather",
    {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1, "maximum": 9},
            "unit": {"type": "string", "enum": ["celsius", "kelvin"]},
        },
        "required": ["city"],
    },
)
FILES = tool("files")
TOOLS = [WEATHER, FILES]
CITY = '{"city": "Bern"}'


def learned(name):
    return learn_format(ChatTemplate(TEMPLATES[name]))


def followed(
    form,
    tools=TOOLS,
    mode="auto",
    *,
    names=(),
    is_parallel=True,
    in_reasoning=False,
    control=(),
):
    vocabulary = ByteVocabulary(control)
    grammar = tool_grammar(
        form,
        tools,
        ToolChoice(mode, names),
        is_parallel=is_parallel,
        in_reasoning=in_reasoning,
        control_tokens=vocabulary.control_tokens,
    )
    return Followed(grammar, vocabulary)


def call(name="get_weather", arguments=CITY):
    return f'<call>\n{{"name": "{name}", "arguments": {arguments}}}\n</call>'


# -- which calls -------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_grammar_allows_calls_of_the_tools_by_their_schemas(mode):
    form = followed(learned("objects"), mode=mode)
    for arguments in (CITY, '{"city": "ü\\n", "days": 3}', '{"city":"","days":9}'):
        assert form.accepts(call(arguments=arguments))
    assert form.accepts(call("files", "{}"))
    assert form.accepts(call() + "\n" + call("files", "{}") + call())


@pytest.mark.parametrize("mode", ["auto", "required"])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_rain", CITY),
        ("get_weathers", CITY),
        ("get_weather", "{}"),
        ("get_weather", '{"town": "Bern"}'),
        ("get_weather", '{"city": 5}'),
        ("get_weather", '{"city": "Bern", "days": 10}'),
        ("get_weather", '{"city": "Bern", "unit": "rankine"}'),
        ("get_weather", '{"city": "Bern", "other": 1}'),
        ("get_weather", '"city"'),
        ("files", '{"path": "x"}'),
    ],
)
def test_grammar_refuses_other_names_and_arguments(mode, name, arguments):
    assert not followed(learned("objects"), mode=mode).accepts(call(name, arguments))


def test_grammar_allows_only_the_tools_that_are_chosen():
    form = followed(learned("objects"), mode="required", names=("files",))
    assert form.accepts(call("files", "{}"))
    assert not form.accepts(call())
    assert not form.accepts(call("files", "{}") + call("files", "{}"))


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_grammar_allows_one_call_when_there_may_not_be_several(mode):
    for name, both in (
        ("objects", call() + "\n" + call("files", "{}")),
        ("list", '<calls>[{"name": "files", "arguments": {}}, {"name": "files"'),
    ):
        form = followed(learned(name), mode=mode, is_parallel=False)
        assert form.refusal(both, is_whole=False) is not None
    assert followed(learned("objects"), mode=mode, is_parallel=False).accepts(call())


# -- text around calls -------------------------------------------------------------


def test_auto_leaves_text_free_up_to_a_call():
    form = followed(learned("objects"))
    for text in ("", "Just words < call > {}", "<cal", f"First this.\n{call()}\nThen."):
        assert form.accepts(text)
    assert not form.accepts("Write <call> to call.")
    assert form.refusal("Now <call>\n{", is_whole=False) is None
    assert not form.accepts("Now <call>")


def test_required_begins_with_a_call_and_ends_with_it():
    form = followed(learned("objects"), mode="required")
    assert form.refusal("W", is_whole=False) == "W"
    assert not form.accepts("")
    assert form.accepts("\n" + call() + "\n")
    assert not form.accepts(call() + "\nDone.")


def test_trigger_with_other_white_space_is_a_call_as_well():
    start = "Call it:\n["
    syntax = ToolSyntax(
        call=('{"name": "', Slot.NAME, '", "arguments": ', Slot.ARGUMENTS, "}"),
        start=start,
        end="]",
        quotes_names=True,
    )
    form = followed(ChatFormat(tools=syntax))
    assert form.accepts("Call it: [" + '{"name": "files", "arguments": {}}' + "]")
    assert not form.accepts("Call it:  [3]")


def test_spelled_control_tokens_are_text():
    form = followed(learned("objects"), control=("<call>", "</call>"))
    assert form.accepts(call())
    spelled = b"Write <call> to call."
    matcher = form.grammar.matcher()
    for byte in spelled.replace(b"<call>", b"<cal"):
        assert matcher.allows(byte)
        matcher.consume(byte)


# -- thinking ----------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_thinking_comes_first_and_is_free(mode):
    one = '<call>{"name": "files", "arguments": {}}</call>'
    form = followed(learned("thinking"), mode=mode)
    assert form.accepts(one)
    assert form.accepts(f"<think>\nIs <call> right? {{\n</think>\n\n{one}")
    inside = followed(learned("thinking"), mode=mode, in_reasoning=True)
    assert inside.accepts(f"So, <call>.\n</think>\n\n{one}")
    assert not inside.accepts("So")
    assert not form.accepts("<think>\nSo</think>\n<call>no")


# -- forms of arguments ------------------------------------------------------------


def test_tools_without_parameters_take_no_arguments():
    none = [tool("a"), tool("b", {}), tool("c", {"type": "object", "properties": {}})]
    form = followed(learned("objects"), none, "required")
    for name in "abc":
        assert form.accepts(call(name, "{}"))
        assert not form.accepts(call(name, '{"x": 1}'))


def test_names_are_written_as_json_strings_where_they_are():
    form = followed(learned("objects"), [tool('say"hi"\\')], "required")
    assert form.accepts(call('say\\"hi\\"\\\\', "{}"))
    assert not form.accepts(call('say"hi"\\', "{}"))


def test_one_name_may_begin_with_another():
    form = followed(learned("tags"), [tool("get"), tool("get_all")], "required")
    assert form.accepts("<call=get>\n</call>\n")
    assert form.accepts("<call=get_all>\n</call>\n<call=get>\n</call>")


def test_ids_match_their_pattern_and_counts_are_digits():
    form = learned("ids")
    assert form.tools is not None
    nine = replace(form, tools=replace(form.tools, id_pattern="[a-z/]{9}"))
    one = '<calls>[{"name": "files", "arguments": {}, "id": "ID"}]</calls>'
    assert followed(nine).accepts(one.replace("ID", "abc/efghi"))
    assert not followed(nine).accepts(one.replace("ID", "abc"))
    counted = followed(learned("counted"))
    assert counted.accepts("<calls>#0: files {}, #1: files {}</calls>")
    assert not counted.accepts("<calls>#x: files {}</calls>")


def tagged(*arguments):
    written = "".join(f"<arg={k}>\n{v}\n</arg>\n" for k, v in arguments)
    return f"<call=get_weather>\n{written}</call>"


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_tagged_arguments_follow_their_schemas(mode):
    form = followed(learned("tags"), mode=mode)
    for arguments in (
        [("city", "two\nlines <arg> {")],
        [("city", "")],
        [("city", "Bern"), ("days", "3"), ("unit", "kelvin")],
        [("city", "Bern"), ("unit", "celsius")],
    ):
        assert form.accepts(tagged(*arguments)), arguments
    for arguments in (
        [],
        [("days", "3")],
        [("city", "Bern"), ("days", "many")],
        [("city", "Bern"), ("unit", "rankine")],
        [("city", "Bern"), ("other", "x")],
    ):
        assert not form.accepts(tagged(*arguments)), arguments


def test_texts_between_tags_match_their_patterns_and_lengths():
    text = {"type": "string", "pattern": "^[a-z</ar>]+$", "minLength": 3}
    form = followed(learned("tags"), [tool("get_weather", {"properties": {"a": text}})])
    for value in ("abc", "a</ab", "abc</arg"):
        assert form.accepts(tagged(("a", value))), value
    for value in ("ab", "abC", "abc d", " abc"):
        assert not form.accepts(tagged(("a", value))), value
    long = {"type": "string", "maxLength": 2}
    form = followed(learned("tags"), [tool("get_weather", {"properties": {"a": long}})])
    assert form.accepts(tagged(("a", "é🏋")))
    assert not form.accepts(tagged(("a", "abc")))


def test_tagged_arguments_may_tell_their_types():
    form = followed(learned("typed tags"))
    city = '<arg=city text="True">Bern</arg>'
    days = '<arg=days text="{}">3</arg>'
    assert form.accepts(f"<call=get_weather>{city}{days.format('False')}</call>")
    assert not form.accepts(f"<call=get_weather>{city}{days.format('True')}</call>")


def test_tagged_arguments_of_any_name_where_the_schema_takes_them():
    anything = {"type": "object", "properties": {}, "additionalProperties": True}
    form = followed(learned("tags"), [tool("get_weather", anything)])
    assert form.accepts(tagged(("a", "x"), ("b", "y")))


def test_keyword_arguments_follow_their_schemas():
    form = followed(learned("python"), mode="required")
    for arguments in (
        "city='Bern'",
        'city = "B\\"ern", days=3',
        "city=\"\",unit='kelvin'",
    ):
        assert form.accepts(f"<calls>[get_weather({arguments}), files()]</calls>")
    for arguments in ("", "days=3", "city=5", 'city="x", days=true', 'city="x" days=1'):
        assert not form.accepts(f"<calls>[get_weather({arguments})]</calls>")


def test_keyword_arguments_have_pythons_constants():
    schema = {
        "properties": {"a": {"type": "boolean"}, "b": {"type": ["null", "string"]}}
    }
    form = followed(learned("python"), [tool("f", schema)])
    for arguments in ("a=True, b=None", "a=true, b=null", "b='x'", "a=False"):
        assert form.accepts(f"<calls>[f({arguments})]</calls>"), arguments


# -- turns of messages -------------------------------------------------------------

MESSAGES = ChatFormat(
    reasoning=Tags("<|start|>think:", "<|end|>"),
    content=Tags("<|start|>say:", "<|end|>"),
    tools=ToolSyntax(
        call=("<|start|>to ", Slot.NAME, ":", Slot.ARGUMENTS), separator="<|end|>"
    ),
    prompted="<|start|>",
    aliases=(("<|start|>tell ", "<|start|>to "),),
)
CONTROL = ("<|start|>", "<|end|>")


@pytest.mark.parametrize("control", [(), CONTROL])
def test_first_message_lacks_what_the_prompt_has(control):
    form = followed(MESSAGES, control=control)
    for text in (
        "to files:{}",
        "tell files:{}",
        "say:Hello",
        "think:Well<|end|><|start|>to files:{}",
        "say:Now<|end|><|start|>to files:{}<|end|><|start|>tell files:{}",
        "to files:{}<|end|><|start|>say:Done",
    ):
        assert form.accepts(text), text
    for text in ("Hello", "<|start|>to files:{}", "to rain:{}", "to files:[]"):
        assert not form.accepts(text), text


@pytest.mark.parametrize("control", [(), CONTROL])
def test_required_messages_are_calls_behind_thinking(control):
    form = followed(MESSAGES, mode="required", control=control)
    assert form.accepts("to files:{}")
    assert form.accepts("think:Well<|end|><|start|>to files:{}")
    assert not form.accepts("say:Hello")
    inside = followed(MESSAGES, mode="required", in_reasoning=True, control=control)
    assert inside.accepts("Well<|end|><|start|>to files:{}")


# -- errors ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["objects", "tags", "python"])
def test_bad_schema_is_refused_with_the_tools_name_and_its_place(name):
    bad = {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}
    with pytest.raises(ConstraintError, match="'broken'") as caught:
        followed(learned(name), [FILES, tool("broken", bad)])
    place = "tools[1].function.parameters.properties.a"
    assert caught.value.path.startswith(place)


def test_schemas_have_the_path_that_the_client_knows():
    with pytest.raises(ConstraintError) as caught:
        tool_grammar(
            learned("objects"),
            [tool("broken", {"type": "nothing"})],
            ToolChoice(),
            is_parallel=True,
            in_reasoning=False,
            control_tokens={},
            schema_path="tools[{index}].input_schema",
        )
    assert caught.value.path.startswith("tools[0].input_schema")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"$ref": "#/$defs/A", "$defs": {"A": {"type": "array"}}},
    ],
)
def test_parameters_that_are_no_object_are_refused(schema):
    with pytest.raises(ConstraintError, match="'f': arguments are an object") as caught:
        followed(learned("objects"), [tool("f", schema)])
    assert caught.value.path == "tools[0].function.parameters"


@pytest.mark.parametrize(
    ("name", "argument", "tool_name"),
    [
        ("tags", "a>b", "f"),
        ("python", "a-b", "f"),
        ("tags", "a", "f>g"),
        ("tags", "a", "f g"),
        ("objects", "a", "f g"),
    ],
)
def test_names_that_a_call_cannot_write_are_refused(name, argument, tool_name):
    schema = {"properties": {argument: {"type": "string"}}}
    with pytest.raises(ConstraintError, match="cannot write"):
        followed(learned(name), [tool(tool_name, schema)])


@pytest.mark.parametrize("reference", ["https://example.com/s", "#/$defs/nowhere"])
def test_references_that_lead_nowhere_have_their_path(reference):
    with pytest.raises(ConstraintError, match="'f'") as caught:
        followed(learned("objects"), [tool("f", {"$ref": reference})])
    assert caught.value.path == "tools[0].function.parameters.$ref"


def test_names_have_the_path_that_the_client_knows():
    with pytest.raises(ConstraintError, match="cannot write") as caught:
        followed(learned("objects"), [WEATHER, tool("f g")])
    assert caught.value.path == "tools[1].function.name"


def test_arguments_that_nobody_describes_cannot_be_required():
    schema = {"properties": {}, "required": ["z"], "additionalProperties": True}
    with pytest.raises(ConstraintError, match="'z'"):
        followed(learned("tags"), [tool("f", schema)])


def test_arguments_that_are_only_required_may_be_anything():
    asked = tool("f", {"type": "object", "required": ["a"]})
    form = followed(learned("objects"), [asked], mode="required")
    assert form.accepts(call("f", '{"a": [1, "x"]}'))
    assert not form.accepts(call("f", "{}"))
    assert not form.accepts(call("f", '{"a": 1, "b": 1}'))


def test_arguments_may_be_one_of_some_objects():
    asked = tool("f", {"enum": [1, "a", None, {"x": [1, 2]}]})
    form = followed(learned("objects"), [asked], mode="required")
    assert form.accepts(call("f", '{"x": [1, 2]}'))
    assert not form.accepts(call("f", '{"x": [2]}'))


def test_white_space_around_markers_does_not_go_on():
    form = followed(learned("objects"), mode="required")
    for space in ("", " ", "\n", "\n\n    ", "\r\n"):
        assert form.accepts(space + call().replace(">\n{", ">" + space + "{"))
    for space in ("   ", "\n\n\n", "\n \n", "\n" + " " * 9):
        assert not form.accepts(space + call())


def test_what_is_said_of_all_arguments_is_kept_or_refused_when_strict():
    some = {"properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}]}
    strict = tool("f", some)
    strict["function"]["strict"] = True
    assert followed(learned("objects"), [strict]).accepts(call("f", '{"a": "x"}'))
    assert not followed(learned("objects"), [strict]).accepts(call("f", "{}"))
    with pytest.raises(ConstraintError, match="strict"):
        followed(learned("tags"), [strict])
    assert followed(learned("tags"), [tool("f", some)]).accepts("<call=f>\n</call>")


def test_arguments_in_strings_cannot_be_constrained():
    with pytest.raises(ConstraintUnavailable):
        followed(learned("strings"))


def test_grammar_needs_a_syntax_and_a_tool():
    with pytest.raises(ValueError, match="syntax"):
        followed(ChatFormat())
    with pytest.raises(ValueError, match="may be called"):
        followed(learned("objects"), mode="none")
