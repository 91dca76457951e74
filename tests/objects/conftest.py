from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from llamactypes import Batch, Context, ContextParams, Model

MakeContext = Callable[..., Context]


@pytest.fixture(scope="module")
def model(tiny_model_path: Path) -> Iterator[Model]:
    with Model(tiny_model_path) as model:
        yield model


@pytest.fixture
def make_context(model: Model) -> Iterator[MakeContext]:
    made: list[Context] = []

    def make(**params: Any) -> Context:
        context = Context(
            model, ContextParams(**{"n_ctx": 256, "n_threads": 1} | params)
        )
        made.append(context)
        return context

    yield make
    for context in made:
        context.close()


@pytest.fixture
def context(make_context: MakeContext) -> Context:
    return make_context()


@pytest.fixture
def batch() -> Batch:
    return Batch(512)
