"""What several commands share: actions instead of work, loading with a bar."""

from __future__ import annotations

from api.cli.main import version_text
from api.serving.banner import size_text
from api.serving.bootstrap import require_hub_package
from api.serving.console import Console, LoadingBar
from api.serving.model_source import cached_models
from api.settings import Settings
from api.settings.bash_completion import bash_completion
from api.settings.help_text import flag_help
from llamactypes.engine import Engine
from llamactypes.errors import EngineLoading

__all__ = ("do_action", "load_with_bar")

_ABOUT = {
    "serve": "usage: llamactypes serve -m FILE | --demo [flags]\n\n"
    "Serve a model over HTTP. Variables are read when the flag is not given.\n",
    "run": "usage: llamactypes run -m FILE | --demo [-p TEXT] [flags]\n\n"
    "Answer one prompt and print the answer as it comes.\n",
}


def do_action(settings: Settings, command: str, console: Console) -> bool:
    """Do what --help, --version and other such flags ask for; False: nothing asked."""
    if settings.help:
        console.say(_ABOUT[command])
        console.say(flag_help(command))
    elif settings.version:
        console.say(version_text())
    elif settings.list_devices:
        _list_devices(settings, console)
    elif settings.cache_list:
        _list_cache(console)
    elif settings.completion_bash:
        console.write(bash_completion())
    else:
        return False
    return True


def _list_devices(settings: Settings, console: Console) -> None:
    from llamactypes import runtime

    runtime.start_backend(settings.engine.library)
    try:
        console.say("Available devices:")
        for device in runtime.devices():
            total, free = device.memory_total_bytes, device.memory_free_bytes
            console.say(
                f"  {device.name}: {device.description} ({device.kind}; "
                f"{size_text(total)}, {size_text(free)} free)"
            )
    finally:
        runtime.free_backend()


def _list_cache(console: Console) -> None:
    """Print the models of the hub's cache as llama-server does."""
    require_hub_package("--cache-list")
    models = cached_models()
    console.say(f"number of models in cache: {len(models)}")
    for number, model in enumerate(models, 1):
        console.say(f"{number:4}. {model}")


def load_with_bar(engine: Engine) -> None:
    """Start the engine and wait until it is ready, showing progress on a terminal.

    Raises:
        LlamaError: Loading failed.
    """
    bar = LoadingBar()
    engine.start()
    while True:
        try:
            engine.wait_ready(0.1)
        except EngineLoading:
            if engine.load_progress:  # a download shows its own bar before
                bar.show(engine.load_progress)
        else:
            return
        finally:
            if engine.failure is not None or engine.is_ready:
                bar.clear()
