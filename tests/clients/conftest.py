"""Servers that all clients share: a small one, and one whose answers make sense."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.server_process import ServerProcess

REASON = "run by `make test-clients`, which installs these clients"


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Skip the clients that `make test` does not install, unless -m names them."""
    if "clients" in config.option.markexpr:
        return
    for item in items:
        if item.get_closest_marker("clients"):
            item.add_marker(pytest.mark.skip(reason=REASON))


@pytest.fixture(scope="session")
def stories_server(
    tmp_path_factory: pytest.TempPathFactory, stories_model_path: Path
) -> Iterator[ServerProcess]:
    """A ready server on stories260K with four slots of 512 tokens each."""
    flags = ("-m", str(stories_model_path), "--port", "0", "-np", "4", "-c", "2048")
    with ServerProcess(tmp_path_factory.mktemp("stories"), flags) as process:
        process.wait_ready()
        yield process


@pytest.fixture(scope="session")
def demo_server(
    tmp_path_factory: pytest.TempPathFactory, smollm2_path: Path
) -> Iterator[ServerProcess]:
    """A ready server on SmolLM2-135M-Instruct, which answers what it is asked."""
    flags = ("--demo", "--port", "0", "-np", "2", "-c", "4096", "--alias", "smollm2")
    with ServerProcess(tmp_path_factory.mktemp("demo"), flags) as process:
        process.wait_ready()
        yield process
