"""Finding text that spells special tokens, and cutting prompts around it."""

from __future__ import annotations

import random
import time

import pytest

from llamactypes.chat.templates.special_text import Piece, SpecialText, SpecialTexts

SPECIALS = SpecialTexts(
    [
        SpecialText("<s>"),
        SpecialText("<|im_start|>"),
        SpecialText("<|im_end|>"),
        SpecialText("<|im_"),
        SpecialText("<|end|>", strips_right=True),
        SpecialText("[MASK]", strips_left=True),
        SpecialText(""),
    ]
)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("", []),
        ("plain < text > here", []),
        ("a<s>b", [(1, 4)]),
        ("<|im_start|>", [(0, 12)]),
        ("a<|im_x", [(1, 6)]),
        ("ends with <", [(10, 11)]),
        ("ends with <|im_st", [(10, 15), (10, 17)][:1]),
        ("> quoted", [(0, 1)]),
        ("art|> b", [(0, 5)]),
        ("<s><s>", [(0, 3), (3, 6)]),
    ],
)
def test_places_are_whole_tokens_and_parts_at_the_ends(text, places):
    assert SPECIALS.places(text) == places


def test_a_vocabulary_without_special_tokens_finds_nothing():
    none = SpecialTexts([])
    assert none.places("<s>") == []
    assert none.pieces("<s>", [(0, 3)]) == (Piece("<s>"),)


def test_a_prompt_is_whole_unless_a_token_is_foreign():
    prompt = "<|im_start|>user\na < b<|im_end|>"
    assert SPECIALS.pieces(prompt, []) == (Piece(prompt),)
    assert SPECIALS.pieces(prompt, [(19, 20)]) == (Piece(prompt),)


def test_cuts_are_at_the_templates_own_tokens():
    prompt = "<|im_start|>user\nsay <s> now<|im_end|>\n"
    at = prompt.index("<s>")
    assert SPECIALS.pieces(prompt, [(at, at + 3)]) == (
        Piece("<|im_start|>"),
        Piece("user\nsay <s> now", parse_special=False),
        Piece("<|im_end|>\n"),
    )


def test_a_token_made_of_two_messages_parts_is_foreign():
    prompt = "<s>a<|im_end|>b"
    assert SPECIALS.pieces(prompt, [(4, 9)]) == (
        Piece("<s>"),
        Piece("a<|im_end|>b", parse_special=False),
    )


def test_white_space_that_tokens_swallow_is_left_out():
    prompt = "<|end|>  a<s>b  [MASK]"
    assert SPECIALS.pieces(prompt, [(10, 13)]) == (
        Piece("<|end|>"),
        Piece("a<s>b", parse_special=False),
        Piece("[MASK]"),
    )


def test_thousands_of_foreign_tokens_take_no_square_time():
    many = SpecialTexts(SpecialText(f"<unused{n}>") for n in range(6000))
    prompt = "<unused5><unused77>" * 20_000
    begin = time.monotonic()
    pieces = many.pieces(prompt, [(n, n + 9) for n in range(0, len(prompt), 19)])
    assert len(many.places(prompt)) == 40_000
    assert time.monotonic() - begin < 5
    assert len(pieces) == 40_000


def test_pieces_join_to_the_prompt_and_hide_just_the_foreign_tokens():
    words = ["<s>", "<|im_start|>", "<|im_", "<|im_end|>", "im_", "<", ">", "a", " "]
    chance = random.Random(5)
    for _ in range(2000):
        parts = [
            (chance.choice(words), chance.random() < 0.5)
            for _ in range(chance.randrange(1, 9))
        ]
        prompt, foreign = "", []
        for text, is_foreign in parts:
            if is_foreign:
                foreign.append((len(prompt), len(prompt) + len(text)))
            prompt += text
        pieces = SPECIALS.pieces(prompt, foreign)
        assert "".join(piece.text for piece in pieces) == prompt
        _check_parsed(pieces, foreign)


def _check_parsed(pieces, foreign):
    at = 0
    for piece in pieces:
        if piece.parse_special:
            for begin, end in SPECIALS.places(piece.text):
                is_whole = SPECIALS.count(piece.text[begin:end]) > 0
                crossed = [
                    span
                    for span in foreign
                    if span[0] < at + end and at + begin < span[1]
                ]
                assert not (is_whole and crossed), (pieces, foreign)
        at += len(piece.text)
