"""Where the model comes from: a file, or a hub from which it is fetched first.

A model of a hub is fetched by the engine's thread as a part of loading: the port is
listened on meanwhile, and answers 503 as it does while weights are read.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import replace

from api.hub import HubModel
from api.settings import Settings
from llamactypes.engine.compute.loader import LoadedModel, Loader, Progress, load_model
from llamactypes.engine.config import EngineConfig

__all__ = (
    "HUB_HINT",
    "cached_models",
    "has_hub_package",
    "loader_of",
    "local_path",
)

HUB_HINT = "pip install huggingface_hub, or the extra: llamactypes[hub]"


def has_hub_package() -> bool:
    """Whether models of a hub can be fetched; finds the package without importing."""
    return importlib.util.find_spec("huggingface_hub") is not None


def loader_of(settings: Settings) -> Loader:
    """Return what loads the model that `settings` name."""
    model = settings.hub_model
    if model is None:
        return load_model

    def load(config: EngineConfig, progress: Progress) -> LoadedModel:
        if config.model_path:  # after a sleep: it has been fetched
            return load_model(config, progress)
        path = _fetch(model, lambda: progress(0.0))
        return load_model(replace(config, model_path=path), progress)

    return load


def local_path(settings: Settings) -> str:
    """Return the file of the model that `settings` name, fetched when it must be.

    Raises:
        LlamaError: It cannot be fetched.
    """
    model = settings.hub_model
    return settings.engine.model_path if model is None else _fetch(model, _always)


def cached_models() -> list[str]:
    """Return the models in the hub's cache, as ``--hf-repo`` takes them."""
    from api.hub.download import Hub

    return Hub().cached_models()


def _fetch(model: HubModel, may_go_on: Callable[[], bool]) -> str:
    from api.hub.download import Hub

    return Hub().fetch(model, may_go_on)


def _always() -> bool:
    return True
