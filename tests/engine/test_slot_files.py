"""Files of saved slots: names, the format, whole writes."""

from __future__ import annotations

import errno
import os

import pytest

from llamactypes.engine.prefixes.checkpoints import Checkpoint
from llamactypes.engine.prefixes.state_cache import SavedState
from llamactypes.engine.slot_files import (
    SlotFiles,
    pack_checkpoints,
    unpack_checkpoints,
)
from llamactypes.errors import StateError
from llamactypes.state_file import pack_head, unpack_head


@pytest.mark.parametrize(
    "name",
    ["slot.bin", "a", "x" * 255, "é.bin", "a b", ".hidden", "-", "con1", "コ.bin"],
)
def test_an_ordinary_name_is_allowed(name):
    SlotFiles.check(name)


@pytest.mark.parametrize(
    "name",
    [
        *("", "x" * 256, "é" * 128, ".", "..", "a..b", "../x", "/etc/passwd", "a/b"),
        *("a\\b", "c:x", "a*", "a?", 'a"', "<a", "a>", "a|b", " a", "a ", "a."),
        *("a\0", "a\n", "a\x7f", "a\x85", "a\ud800", "a\u2215b", "a\uff0e", "\ufeffa"),
        *("con", "NUL", "Com1.bin", "lpt9.x"),
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(name, tmp_path):
    with pytest.raises(ValueError, match="Invalid filename"):
        SlotFiles(tmp_path).read(name)
    with pytest.raises(ValueError, match="Invalid filename"):
        SlotFiles(tmp_path).write(name, SavedState([1], b"x"))
    assert list(tmp_path.iterdir()) == []


def test_a_file_gives_back_what_was_written(tmp_path):
    files = SlotFiles(tmp_path)
    saved = SavedState([5, 6, 7], b"mark....state", (Checkpoint(2, b"abc"),))
    n_written = files.write("a.bin", saved)
    assert n_written == (tmp_path / "a.bin").stat().st_size
    tokens, data, start = files.read("a.bin")
    assert (tokens, data[start : start + 5]) == ([5, 6, 7], b"state")
    (checkpoint,), n_bytes = unpack_checkpoints(data, start + 5)
    assert (checkpoint.n_tokens, checkpoint.data) == (2, b"abc")
    assert start + 5 + n_bytes == n_written
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    files = SlotFiles(tmp_path)
    files.write("a.bin", SavedState([1], b"mark....old"))
    before = (tmp_path / "a.bin").read_bytes()
    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(StateError, match="No space left"):
        files.write("a.bin", SavedState([1], b"mark....new"))
    assert (tmp_path / "a.bin").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def no_space(handle: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_cannot_be_written_or_read_is_named_without_its_folder(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    files = SlotFiles(tmp_path)
    for ask in (
        lambda: files.write("folder", SavedState([1], b"x")),
        lambda: files.read("folder"),
        lambda: files.read("pipe"),
        lambda: files.read("missing"),
        lambda: SlotFiles(tmp_path / "nowhere").write("a", SavedState([1], b"x")),
    ):
        with pytest.raises(StateError) as caught:
            ask()
        assert str(tmp_path) not in str(caught.value)


def test_a_symbolic_link_is_refused(tmp_path):
    outside = tmp_path / "outside"
    outside.write_bytes(b"secret")
    folder = tmp_path / "slots"
    folder.mkdir()
    (folder / "link").symlink_to(outside)
    for ask in (
        lambda: SlotFiles(folder).read("link"),
        lambda: SlotFiles(folder).write("link", SavedState([1], b"x")),
    ):
        with pytest.raises(ValueError, match="symbolic link"):
            ask()
    assert outside.read_bytes() == b"secret"


def test_a_plain_list_of_tokens_is_understood():
    packed = pack_head([3, 4])
    plain = packed[:8] + (2).to_bytes(4, "little") + packed[24:32] + b"mark....state"
    assert unpack_head(plain) == ([3, 4], 20)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "too short"),
        (b"GGUF" + bytes(20), "no saved sequence"),
        (pack_head([1])[:4] + bytes(20), "version 0"),
        (pack_head([1, 2, 3])[:-4], "ends within"),
        (pack_head([1])[:16] + (2).to_bytes(4, "little") + bytes(12), "form"),
        (pack_head([1, 2])[:20] + (9).to_bytes(4, "little") + bytes(12), "ends within"),
        (pack_head([1])[:-4] + (1).to_bytes(4, "little"), "mmproj"),
        (pack_head([1, 0])[:20] + (1).to_bytes(4, "little") + bytes(12), "follows"),
    ],
)
def test_a_damaged_head_is_refused_with_the_reason(data, reason):
    with pytest.raises(StateError, match=reason):
        unpack_head(data)


@pytest.mark.parametrize("cut", [0, 5, 12, 30, -1])
def test_damaged_checkpoints_are_left_out(cut):
    packed = pack_checkpoints((Checkpoint(2, b"abc"), Checkpoint(4, b"defg")))
    assert unpack_checkpoints(bytearray(packed[:cut]), 0) == ((), 0)
    assert unpack_checkpoints(bytearray(b"something else"), 0) == ((), 0)
