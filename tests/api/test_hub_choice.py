"""Which files of a repository are the model, and what is said when none is."""

from __future__ import annotations

import pytest

from api.hub.choice import HubError, HubModel, choose_files, tags_among

NAMES = (
    "README.md",
    "m-F16.gguf",
    "m-IQ4_XS.gguf",
    "m-Q4_K_M.gguf",
    "m-q8_0.gguf",
    "mmproj-m-Q4_K_M.gguf",
    "big/m-Q6_K-00001-of-00003.gguf",
    "big/m-Q6_K-00002-of-00003.gguf",
    "big/m-Q6_K-00003-of-00003.gguf",
)


def chosen(text: str, *names: str, file: str = "") -> tuple[str, ...]:
    model = HubModel.parse(text)
    return choose_files(names or NAMES, HubModel(model.repo, model.tag, file))


def refusal(text: str, *names: str, file: str = "") -> str:
    with pytest.raises(HubError) as caught:
        chosen(text, *names, file=file)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "repo", "tag"),
    [("u/m", "u/m", ""), ("u.x/m-1:Q4_K_M", "u.x/m-1", "Q4_K_M")],
)
def test_repository_is_read_with_and_without_tag(text: str, repo: str, tag: str):
    assert HubModel.parse(text) == HubModel(repo, tag)
    assert str(HubModel.parse(text)) == text


@pytest.mark.parametrize("text", ["m", "a/b/c", "u/m:", "../m", "u/..", "", "u /m"])
def test_what_is_no_repository_is_refused(text: str):
    with pytest.raises(ValueError, match=text or "^$"):
        HubModel.parse(text)


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("u/m", "m-Q4_K_M.gguf"),
        ("u/m:Q8_0", "m-q8_0.gguf"),
        ("u/m:iq4_xs", "m-IQ4_XS.gguf"),
        ("u/m:F16", "m-F16.gguf"),
    ],
)
def test_tag_is_looked_for_in_names_and_q4_k_m_preferred(text: str, file: str):
    assert chosen(text) == (file,)


def test_without_the_preferred_ones_the_first_model_is_taken():
    assert chosen("u/m", "mmproj-x.gguf", "z-F16.gguf", "a-F32.gguf") == ("a-F32.gguf",)
    assert chosen("u/m", "a-F32.gguf", "m.Q8_0.gguf") == ("m.Q8_0.gguf",)


def test_split_model_brings_all_its_parts():
    parts = tuple(f"big/m-Q6_K-0000{n}-of-00003.gguf" for n in (1, 2, 3))
    assert chosen("u/m:Q6_K") == parts
    assert chosen("u/m", file=parts[1]) == parts


def test_named_file_wins_over_the_tag():
    assert chosen("u/m:Q4_K_M", file="m-F16.gguf") == ("m-F16.gguf",)


def test_lacking_part_is_named():
    names = ("m-Q6_K-00001-of-00002.gguf",)
    assert "u/m lacks m-Q6_K-00002-of-00002.gguf" in refusal("u/m", *names)


@pytest.mark.parametrize(
    ("text", "file", "message"),
    [
        ("u/m:Q2_K", "", "u/m has no GGUF model with Q2_K in its name; there are big/"),
        ("u/m", "x.gguf", "u/m has no file x.gguf; there are big/"),
    ],
)
def test_what_is_there_is_listed_when_nothing_fits(text: str, file: str, message: str):
    assert message in refusal(text, file=file)


def test_repository_without_models_says_so_and_long_lists_are_cut():
    assert refusal("u/m", "a.safetensors").endswith("; it holds no GGUF file at all")
    many = [f"m-{n:02}.gguf" for n in range(20)]
    assert refusal("u/m:Q4", *many).endswith("m-11.gguf and 8 more")


def test_token_is_not_shown():
    assert "secret" not in repr(HubModel("u/m", token="secret"))


def test_tags_are_the_last_words_of_names():
    assert tags_among(NAMES) == ("Q6_K", "F16", "IQ4_XS", "Q4_K_M", "Q8_0")
    assert tags_among(("model.gguf", "README.md")) == ("",)
