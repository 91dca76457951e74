"""Values and names of calls in odd spellings: read as they are meant, or left text."""

from __future__ import annotations

import json

import pytest

from llamactypes.chat.output.calls.python_arguments import json_of_python
from llamactypes.chat.output.calls.value_types import TEXT_ONLY, json_of, types_of
from llamactypes.chat.output.format import (
    ArgumentForm,
    ChatFormat,
    Slot,
    TaggedArguments,
    ToolSyntax,
)
from llamactypes.chat.output.json_scan import MAX_DEPTH, JsonScanner, is_json
from tests.chat.corpus import gemma_4, hermes, lfm2, mistral_nemo
from tests.chat.reading import read

ROOT = {
    "$defs": {"a/b": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}},
}


def calls(form, text, **settings):
    """Return what the text says, which is the same in single characters."""
    whole = read(form, [text], with_tools=True, **settings)
    assert read(form, list(text), with_tools=True, **settings) == whole
    return whole


def arguments(form, text, **settings):
    (call,) = calls(form, text, **settings).calls
    return json.loads(call[2])


# -- types -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        (True, None),
        ({}, None),
        ({"type": "string"}, {"string"}),
        ({"type": ["integer", "null", 5]}, {"integer", "null"}),
        ({"type": 5}, None),
        ({"enum": ["a", 1, 2.5, None, [], {}, True]}, None),
        ({"const": "x"}, {"string"}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"string", "null"}),
        ({"oneOf": [{"type": "string"}, {}]}, None),
        ({"allOf": [{}, {"type": "array"}]}, {"array"}),
        ({"allOf": [{}]}, None),
        ({"$ref": "#/$defs/a~1b"}, {"integer"}),
        ({"$ref": "#/$defs/none"}, None),
        ({"$ref": "#/$defs/loop"}, None),
        ({"$ref": "other.json"}, None),
        ({"$ref": 5}, None),
    ],
    ids=str,
)
def test_types_are_those_that_a_schema_allows(schema, types):
    if isinstance(schema, dict) and "enum" in schema:
        types = {"string", "integer", "number", "null", "array", "object", "boolean"}
    assert types_of(schema, ROOT) == types


@pytest.mark.parametrize(
    ("text", "types", "value"),
    [
        ("5", None, 5),
        (" 5 ", {"integer"}, 5),
        ("5", {"string"}, "5"),
        ("5", {"string", "null"}, "5"),
        ("5", {"string", "number"}, 5),
        ("5.5", {"string", "integer"}, "5.5"),
        ("null", {"string", "null"}, None),
        ("true", {"string"}, "true"),
        ("True", {"boolean"}, True),
        ("None", {"string", "null"}, None),
        ("True", None, "True"),
        ("{'a': (1, None)}", {"object"}, {"a": [1, None]}),
        ("{'a': 1}", None, "{'a': 1}"),
        ('"quoted"', None, '"quoted"'),
        ("abc", {"integer"}, "abc"),
        ("NaN", {"number"}, "NaN"),
        ("", {"object"}, ""),
        ("", None, ""),
        ("\ud800", None, "\ud800"),
        ("9" * 5000, None, "9" * 5000),
    ],
)
def test_text_is_the_value_that_is_meant(text, types, value):
    written = json_of(text, None if types is None else frozenset(types))
    if len(text) > 4000:  # Python's own reader refuses such numbers
        assert written == value
    else:
        assert json.loads(written) == value


def test_texts_alone_are_never_values():
    assert json_of("5", TEXT_ONLY) == '"5"'


# -- JSON ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", True),
        ("[ ]", True),
        ('{"a":[{}, -0.5e+3, "\\u00e9", null]}', True),
        ("01", False),
        ("1.", False),
        ("-", False),
        ("+1", False),
        ("nul", False),
        ("nulL", False),
        ("[1,]", False),
        ("{,}", False),
        ('{"a"}', False),
        ("{'a': 1}", False),
        ("[1}", False),
        ("1 2", False),
        ("", False),
        ('"a\nb"', False),
        ('"\\x"', False),
        ("[" * MAX_DEPTH + "]" * MAX_DEPTH, True),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), False),
    ],
)
def test_json_is_checked_strictly(text, expected):
    assert is_json(text) is expected


@pytest.mark.parametrize("text", ['"a\nb\x01\\d\\u12"', '{"\t": "\\"}'])
def test_strings_are_mended_alike_in_any_cuts(text):
    whole, single = JsonScanner(), JsonScanner()
    whole.scan(text, 0)
    rest = ""
    for character in text:
        rest += character
        rest = rest[single.scan(rest, 0) :]
    assert whole.output() == single.output()
    assert whole.is_done is single.is_done


def test_mended_string_says_what_was_written():
    scanner = JsonScanner()
    scanner.scan('"a\nb\\d\x01"', 0)
    assert json.loads(scanner.output()) == "a\nb\\d\x01"


# -- Python ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1_000", 1000),
        ("+1", 1),
        (".5", 0.5),
        ("1.", 1.0),
        ("-1.5e3", -1500.0),
        ("(1, 2,)", [1, 2]),
        ("[]", []),
        ("{}", {}),
        ("true", True),
        (r"'\x41\u00e9\U0001F600\'\n\a\q'", "A\u00e9\U0001f600'\n\x07\\q"),
        ("'a\nb'", "a\nb"),
        ("'a\\\nb'", "ab"),
        ("'\\ud800'", "\ud800"),
        ('"it\'s"', "it's"),
    ],
)
def test_python_values_become_json(text, value):
    written = json_of_python(text)
    assert written is not None
    assert json.loads(written) == value


@pytest.mark.parametrize(
    "text", ["", "x", "1 2", "'a", "[1", "{1: 2}", "f()", "1.2.3", "0x1F", "[" * 99]
)
def test_what_is_no_python_value_is_none(text):
    assert json_of_python(text) is None


@pytest.mark.parametrize(
    "text",
    ["f(1)", "f(=1)", "f(a=1 b=2)", "f(a={1: 2})", "f(a=[1)", "f(a=1", "f(a", "f(a=12"],
)
def test_call_with_anything_but_keyword_values_is_text(text):
    whole = f"<|tool_call_start|>[{text}"
    assert calls(lfm2.CORPUS.format, whole).content == whole


def test_cut_off_python_call_keeps_what_came():
    whole = "<|tool_call_start|>[f(a=1, b=12"
    got = calls(lfm2.CORPUS.format, whole, streams_arguments=True)
    assert got.calls == [("", "f", '{"a": 1, "b": 12')]


# -- other forms -----------------------------------------------------------------------


def test_bare_keys_may_be_marked_and_texts_bare():
    text = (
        '<|tool_call>call:f{<|"|>a b<|"|>:<|"|>x<|"|>,"c":y z,d:[1,True]}<tool_call|>'
    )
    expected = {"a b": "x", "c": "y z", "d": [1, True]}
    assert arguments(gemma_4.CORPUS.format, text) == expected


@pytest.mark.parametrize(
    "text", ["f{a}", "f{a:}", "f{a:1 ]", "f{a:[1}", "f{a:" + "[" * 99]
)
def test_bare_values_that_break_are_text(text):
    whole = f"<|tool_call>call:{text}<tool_call|>"
    assert calls(gemma_4.CORPUS.format, whole).content == whole


@pytest.mark.parametrize(
    ("text", "written"),
    [("f{a:1,lon", '{"a": 1, "lon'), ("f{a:1,lon:12", '{"a": 1, "lon": 12')],
)
def test_cut_off_bare_values_keep_what_came(text, written):
    whole = f"<|tool_call>call:{text}"
    got = calls(gemma_4.CORPUS.format, whole, streams_arguments=True)
    assert got.calls == [("", "f", written)]


def test_tagged_arguments_may_have_a_separator_and_json_strings():
    form = ChatFormat(
        tools=ToolSyntax(
            call=("<c>", Slot.NAME, "\n", Slot.ARGUMENTS, "</c>"),
            arguments=ArgumentForm.TAGGED,
            tagged=TaggedArguments("<k>", "=", ";", ",", json_strings=True),
        )
    )
    text = '<c>f\n<k>a="x;y";,<k>b=5;</c>'
    assert arguments(form, text) == {"a": "x;y", "b": 5}
    assert arguments(form, "<c>f</c>") == {}


def test_text_between_tags_may_look_like_its_end():
    text = (
        "<tool_call>f<arg_key>a</arg_key><arg_value>x</arg_valu</arg_value></tool_call>"
    )
    tagged = TaggedArguments("<arg_key>", "</arg_key><arg_value>", "</arg_value>")
    form = ChatFormat(
        tools=ToolSyntax(
            call=("<tool_call>", Slot.NAME, Slot.ARGUMENTS, "</tool_call>"),
            arguments=ArgumentForm.TAGGED,
            tagged=tagged,
        )
    )
    assert arguments(form, text) == {"a": "x</arg_valu"}


def test_end_of_a_value_may_be_two_words():
    tagged = TaggedArguments("<k>", "=", "end value")
    form = ChatFormat(
        tools=ToolSyntax(
            call=("<c>", Slot.NAME, "\n", Slot.ARGUMENTS, "</c>"),
            arguments=ArgumentForm.TAGGED,
            tagged=tagged,
        )
    )
    assert arguments(form, "<c>f\n<k>a=the end of end value</c>") == {
        "a": "the end of "
    }


def test_objects_within_an_object_are_read_in_any_order():
    form = ChatFormat(
        tools=ToolSyntax(
            call=(
                '<c>{"type": "function", "function": {"name": "',
                Slot.NAME,
                '", "arguments": ',
                Slot.ARGUMENTS,
                "}}</c>",
            ),
            quotes_names=True,
        )
    )
    text = (
        '<c>{"function": {"arguments": {"a": 1}, "name": "f"}, "type": "function"}</c>'
    )
    assert calls(form, text).calls == [("", "f", '{"a": 1}')]
    for odd in ('{"function": {}, "function": {}}', '{"type": {}, "function": {}}'):
        assert calls(form, f"<c>{odd}</c>").content == f"<c>{odd}</c>"


@pytest.mark.parametrize(
    "body",
    [
        '{"name": "", "arguments": {}}',
        '{"name": "f", "arguments": [1]}',
        '{"name": "f", "arguments": "{"}',
        '{"name": "f", "name": "g", "arguments": {}}',
        '{"arguments": {}}',
        "[]",
    ],
)
def test_object_that_is_no_call_is_text(body):
    text = f"<tool_call>\n{body}\n</tool_call>"
    assert calls(hermes.CORPUS.format, text).content == text


@pytest.mark.parametrize("id", ["a b", "x" * 65, "[1]"])
def test_id_that_is_none_makes_text(id):
    text = f'[TOOL_CALLS][{{"name": "f", "arguments": {{}}, "id": "{id}"}}]'
    for streams_arguments in (False, True):
        got = calls(
            mistral_nemo.CORPUS.format, text, streams_arguments=streams_arguments
        )
        assert (got.content, got.calls) == (text, [])


def test_escaped_names_are_read():
    text = '<tool_call>\n{"name": "say \\"hi\\"", "arguments": {}}\n</tool_call>'
    for streams_arguments in (False, True):
        got = calls(hermes.CORPUS.format, text, streams_arguments=streams_arguments)
        assert got.calls == [("", 'say "hi"', "{}")]
    broken = '<tool_call>\n{"name": "\\x", "arguments": {}}\n</tool_call>'
    assert calls(hermes.CORPUS.format, broken, streams_arguments=True).content == broken


def test_numbers_of_calls_must_be_numbers():
    form = ChatFormat(
        tools=ToolSyntax(
            call=("<c>", Slot.NAME, ":", Slot.INDEX, ">", Slot.ARGUMENTS, "</c>")
        )
    )
    assert calls(form, "<c>f:0>{}</c>").calls == [("", "f", "{}")]
    assert calls(form, "<c>f:x>{}</c>").content == "<c>f:x>{}</c>"


def test_names_that_come_twice_must_be_the_same():
    form = ChatFormat(
        tools=ToolSyntax(call=("<", Slot.NAME, "|", Slot.NAME, ">", Slot.ARGUMENTS))
    )
    assert calls(form, "<f|f>{}").calls == [("", "f", "{}")]
    assert calls(form, "<f|g>{}").content == "<f|g>{}"
