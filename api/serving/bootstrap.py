"""The engine for servers that call ``api:create_app()``, configured by the environment.

``waitress-serve --call api:create_app`` owns the process, the sockets and the loop;
what we add is an engine that starts to load, and the same orderly end as
``llamactypes serve``.
"""

from __future__ import annotations

import logging
from pathlib import Path

from api.observing.prometheus import INSTALL_HINT, has_prometheus_client
from api.serving.embedded import EmbeddedEngine
from api.serving.interpreter import share_fairly
from api.serving.log_setup import set_up_logging
from api.serving.model_source import HUB_HINT, has_hub_package
from api.settings import Settings, SettingsError
from api.streams.stores.choice import check_store

__all__ = (
    "check_extras",
    "check_model",
    "require_hub_package",
    "settings_of_process",
    "start_engine",
)

logger = logging.getLogger("llamactypes.server")


def settings_of_process() -> Settings:
    """Return the settings of the environment, for a process that is ours to end.

    Logging is set up unless somebody did. A wrong environment ends the process with a
    message instead of a traceback, since the server that called us would print one.

    Raises:
        SystemExit: A variable cannot be used, or no model is named.
    """
    try:
        settings = Settings.from_environment()
        if not logging.getLogger().handlers:
            set_up_logging(settings)
        check_model(settings)
        check_extras(settings)
    except SettingsError as error:
        raise SystemExit(f"error: {error}") from None
    for notice in settings.notices:
        logger.warning("note: %s", notice)
    return settings


def start_engine(settings: Settings) -> EmbeddedEngine:
    """Return an engine that begins to load, and stops when the process ends.

    On the main thread with signals at their defaults, SIGTERM and SIGINT stop the
    engine within `Settings.shutdown_timeout_s` and then end the server's loop by
    `SystemExit`.

    Raises:
        SettingsError: No model is named, or its file is not there.
    """
    check_model(settings)
    share_fairly()
    return EmbeddedEngine(settings)


def check_model(settings: Settings) -> None:
    """Refuse settings that name no model file.

    Raises:
        SettingsError: The message says how to name one.
    """
    if settings.hub_model is not None:
        return
    path = settings.engine.model_path
    if not path:
        raise SettingsError(
            "no model: name a GGUF file with --model FILE (LLAMA_ARG_MODEL), a "
            "repository with --hf-repo (LLAMA_ARG_HF_REPO), or use --demo "
            "(LLAMA_ARG_DEMO=1)"
        )
    if Path(path).is_dir():
        raise SettingsError(f"{path} is a folder; name the .gguf file inside it")
    if not Path(path).is_file():
        raise SettingsError(f"the model file {path} does not exist")


def check_extras(settings: Settings) -> None:
    """Refuse settings that need a package which is not installed.

    Raises:
        SettingsError: The message says what to install.
    """
    if settings.metrics and not has_prometheus_client():
        raise SettingsError(
            f"--metrics needs the package prometheus-client: {INSTALL_HINT}"
        )
    check_store(settings)
    if settings.hub_model is not None:
        require_hub_package("--hf-repo")


def require_hub_package(flag: str) -> None:
    """Refuse a flag that needs huggingface_hub when that is not installed.

    Raises:
        SettingsError: The message says what to install.
    """
    if not has_hub_package():
        raise SettingsError(f"{flag} needs the package huggingface_hub: {HUB_HINT}")
