"""Files of a hub repository through huggingface_hub's cache. Needs huggingface_hub.

    names in the repository ─► choice ─► each file: in the cache, or downloaded into it

The cache is the one that llama.cpp, transformers and ``hf`` share, so a model that any
of them fetched is found. huggingface_hub begins a file anew when the process was
stopped; here the part that arrived is kept beside the blob and continued.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from huggingface_hub import HfApi, constants, get_hf_file_metadata, hf_hub_download
from huggingface_hub.file_download import (
    HfFileMetadata,
    hf_hub_url,
    http_get,
    repo_folder_name,
)
from huggingface_hub.utils import (  # type: ignore[attr-defined]  # lazy exports
    WeakFileLock,
    build_hf_headers,
    tqdm,
)

from api.hub.choice import HubError, HubModel, choose_files, tags_among
from api.hub.failures import CAUGHT, explained, is_unreachable
from llamactypes.errors import ModelLoadCancelled

__all__ = ("Hub", "MayGoOn")

logger = logging.getLogger("llamactypes.server")

MayGoOn = Callable[[], bool]
"""Asked about every 10 MB; False stops a download with `ModelLoadCancelled`."""

_SHA256_LENGTH = 64
_READ_BYTES = 1 << 20


class Hub:
    """One hub and one cache. Blocking: for the thread that loads the model."""

    def __init__(self, endpoint: str | None = None, cache: Path | None = None) -> None:
        """Use HF_ENDPOINT and HF_HOME unless told otherwise.

        llama.cpp's own variables, MODEL_ENDPOINT and LLAMA_CACHE, win over them.
        """
        given = endpoint or os.environ.get("MODEL_ENDPOINT") or constants.ENDPOINT
        self._endpoint = given.rstrip("/")
        place = cache or os.environ.get("LLAMA_CACHE") or constants.HF_HUB_CACHE
        self._cache = Path(place)

    def fetch(self, model: HubModel, may_go_on: MayGoOn = lambda: True) -> str:
        """Return the local path of the model's file, of a split one the first.

        Raises:
            HubError: It cannot be had; the message says what to do.
            ModelLoadCancelled: `may_go_on` returned False.
        """
        try:
            names, is_online = self._names(model)
            chosen = choose_files(names, model)
            fetch = self._online if is_online else self._cached
            paths = [fetch(model, name, may_go_on) for name in chosen]
        except CAUGHT as error:
            raise explained(error, model, str(self._cache)) from error
        return paths[0]

    def cached_models(self) -> list[str]:
        """Return what the cache holds as ``user/model:TAG``, in alphabetical order."""
        found = []
        for folder in sorted(self._cache.glob("models--*--*")):
            user, _, name = folder.name.removeprefix("models--").partition("--")
            model = HubModel(f"{user}/{name}")
            tags = tags_among(self._names_in_cache(model))
            found += [str(replace(model, tag=tag)) for tag in tags]
        return found

    def _names(self, model: HubModel) -> tuple[set[str], bool]:
        """Return the files of the repository, and whether the hub was asked."""
        if not model.is_offline and not constants.is_offline_mode():
            try:
                return self._names_in_hub(model), True
            except CAUGHT as error:
                names = self._names_in_cache(model)
                if not names or not is_unreachable(error):
                    raise
                logger.warning("the hub does not answer: using the cache (%s)", error)
                return names, False
        names = self._names_in_cache(model)
        if not names:
            raise HubError(
                f"{model.repo} is not in the cache ({self._cache}), and --offline or "
                "HF_HUB_OFFLINE forbids to fetch it; leave that out once"
            )
        return names, False

    def _names_in_hub(self, model: HubModel) -> set[str]:
        """Ask once: huggingface_hub's other listings try for 20 s and more."""
        api = HfApi(self._endpoint, token=model.token)
        info = api.model_info(model.repo, timeout=constants.HF_HUB_ETAG_TIMEOUT)
        return {sibling.rfilename for sibling in info.siblings or ()}

    def _snapshot(self, model: HubModel) -> Path | None:
        """Return the folder of the newest revision that the cache knows."""
        folder = self._folder(model)
        try:
            commit = (folder / "refs" / constants.DEFAULT_REVISION).read_text("utf-8")
        except OSError:
            return None
        return folder / "snapshots" / commit.strip()

    def _names_in_cache(self, model: HubModel) -> set[str]:
        """Return the files that the cache holds of that revision."""
        snapshot = self._snapshot(model)
        if snapshot is None:
            return set()
        return {
            path.relative_to(snapshot).as_posix()
            for path in snapshot.rglob("*")
            if path.is_file()
        }

    def _folder(self, model: HubModel) -> Path:
        name = repo_folder_name(repo_id=model.repo, repo_type="model")
        return self._cache / name

    def _cached(self, model: HubModel, name: str, may_go_on: MayGoOn) -> str:
        """Return the path of one file; huggingface_hub would ask the hub for others."""
        snapshot = self._snapshot(model)
        if snapshot is None:
            raise HubError(f"{self._folder(model)} has just been deleted; start again")
        return str(snapshot / name)

    def _online(self, model: HubModel, name: str, may_go_on: MayGoOn) -> str:
        """Return the path of one file, downloaded when the cache lacks it."""
        url = hf_hub_url(model.repo, name, endpoint=self._endpoint)
        facts = get_hf_file_metadata(url, token=model.token, endpoint=self._endpoint)
        bar = _bar(may_go_on)
        if facts.etag and (facts.size or 0) <= constants.MAX_HTTP_DOWNLOAD_SIZE:
            self._fill_blob(model, name, url, facts, bar)
        # It finds the blob and links it into the snapshot. What plain HTTP does not
        # carry it fetches itself.
        return hf_hub_download(
            model.repo,
            name,
            cache_dir=self._cache,
            endpoint=self._endpoint,
            token=model.token,
            tqdm_class=bar,
        )

    def _fill_blob(
        self,
        model: HubModel,
        name: str,
        url: str,
        facts: HfFileMetadata,
        bar: type[tqdm],
    ) -> None:
        """Download the content of one file to where huggingface_hub looks for it."""
        folder = self._folder(model)
        blob = folder / "blobs" / str(facts.etag)
        if blob.exists():
            return
        lock = self._cache / ".locks" / folder.name / f"{facts.etag}.lock"
        for parent in (blob.parent, lock.parent):
            parent.mkdir(parents=True, exist_ok=True)
        with WeakFileLock(lock):
            if blob.exists():  # by another process, while this one waited
                return
            part = blob.with_name(f"{blob.name}.llamactypes-part")
            _require_space(part, facts.size)
            started_at = time.monotonic()
            _download(url, part, model.token, facts.size, bar)
            _verify(part, blob.name)
            part.rename(blob)
            logger.info("downloaded %s in %.1f s", name, time.monotonic() - started_at)


def _download(
    url: str, part: Path, token: str | None, size: int | None, bar: type[tqdm]
) -> None:
    """Append to `part` what it still lacks."""
    with part.open("ab") as file:
        done = file.tell()
        if size is not None and done > size:
            file.truncate(0)
            done = 0
        how = f"continuing at {done} of" if done else "downloading"
        logger.info("%s %s bytes: %s", how, size or "unknown", url)
        headers = build_hf_headers(token=token, library_name="llamactypes")
        http_get(
            url,
            file,
            resume_size=done,
            headers=headers,
            expected_size=size,
            displayed_filename=url.rpartition("/")[2],
            tqdm_class=bar,
        )


def _verify(part: Path, etag: str) -> None:
    """Compare with the checksum, which is the name of a large file's blob.

    Raises:
        HubError: They differ; the part is deleted, so that the next try starts anew.
    """
    if len(etag) != _SHA256_LENGTH:
        return
    digest = hashlib.sha256()
    with part.open("rb") as file:
        while chunk := file.read(_READ_BYTES):
            digest.update(chunk)
    if digest.hexdigest() != etag:
        part.unlink()
        raise HubError(
            "the downloaded file is damaged: its checksum differs; try again"
        )


def _require_space(part: Path, size: int | None) -> None:
    """Refuse a download that the disk cannot take.

    Raises:
        HubError: The message says how much is missing.
    """
    if size is None:
        return
    lacking = size - (part.stat().st_size if part.exists() else 0)
    free = shutil.disk_usage(part.parent).free
    if lacking > free:
        raise HubError(
            f"{part.parent} has {free / 1e9:.2f} GB free, and {lacking / 1e9:.2f} GB "
            "are to come; free some, or set HF_HOME to a folder on a larger disk"
        )


def _bar(may_go_on: MayGoOn) -> type[tqdm]:
    """Return a progress bar that can stop the download it shows."""

    class Bar(tqdm):
        def update(self, n: float | None = 1) -> bool | None:
            if not may_go_on():
                raise ModelLoadCancelled("the download was stopped")
            is_drawn: bool | None = super().update(n)
            return is_drawn

    return Bar
