"""What the server says once it is ready."""

from __future__ import annotations

from collections.abc import Sequence

from api.settings import Settings
from llamactypes.engine import ModelInfo

__all__ = ("ready_lines", "size_text")

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_DETERMINISTIC = "            deterministic: one request in each decode"
_SOURCES = {
    "asked": "as asked",
    "measured": "measured now",
    "cached": "measured before",
    "default": "all cores but one",
    "adapted": "adapted to the load",
}
_DOCS = "docs/ in the source tree; every flag: llamactypes serve --help"


def ready_lines(info: ModelInfo, settings: Settings, urls: Sequence[str]) -> list[str]:
    """Return the lines to print when the model is loaded."""
    first = urls[0]
    keys = f"{len(settings.api_keys)} API key(s)" if settings.api_keys else "no API key"
    return [
        f"  model     {info.path}",
        f"            {info.description}, {size_text(info.size_bytes)}, "
        f"{count_text(info.n_params)} parameters",
        f"  slots     {info.n_slots}, context {info.n_ctx_slot} tokens each "
        f"({info.n_ctx} in all), up to {settings.engine.queue_size} requests waiting",
        *([_DETERMINISTIC] if settings.engine.deterministic else []),
        f"  compute   {threads_text(info)}; devices: "
        f"{', '.join(info.devices) or 'none'}",
        f"  library   {info.library}",
        f"  access    {keys}, cross-origin requests from: {settings.cors_origins}",
        f"  try       curl {_curl(first, settings.api_prefix)}/v1/chat/completions -d "
        '\'{"messages":[{"role":"user","content":"Hello"}]}\'',
        f"  docs      {_DOCS}",
        f"ready on {' and '.join(urls)} (Ctrl-C ends it)",
    ]


def _curl(url: str, prefix: str) -> str:
    """Return what curl needs to reach a server."""
    path = url.removeprefix("unix:")
    return url if path == url else f"--unix-socket {path} http://localhost{prefix}"


def threads_text(info: ModelInfo) -> str:
    """Return the number of inference threads and where it comes from."""
    n, n_batch = info.n_threads, info.n_threads_batch
    batch = "" if n == n_batch else f", {n_batch} for prompts"
    return f"{n} thread(s){batch} ({_SOURCES[info.threads_source]})"


def size_text(n_bytes: float) -> str:
    """Return a size a person can read."""
    unit = 0
    while n_bytes >= 1024 and unit < len(_UNITS) - 1:
        n_bytes /= 1024
        unit += 1
    return (
        f"{n_bytes:.0f} {_UNITS[unit]}"
        if unit == 0
        else f"{n_bytes:.1f} {_UNITS[unit]}"
    )


def count_text(n: float) -> str:
    """Return a count a person can read: 134.5 M."""
    for limit, unit in ((1e9, " B"), (1e6, " M"), (1e3, " K")):
        if n >= limit:
            return f"{n / limit:.1f}{unit}"
    return f"{n:.0f}"
