"""What the records of one log say. Pure."""

from __future__ import annotations

import dataclasses
import json
import struct
from dataclasses import dataclass, field
from typing import Any

from api.errors import ReplayedError, describe
from api.protocol.error_reply import ErrorReply
from api.streams.log import LogImage, StreamLog
from api.streams.stores.records import Kind, Record
from api.streams.stores.store import Claim, LogFacts, StreamKey

__all__ = (
    "Written",
    "end_of",
    "error_from",
    "error_value",
    "facts_from",
    "facts_value",
    "header_of",
    "image_of",
    "read_records",
)

_LENGTH = struct.Struct("<I")


@dataclass(slots=True)
class Written:
    """A log as its records tell it."""

    facts: LogFacts
    log: StreamLog
    last_event: bytes | None = None
    """What readers get if nobody ends it; None: it was never accepted."""
    request: bytes = b""
    deltas: list[bytes] = field(default_factory=list)
    """What was generated, in the order of the events."""


def header_of(facts: LogFacts, started_at: int) -> bytes:
    """Return the payload of a header."""
    return json.dumps({**facts_value(facts), "started_at": started_at}).encode()


def facts_value(facts: LogFacts) -> dict[str, Any]:
    """Return facts as a JSON value."""
    claim = None if facts.claim is None else dataclasses.asdict(facts.claim)
    return {
        "owner": facts.key.owner,
        "conversation_id": facts.key.conversation_id,
        "capacity": facts.capacity,
        "content_type": facts.content_type,
        "claim": claim,
    }


def facts_from(value: dict[str, Any]) -> LogFacts:
    """Return what `facts_value` was made of."""
    claim = value["claim"]
    return LogFacts(
        StreamKey(value["owner"], value["conversation_id"]),
        value["capacity"],
        value["content_type"],
        None if claim is None else Claim(**claim),
    )


def end_of(log: StreamLog) -> bytes:
    """Return the payload of an end."""
    value = {
        "completed_at": log.completed_at,
        "is_broken": log.is_broken,
        "error": error_value(log.error),
    }
    return json.dumps(value).encode()


def error_value(error: Exception | None) -> dict[str, Any] | None:
    """Return what clients may see of an error, as a JSON value."""
    if error is None:
        return None
    reply = describe(error)
    value = {"status": reply.status, "message": reply.message, "kind": reply.kind}
    return {**value, "extra": dict(reply.extra)}


def error_from(value: dict[str, Any] | None) -> Exception | None:
    """Return what `error_value` was made of, as clients saw it."""
    return None if value is None else ReplayedError(ErrorReply(**value))


def image_of(image: LogImage) -> bytes:
    """Return the payload of an image."""
    value = {f.name: getattr(image, f.name) for f in dataclasses.fields(image)}
    del value["held"]
    head = json.dumps(value).encode()
    return _LENGTH.pack(len(head)) + head + image.held


def _image_from(payload: bytes) -> LogImage:
    (length,) = _LENGTH.unpack_from(payload)
    head = payload[_LENGTH.size : _LENGTH.size + length]
    return LogImage(held=payload[_LENGTH.size + length :], **json.loads(head))


def read_records(records: list[Record]) -> Written | None:
    """Return the log that `records` tell of; None: not even its header is there."""
    if not records or records[0].kind is not Kind.HEADER:
        return None
    header = json.loads(records[0].payload)
    facts = facts_from(header)
    log = StreamLog(facts.capacity, facts.content_type)
    log.started_at = header["started_at"]
    written = Written(facts, log)
    for record in records[1:]:
        _apply(record, written)
    return written


def _apply(record: Record, written: Written) -> None:
    log, payload = written.log, record.payload
    match record.kind:
        case Kind.ACCEPTED:
            written.last_event = payload
        case Kind.REQUEST:
            written.request = payload
        case Kind.BEGUN:
            log.is_begun = True
        case Kind.IMAGE:
            log.restore(_image_from(payload))
        case Kind.TOKENS:
            written.deltas.append(payload)
        case Kind.DATA:
            log.append(payload)
        case Kind.END:
            end = json.loads(payload)
            log.is_broken = end["is_broken"]
            log.restore_end(error_from(end["error"]), end["completed_at"])
        case Kind.HEADER:
            raise ValueError("a second header")
