"""What the hub's errors mean to the person at the terminal. Needs huggingface_hub."""

from __future__ import annotations

import errno

import httpx2
from huggingface_hub.errors import (
    EntryNotFoundError,
    FileMetadataError,
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
)

from api.hub.choice import HubError, HubModel

__all__ = ("CAUGHT", "explained", "is_unreachable")

CAUGHT = (httpx2.HTTPError, OSError, EntryNotFoundError)
"""What huggingface_hub and the disk raise on a download."""

_TOKEN = "give an access token by --hf-token or HF_TOKEN"


def is_unreachable(error: BaseException) -> bool:
    """Whether the hub did not answer, or only that it cannot now."""
    if isinstance(error, HfHubHTTPError):
        return _status(error) >= 500
    return isinstance(error, httpx2.TransportError | LocalEntryNotFoundError)


def explained(error: Exception, model: HubModel, cache: str) -> HubError:
    """Return the error to show instead of `error`."""
    return HubError(f"cannot get {model}: {_reason(error, model, cache)}")


def _reason(error: Exception, model: HubModel, cache: str) -> str:
    if isinstance(error, GatedRepoError):
        return (
            "the repository is gated; accept its terms on its page, then "
            f"{_TOKEN} of the same account"
        )
    if isinstance(error, RepositoryNotFoundError):
        return (
            "there is no such repository, or it is private; check the name, or "
            f"{_TOKEN} that may read it"
        )
    if isinstance(error, HfHubHTTPError):
        return _http_reason(error)
    if is_unreachable(error):
        return (
            f"the hub does not answer ({_first_line(error)}) and the cache in {cache} "
            "lacks it; check the connection, or give a local file with --model"
        )
    if isinstance(error, FileMetadataError):
        return f"what answers is no hub ({_first_line(error)}); check HF_ENDPOINT"
    return _disk_reason(error, cache)


def _http_reason(error: HfHubHTTPError) -> str:
    status = _status(error)
    if status == 401:
        return f"the hub does not accept the token (401); {_TOKEN} that is valid"
    if status == 403:
        return f"the hub refuses access (403); {_TOKEN} that may read it"
    if status == 404:
        return "the hub has no such file (404)"
    if status == 429:
        return f"too many requests (429); wait a little, or {_TOKEN}"
    return f"the hub answered {status}; try again later"


def _disk_reason(error: Exception, cache: str) -> str:
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"no space left in {cache}; free some, or set HF_HOME to a folder on a "
            "larger disk"
        )
    if number in (errno.EACCES, errno.EROFS, errno.EPERM):
        return f"{cache} cannot be written; set HF_HOME to a folder of yours"
    return _first_line(error)


def _status(error: HfHubHTTPError) -> int:
    return int(error.response.status_code)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
