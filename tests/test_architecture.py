"""The import table of docs/architecture.md, section 3."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.imports import Room, broken_imports

ROOT = Path(__file__).resolve().parents[1]

PACKAGES = ("llamactypes", "api", "web")
ERRORS = "llamactypes.errors"
PARAMS = "llamactypes.sampling_params"
BINDINGS = "llamactypes.bindings"
CONSTRAINTS = "llamactypes.constraints"
PURE_ENGINE = tuple(
    f"llamactypes.engine.{name}"
    for name in (
        "compute.logprobs",
        "config",
        "embedding.queue",
        "embedding.request",
        "measures",
        "measures.*",
        "planning",
        "planning.*",
        "prefixes",
        "prefixes.*",
        "request",
        "text",
        "text.*",
        "threads.watch",
    )
)
RUNNER = "llamactypes.engine.compute.runner"
NO_THREADS = ("threading", "concurrent", "multiprocessing", "asyncio")
NO_HTTP = ("http", "socket", "socketserver", "wsgiref", "asyncio")

ROOMS = (
    # The composition root may import everything; `python -m llamactypes` leads there.
    Room(
        ("api", "api.cli", "api.cli.*", "api.serving.*", "llamactypes.__main__"),
        may=("api", "llamactypes", "falcon", "waitress"),
    ),
    Room((ERRORS,), may=(), must_not=("ctypes", "threading", "os", "time")),
    Room((PARAMS,), may=(ERRORS,), must_not=("ctypes", "threading", "time")),
    # Layer 0. The loader is locked, so threading is allowed here.
    Room((BINDINGS, f"{BINDINGS}.*"), may=(ERRORS, BINDINGS), must_not=NO_HTTP),
    # Layer 1, pure.
    Room(
        ("llamactypes.chat", "llamactypes.chat.*"),
        may=("llamactypes.chat", CONSTRAINTS, ERRORS, "jinja2"),
        must_not=("ctypes", *NO_THREADS, *NO_HTTP),
    ),
    Room(
        (f"{CONSTRAINTS}.compiler",),
        may=(CONSTRAINTS, ERRORS, "llguidance", "numpy"),
        must_not=("ctypes", *NO_HTTP),
    ),
    Room(
        (CONSTRAINTS, f"{CONSTRAINTS}.*"),
        may=(CONSTRAINTS, ERRORS),
        must_not=("ctypes", "os", "time", *NO_THREADS, *NO_HTTP),
    ),
    # Layer 2, pure: plain data in, a plan out. No clock either.
    Room(
        PURE_ENGINE,
        may=(
            *PURE_ENGINE,
            ERRORS,
            PARAMS,
            "numpy",
            f"{CONSTRAINTS}.constraint",
        ),
        must_not=("ctypes", "time", "logging", "os", *NO_THREADS, *NO_HTTP),
    ),
    # Layer 2 with threads: the objects below it, never ctypes or the bindings.
    Room(
        ("llamactypes.engine", "llamactypes.engine.*"),
        may=("llamactypes", "numpy"),
        must_not=("ctypes", "json", BINDINGS, "llamactypes.chat", *NO_HTTP),
    ),
    # Layer 1: everything else in llamactypes is an object over a native handle.
    Room(
        ("llamactypes", "llamactypes.*"),
        may=("llamactypes", "numpy"),
        must_not=(
            "threading",
            "llamactypes.engine",
            "llamactypes.chat",
            *NO_HTTP,
        ),
    ),
    # Layer 3, pure.
    Room(
        ("api.protocol", "api.protocol.*", "api.sse", "api.json_loader"),
        may=(
            "api.protocol",
            "api.sse",
            "api.json_loader",
            "llamactypes.chat",
            CONSTRAINTS,
            "llamactypes.engine.request",
            "llamactypes.engine.embedding.request",
            ERRORS,
            PARAMS,
        ),
        must_not=("ctypes", "logging", *NO_THREADS, *NO_HTTP),
    ),
    # The hub: names of files are chosen purely, the rest is huggingface_hub's.
    Room(
        ("api.hub", "api.hub.choice"),
        may=("api.hub", "llamactypes.split_names", ERRORS),
        must_not=("os", *NO_THREADS, *NO_HTTP),
    ),
    Room(
        ("api.hub.*",),
        may=("api.hub", "huggingface_hub", "httpx2", ERRORS),
        must_not=("ctypes", "threading"),
    ),
    # What describes the API, and what is decided from headers alone: pure.
    Room(
        ("api.openapi", "api.openapi.*", "api.http.cors", "api.http.request_id"),
        may=("api.openapi", "api.protocol", "api.settings"),
        must_not=("ctypes", "os", "logging", "time", *NO_THREADS, *NO_HTTP),
    ),
    Room(
        ("api.observing.telemetry",),
        may=("api.observing.exchange", "opentelemetry"),
        must_not=("ctypes", *NO_HTTP),
    ),
    Room(
        ("api.resources", "api.resources.*"),
        may=(
            "api",
            "falcon",
            "llamactypes.engine!",
            "llamactypes.chat",
            CONSTRAINTS,
            ERRORS,
            PARAMS,
        ),
        must_not=("ctypes", "api.serving", "api.cli"),
    ),
    # What a conversation asks of the engine: no HTTP.
    Room(
        ("api.chat", "api.chat.*"),
        may=(
            "api.chat",
            "api.context",
            "api.json_loader",
            "api.output_constraint",
            "api.protocol",
            "llamactypes.chat",
            CONSTRAINTS,
            "llamactypes.engine!",
            "llamactypes.engine.request",
            ERRORS,
        ),
        must_not=("ctypes", "logging", *NO_HTTP),
    ),
    Room(
        ("api.streams.stores.redis_client",),
        may=("redis",),
        must_not=("ctypes", *NO_THREADS, *NO_HTTP),
    ),
    Room(
        ("api.*",),
        may=(
            "api",
            "falcon",
            "waitress",
            "prometheus_client",
            "llamactypes.engine!",
            "llamactypes.engine.config",
            "llamactypes.engine.request",
            "llamactypes.chat",
            CONSTRAINTS,
            "llamactypes.diagnostics",
            ERRORS,
            PARAMS,
        ),
        must_not=("ctypes",),
    ),
)


def test_every_import_stays_inside_its_layer():
    assert broken_imports(ROOT, PACKAGES[:2], ROOMS) == []


def test_the_table_names_nothing_that_is_gone():
    for name in PURE_ENGINE:
        path = ROOT / name.removesuffix(".*").replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), name


# -- the checker itself ------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "source", "name"),
    [
        ("llamactypes/errors.py", "import os", "os"),
        ("llamactypes/bindings/types.py", "import numpy", "numpy"),
        (
            "llamactypes/bindings/types.py",
            "from ..engine.compute import runner",
            RUNNER,
        ),
        ("llamactypes/model.py", "import threading", "threading"),
        ("llamactypes/model.py", "import llamactypes.engine", "llamactypes.engine"),
        ("llamactypes/chat/templates/template.py", "import ctypes", "ctypes"),
        ("llamactypes/engine/planning/scheduler.py", "import time", "time"),
        (
            "llamactypes/engine/engine.py",
            "from llamactypes import bindings as C",
            "llamactypes.bindings",
        ),
        ("api/protocol/chat/reply.py", "def f():\n    import falcon", "falcon"),
        ("api/resources/chat.py", "from ctypes import c_int", "ctypes"),
        (
            "api/resources/chat.py",
            "from llamactypes.engine.compute.runner import Runner",
            RUNNER,
        ),
        ("api/settings/settings.py", "import requests", "requests"),
    ],
)
def test_a_forbidden_import_is_reported(tmp_path, module, source, name):
    write_tree(tmp_path, {module: source})
    dotted = module.removesuffix(".py").replace("/", ".")
    assert broken_imports(tmp_path, PACKAGES, ROOMS) == [f"{dotted} -> {name}"]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("llamactypes/bindings/types.py", "import ctypes\nfrom . import structs"),
        ("llamactypes/model.py", "from llamactypes import bindings as C\nimport numpy"),
        ("llamactypes/chat/templates/template.py", "import jinja2"),
        (
            "api/resources/chat.py",
            "from llamactypes.engine import Engine\nimport falcon",
        ),
        ("api/serving/serve.py", "from waitress import server\nimport ctypes"),
    ],
)
def test_an_allowed_import_is_not_reported(tmp_path, module, source):
    write_tree(tmp_path, {module: source})
    assert broken_imports(tmp_path, PACKAGES, ROOMS) == []


def test_a_module_outside_the_table_is_reported(tmp_path):
    write_tree(tmp_path, {"web/page.py": ""})
    assert broken_imports(tmp_path, PACKAGES, ROOMS) == [
        "web.page has no room in the table"
    ]


def write_tree(root: Path, files: dict[str, str]) -> None:
    known = ("llamactypes/bindings/__init__.py", "llamactypes/bindings/structs.py")
    tree = dict.fromkeys((*known, "llamactypes/engine/compute/runner.py"), "") | files
    for name, source in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
