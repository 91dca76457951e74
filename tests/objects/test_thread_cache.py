"""The file that remembers thread counts is harmless, whatever is in it."""

from __future__ import annotations

import dataclasses
import json
import os

import pytest

from llamactypes import thread_cache
from llamactypes.thread_cache import KnownThreads

KNOWN = KnownThreads(4, 8, 0.01, 0.1, 0.25)


def test_nothing_is_known_at_first():
    assert not thread_cache.cache_file().exists()
    assert thread_cache.find("key") is None


def test_what_is_remembered_is_found_again():
    other = dataclasses.replace(KNOWN, n_threads=1, others=None)
    thread_cache.remember("key", KNOWN)
    thread_cache.remember("other", other)
    assert thread_cache.find("key") == KNOWN
    assert thread_cache.find("other") == other
    assert thread_cache.find("third") is None
    assert [one.name for one in thread_cache.cache_file().parent.iterdir()] == [
        "threads.json"
    ]


def test_the_oldest_entries_go():
    for number in range(70):
        thread_cache.remember(f"key{number}", KNOWN)
    assert thread_cache.find("key5") is None
    assert thread_cache.find("key6") == KNOWN


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        '{"version": 1}',
        '{"version": 1, "choices": 7}',
        '{"version": 1, "choices": {"key": []}}',
        '{"version": 1, "choices": {"key": {"n_threads": 4}}}',
        '{"version": 0, "choices": {}}',
        "\x00\xff",
    ],
)
def test_a_strange_file_is_ignored_and_replaced(content):
    path = thread_cache.cache_file()
    path.parent.mkdir(parents=True)
    path.write_text(content, "latin-1")
    assert thread_cache.find("key") is None
    thread_cache.remember("key", KNOWN)
    assert thread_cache.find("key") == KNOWN


@pytest.mark.parametrize(
    "change",
    [
        {"n_threads": 0},
        {"n_threads": 513},
        {"n_threads_batch": True},
        {"n_threads": "4"},
        {"step_s": -1.0},
        {"step_s": float("nan")},
        {"chunk_s": None},
        {"others": float("inf")},
    ],
)
def test_an_impossible_entry_is_ignored(change):
    thread_cache.remember("key", KNOWN)
    path = thread_cache.cache_file()
    content = json.loads(path.read_text())
    content["choices"]["key"] |= change
    path.write_text(json.dumps(content))
    assert thread_cache.find("key") is None


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    thread_cache.remember("key", KNOWN)
    assert thread_cache.find("key") is None


def test_a_relative_cache_home_is_ignored(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setenv("HOME", str(tmp_path))
    expected = tmp_path / ".cache" / "llamactypes" / "threads.json"
    assert thread_cache.cache_file() == expected


def test_the_key_is_that_of_file_and_settings(tiny_model_path, tmp_path):
    copy = tmp_path / "model.gguf"
    copy.write_bytes(tiny_model_path.read_bytes())
    key = thread_cache.key_for(str(copy))
    assert key == thread_cache.key_for(str(copy))
    assert key != thread_cache.key_for(str(copy), settings=("q8_0",))
    os.utime(copy, (1, 1))
    assert key != thread_cache.key_for(str(copy))
