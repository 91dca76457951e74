"""Fetching from a hub: a small one on the loopback, and a cache in a folder."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from api.hub import HubError, HubModel
from llamactypes.errors import ModelLoadCancelled
from tests.support.fake_hub import FakeHub

pytest.importorskip("huggingface_hub", reason="the extra llamactypes[hub]")

from huggingface_hub import constants

from api.hub.download import Hub

DATA = bytes(range(256)) * 4000
PARTS = tuple(f"s-Q6_K-0000{n}-of-00002.gguf" for n in (1, 2))
FILES = {"m-Q4_K_M.gguf": DATA, "m-Q8_0.gguf": DATA[1:], **dict.fromkeys(PARTS, DATA)}


@pytest.fixture
def fake() -> Iterator[FakeHub]:
    with FakeHub({"u/m": dict(FILES), "u/empty": {"README.md": b"x"}}) as fake:
        yield fake


@pytest.fixture
def hub(fake: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    return Hub(fake.url, tmp_path / "cache")


def refusal(hub: Hub, text: str, **more: Any) -> str:
    with pytest.raises(HubError) as caught:
        hub.fetch(HubModel(text, **more))
    return str(caught.value)


def n_downloads(fake: FakeHub) -> int:
    return len(fake.ranges)


def test_model_is_downloaded_once_and_then_found_in_the_cache(hub: Hub, fake: FakeHub):
    path = Path(hub.fetch(HubModel("u/m")))
    assert path.name == "m-Q4_K_M.gguf"
    assert path.read_bytes() == DATA
    assert hub.fetch(HubModel("u/m")) == str(path)
    assert n_downloads(fake) == 1


def test_model_that_other_programs_fetched_is_found(
    hub: Hub, fake: FakeHub, tmp_path: Path
):
    from huggingface_hub import hf_hub_download

    theirs = hf_hub_download(
        "u/m", "m-Q8_0.gguf", endpoint=fake.url, cache_dir=tmp_path / "cache"
    )
    assert hub.fetch(HubModel("u/m", tag="Q8_0")) == theirs
    assert n_downloads(fake) == 1


def test_all_parts_of_a_split_model_are_fetched(hub: Hub):
    path = Path(hub.fetch(HubModel("u/m", file=PARTS[1])))
    assert path.name == PARTS[0]
    assert (path.parent / PARTS[1]).read_bytes() == DATA


def test_cut_connection_is_continued_where_it_was(
    hub: Hub, fake: FakeHub, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda s: None)
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 100_000)
    fake.cut_after = 300_000
    path = hub.fetch(HubModel("u/m"))
    assert Path(path).read_bytes() == DATA
    assert fake.ranges == ["", "bytes=300000-"]


class Stopped(NamedTuple):
    part: Path


@pytest.fixture
def stopped(hub: Hub, fake: FakeHub, tmp_path: Path) -> Stopped:
    """A download whose process was stopped after 300,000 bytes."""
    hub.fetch(HubModel("u/m", tag="Q8_0"))
    folder = tmp_path / "cache/models--u--m"
    (blob,) = (folder / "blobs").iterdir()
    shutil.rmtree(folder / "snapshots")
    part = blob.with_name(f"{blob.name}.llamactypes-part")
    part.write_bytes(blob.read_bytes()[:300_000])
    blob.unlink()
    fake.ranges.clear()
    return Stopped(part)


def test_stopped_download_is_continued_by_the_next_process(
    hub: Hub, fake: FakeHub, stopped: Stopped
):
    path = hub.fetch(HubModel("u/m", tag="Q8_0"))
    assert Path(path).read_bytes() == FILES["m-Q8_0.gguf"]
    assert fake.ranges == ["bytes=300000-"]
    assert not stopped.part.exists()


def test_damaged_part_is_thrown_away_by_its_checksum(
    hub: Hub, fake: FakeHub, stopped: Stopped
):
    stopped.part.write_bytes(b"x" * 300_000)
    assert "damaged: its checksum differs" in refusal(hub, "u/m", tag="Q8_0")
    path = hub.fetch(HubModel("u/m", tag="Q8_0"))
    assert Path(path).read_bytes() == FILES["m-Q8_0.gguf"]


def test_download_stops_when_it_may_not_go_on(hub: Hub, fake: FakeHub):
    with pytest.raises(ModelLoadCancelled):
        hub.fetch(HubModel("u/m"), lambda: False)


# -- offline and unreachable -----------------------------------------------------------


def test_offline_takes_what_the_cache_holds_and_asks_nobody(hub: Hub, fake: FakeHub):
    path = hub.fetch(HubModel("u/m"))
    fake.requests.clear()
    assert hub.fetch(HubModel("u/m", is_offline=True)) == path
    assert fake.requests == []


def test_offline_without_a_cache_says_so(hub: Hub, fake: FakeHub):
    assert "u/m is not in the cache" in refusal(hub, "u/m", is_offline=True)
    assert fake.requests == []


def test_offline_with_another_file_in_the_cache_lists_what_is_there(hub: Hub):
    hub.fetch(HubModel("u/m"))
    message = refusal(hub, "u/m", tag="Q8_0", is_offline=True)
    assert "no GGUF model with Q8_0 in its name; there are m-Q4_K_M.gguf" in message


def test_silent_hub_is_replaced_by_the_cache(hub: Hub, fake: FakeHub, tmp_path: Path):
    path = hub.fetch(HubModel("u/m"))
    nobody = Hub("http://127.0.0.1:9", tmp_path / "cache")
    assert nobody.fetch(HubModel("u/m")) == path


def test_silent_hub_without_a_cache_says_what_to_do(tmp_path: Path):
    message = refusal(Hub("http://127.0.0.1:9", tmp_path), "u/m")
    assert "the hub does not answer" in message
    assert "give a local file with --model" in message


# -- refusals --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (401, "", "the hub does not accept the token (401)"),
        (401, "RepoNotFound", "there is no such repository, or it is private"),
        (403, "GatedRepo", "the repository is gated; accept its terms"),
        (403, "", "refuses access (403); give an access token by --hf-token"),
        (429, "", "too many requests (429)"),
        (404, "RepoNotFound", "there is no such repository"),
    ],
)
def test_refusal_says_what_to_do(
    hub: Hub,
    fake: FakeHub,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    code: str,
    message: str,
):
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda s: None)
    fake.refusals["u/m"] = (status, code)
    assert message in refusal(hub, "u/m")


def test_unknown_repository_and_repository_without_models(hub: Hub):
    assert "there is no such repository" in refusal(hub, "u/unknown")
    assert "it holds no GGUF file at all" in refusal(hub, "u/empty")


def test_token_opens_a_private_repository(hub: Hub, fake: FakeHub):
    fake.needed_token = "t0"
    assert "give an access token by --hf-token" in refusal(hub, "u/m")
    path = hub.fetch(HubModel("u/m", token="t0"))
    assert Path(path).read_bytes() == DATA


# -- the disk --------------------------------------------------------------------------


def test_too_small_disk_is_noticed_before_the_download(
    hub: Hub, fake: FakeHub, monkeypatch: pytest.MonkeyPatch
):
    usage = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr("api.hub.download.shutil.disk_usage", lambda path: usage)
    assert "free some, or set HF_HOME" in refusal(hub, "u/m")
    assert n_downloads(fake) == 0


def test_full_disk_says_where_and_what_to_do(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def fail(*given: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("api.hub.download.http_get", fail)
    assert f"no space left in {tmp_path}" in refusal(hub, "u/m")


def test_models_in_the_cache_are_listed_as_they_are_asked_for(hub: Hub, fake: FakeHub):
    assert hub.cached_models() == []
    for tag in ("Q8_0", "Q6_K"):
        hub.fetch(HubModel("u/m", tag=tag))
    fake.requests.clear()
    assert hub.cached_models() == ["u/m:Q8_0", "u/m:Q6_K"]
    assert fake.requests == []


def test_large_file_comes_from_elsewhere_without_the_token(hub: Hub, fake: FakeHub):
    fake.stores, fake.needed_token = True, "t0"
    path = hub.fetch(HubModel("u/m", token="t0"))
    assert Path(path).read_bytes() == DATA
    assert fake.store_tokens == [""]
    assert n_downloads(fake) == 1


def test_download_from_elsewhere_is_continued(
    hub: Hub, fake: FakeHub, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda s: None)
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 100_000)
    fake.stores, fake.cut_after = True, 300_000
    assert Path(hub.fetch(HubModel("u/m"))).read_bytes() == DATA
    assert fake.ranges == ["", "bytes=300000-"]


def test_variables_of_the_peer_name_hub_and_cache(
    fake: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MODEL_ENDPOINT", f"{fake.url}/")
    monkeypatch.setenv("LLAMA_CACHE", str(tmp_path / "theirs"))
    path = Path(Hub().fetch(HubModel("u/m")))
    assert path.is_relative_to(tmp_path / "theirs")
