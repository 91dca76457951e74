"""Streams in files: what a restart leaves, and what may go wrong with a disk."""

from __future__ import annotations

import errno
import logging
import re
import stat
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.errors import StreamInterrupted
from api.streams.client import Client
from api.streams.limits import StreamLimits
from api.streams.log_body import LogBody
from api.streams.sessions import StreamSessions
from api.streams.stores.file import FileStore
from api.streams.stores.file_journal import open_private
from api.streams.stores.reading import ReadableLog
from api.streams.stores.records import MAGIC, Kind, decode, encode
from api.streams.stores.store import Claim, Claimed
from api.streams.tally import Tally, read_end_line
from llamactypes.errors import KVCacheFull
from tests.support.productions import Story, open_session, start
from tests.support.waiting import eventually

RING = 20_000


def make(folder: Path, keep_s: float = 30, **options: Any) -> StreamSessions:
    limits = StreamLimits(ring_bytes=RING, keep_s=keep_s)
    return StreamSessions(limits, FileStore(folder, keep_s, **options))


def crash(sessions: StreamSessions) -> None:
    """Leave everything as a killed process does: locks go, files stay."""
    sessions.store.close()


def find(sessions: StreamSessions, id: str = "c") -> ReadableLog:
    log = sessions.find(None, id)
    assert log is not None
    return log


def read(log: ReadableLog) -> bytes:
    return b"".join(LogBody(log, Client({}), 0, has_snapshots=True))


def tell(sessions: StreamSessions, *words: str, id: str = "c") -> Story:
    """Let a story write `words`, one event each."""
    story = start(sessions, id)
    log = find(sessions, id)
    for number, word in enumerate(words, start=1):
        story.write(word)
        eventually(lambda number=number: log.n_events == number)
    return story


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.log"))


def test_a_finished_stream_is_read_after_a_restart(tmp_path: Path) -> None:
    before = make(tmp_path)
    tell(before, "Once", " upon").end()
    assert find(before).wait_done(5)
    whole, crc = read(find(before)), find(before).crc
    assert before.close(5)
    after = make(tmp_path)
    log = find(after)
    assert read(log) == whole
    assert (log.crc, log.is_done, log.error) == (crc, True, None)
    assert after.close(5)


def test_a_whole_body_and_its_failure_are_fetched_after_a_restart(
    tmp_path: Path,
) -> None:
    before = make(tmp_path)
    story = start(before, "good", whole=True)
    story.write("text")
    story.end()
    start(before, "bad", whole=True).fail(KVCacheFull("no room", 1))
    for id in ("good", "bad"):
        assert find(before, id).wait_done(5)
    assert before.close(5)
    after = make(tmp_path)
    assert find(after, "good").read_all() == b'{"text": "text"}'
    assert "no room" in str(find(after, "bad").error)
    assert after.close(5)


def test_an_unfinished_stream_is_interrupted_and_keeps_every_byte(
    tmp_path: Path,
) -> None:
    before = make(tmp_path)
    tell(before, "Once", " upon")
    seen = find(before).read(0, 0.0)[0]
    crash(before)
    after = make(tmp_path)
    log = find(after)
    body = read(log)
    assert body.startswith(seen)
    assert b"stream_interrupted" in body[len(seen) :]
    assert isinstance(log.error, StreamInterrupted)
    assert after.counts().interrupted == 1
    *lines, last = body.splitlines(keepends=True)
    tally, told = Tally(), read_end_line(last)
    tally.add(b"".join(lines))
    assert told is not None
    assert (told.n_bytes, told.n_events, told.crc) == (tally.n_bytes, 3, tally.crc)
    # It is over now, also for the server after the next.
    assert after.close(5)
    third = make(tmp_path)
    assert read(find(third)) == body
    assert third.counts().interrupted == 0
    assert third.close(5)


def test_what_nobody_had_accepted_is_forgotten(tmp_path: Path) -> None:
    before = make(tmp_path)
    open_session(before)
    crash(before)
    after = make(tmp_path)
    assert after.find(None, "c") is None
    assert files(tmp_path) == []


def test_an_idempotency_key_survives_a_restart(tmp_path: Path) -> None:
    before = make(tmp_path)
    claim = Claim("key", "body")
    start(before, claim=claim).end()
    assert find(before).wait_done(5)
    assert before.close(5)
    after = make(tmp_path)
    with pytest.raises(Claimed):
        open_session(after, "other", claim=claim)
    assert after.close(5)


def test_expired_and_deleted_streams_leave_no_file(tmp_path: Path) -> None:
    sessions = make(tmp_path)
    tell(sessions, "Once", id="deleted").end()
    tell(sessions, "Once", id="kept").end()
    sessions.stop(None, "deleted")
    eventually(lambda: sessions.n_live == 0)
    assert len(files(tmp_path)) == 1
    assert sessions.close(5)
    assert make(tmp_path, keep_s=0).find(None, "kept") is None
    assert files(tmp_path) == []


def test_a_long_stream_keeps_a_short_file_and_all_its_text(tmp_path: Path) -> None:
    before = make(tmp_path)
    story = start(before)
    log = find(before)
    for number in range(1, 4001):
        story.write(f"{number:04}")
        if number % 50 == 0:
            eventually(lambda number=number: log.n_events == number)
    (path,) = files(tmp_path)
    assert path.stat().st_size < 3 * RING + (1 << 17)
    assert log.first > 5 * RING
    crash(before)
    after = make(tmp_path)
    body = read(find(after)).decode()
    text = "".join(re.findall(r'"content":"(\d*)"', body.replace(": ", ":")))
    assert text == "".join(f"{number:04}" for number in range(1, 4001))
    assert find(after).n_events == 4001
    assert after.close(5)


@given(st.lists(st.binary(max_size=50), max_size=8), st.data())
def test_torn_or_changed_records_end_what_is_believed(
    payloads: list[bytes], data: Any
) -> None:
    whole = MAGIC + b"".join(encode(Kind.DATA, each) for each in payloads)
    at = data.draw(st.integers(0, max(0, len(whole) - 1)))
    records, n_bytes = decode(whole[:at])
    assert [each.payload for each in records] == payloads[: len(records)]
    assert n_bytes <= at
    damaged = bytearray(whole)
    damaged[at] ^= 1
    found, _ = decode(bytes(damaged))
    assert [each.payload for each in found] == payloads[: len(found)]
    assert len(found) < len(payloads) or not payloads


@pytest.mark.parametrize("n_torn", [1, 4, 30])
def test_a_torn_last_record_costs_only_itself(tmp_path: Path, n_torn: int) -> None:
    before = make(tmp_path)
    tell(before, "Once", " upon")
    seen = find(before).read(0, 0.0)[0]
    crash(before)
    (path,) = files(tmp_path)
    path.write_bytes(path.read_bytes()[:-n_torn])
    after = make(tmp_path)
    body = read(find(after))
    first = seen[: seen.index(b"\n\n") + 2]
    assert body.startswith(first)
    assert b"upon" not in body
    assert b"stream_interrupted" in body
    assert after.close(5)


def test_a_file_of_something_else_is_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    strange = tmp_path / "x.log"
    strange.write_bytes(MAGIC + encode(Kind.HEADER, b"{}"))
    link = tmp_path / "y.log"
    link.symlink_to(strange)
    sessions = make(tmp_path)
    assert sessions.store.entries() == []
    assert strange.exists()
    assert "x.log cannot be read" in caplog.text
    assert sessions.close(5)


class FullDisk:
    """Opens files on a disk that becomes full, and may become free again."""

    def __init__(self) -> None:
        self.is_full = False
        self.room = 1 << 30

    def open(self, path: Path, mode: str) -> BinaryIO:
        file, disk = open_private(path, mode), self

        class File:
            def write(self, data: Any) -> int:
                if disk.is_full:
                    raise OSError(errno.ENOSPC, "No space left on device")
                return file.write(bytes(data)[:7])  # short writes, as the kernel may

            def __getattr__(self, name: str) -> Any:
                return getattr(file, name)

            def __enter__(self) -> Any:
                return file.__enter__()

            def __exit__(self, *what: Any) -> None:
                file.close()

        return File()  # type: ignore[return-value]


def test_a_full_disk_stops_neither_the_generation_nor_its_readers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = FullDisk()
    sessions = make(tmp_path, open_file=disk.open)
    story = tell(sessions, "Once")
    disk.is_full = True
    for number, word in enumerate(("b", "c", "d"), start=2):
        story.write(word)
        eventually(lambda number=number: find(sessions).n_events == number)
    story.end()
    assert find(sessions).wait_done(5)
    assert read(find(sessions)).count(b"data: ") == 5
    lines = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert len(lines) == 1
    assert "No space left" in lines[0].getMessage()
    assert sessions.counts().store_errors >= 1
    crash(sessions)
    # What was on the disk before is there, and says that something is missing.
    after = make(tmp_path)
    assert b"stream_interrupted" in read(find(after))
    assert after.close(5)


def test_a_disk_with_room_again_gets_the_whole_stream_at_its_end(
    tmp_path: Path,
) -> None:
    disk = FullDisk()
    before = make(tmp_path, open_file=disk.open)
    story = tell(before, "Once")
    disk.is_full = True
    story.write(" upon")
    eventually(lambda: find(before).n_events == 2)
    disk.is_full = False
    story.end()
    assert find(before).wait_done(5)
    whole = read(find(before))
    assert before.close(5)
    after = make(tmp_path)
    assert read(find(after)) == whole
    assert after.close(5)


def test_a_disk_that_is_full_from_the_beginning_is_as_good_as_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")

    def open_full(path: Path, mode: str) -> BinaryIO:
        return open("/dev/full", "wb", buffering=0)  # type: ignore[return-value]

    sessions = make(tmp_path, open_file=open_full)
    tell(sessions, "Once").end()
    assert find(sessions).wait_done(5)
    assert b"Once" in read(find(sessions))
    assert "No space left" in caplog.text
    assert sessions.close(5)


@pytest.mark.parametrize("name", ["file/below", "file"])
def test_a_place_that_is_no_directory_leaves_memory_and_a_line(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    sessions = make(tmp_path / name)
    tell(sessions, "Once").end()
    assert find(sessions).wait_done(5)
    assert b"Once" in read(find(sessions))
    assert "are kept in memory" in caplog.text
    assert len(caplog.records) == 1
    assert sessions.close(5)


def test_two_servers_share_no_directory_and_the_second_takes_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = make(tmp_path), make(tmp_path)
    assert "another server keeps streams" in caplog.text
    tell(first, "first").end()
    tell(second, "second").end()
    assert find(first).wait_done(5)
    assert find(second).wait_done(5)
    assert len(files(tmp_path)) == 1
    assert b"first" in read(find(first))
    assert b"second" in read(find(second))
    assert first.close(5)
    tell(second, "new", id="new").end()
    assert len(files(tmp_path)) == 2
    assert second.close(5)


def test_nobody_else_may_read_and_names_tell_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "streams"
    sessions = make(folder)
    tell(sessions, "Once", id="../../secret").end()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (path,) = files(folder)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "secret" not in path.name
    assert sessions.close(5)
