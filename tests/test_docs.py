"""The documentation says what is there: links, commands, flags, variables, routes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from api.cli.main import main
from api.settings.flag_table import FLAGS
from api.settings.unsupported_flags import UNSUPPORTED_VARIABLES
from tests.support.markdown import anchors, code_blocks, links, prose
from tests.support.server_process import ServerProcess

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
ADDRESS = "http://127.0.0.1:8080"


def shell_lines(text: str) -> list[str]:
    return [line for block in code_blocks(text, "sh") for line in block.splitlines()]


def commands(text: str, program: str) -> set[str]:
    """The words that follow `program` in shell blocks and in inline code."""
    places = [*shell_lines(text), *re.findall(r"`([^`\n]+)`", prose(text))]
    found = (re.match(rf"(?:[A-Z_]+=\S* )*{program} ([a-z-]+)", p) for p in places)
    return {match[1] for match in found if match}


# -- every page --------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_lead_somewhere(page):
    for link in links(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), f"{page.name}: {link}"
        if anchor:
            assert anchor in anchors(target), f"{page.name}: {link}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_variables_are_read_by_the_server(page):
    known = {flag.env for flag in FLAGS} | {"LLAMA_ARG_"} | set(UNSUPPORTED_VARIABLES)
    named = set(re.findall(r"\bLLAMA_[A-Z_]+", page.read_text(encoding="utf-8")))
    named = {name for name in named if re.match(r"LLAMA_(ARG|API)_", name)}
    assert named <= known, named - known


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    named = commands(page.read_text(encoding="utf-8"), "make")
    assert named <= targets, named - targets


# -- README ------------------------------------------------------------------------


def test_readme_names_the_two_commands():
    assert {"run", "test"} <= commands(README, "make")


@pytest.mark.parametrize("name", sorted(commands(README, "llamactypes")))
def test_readme_commands_exist(name, capsys):
    assert main([name, "--help"]) == 0
    assert f"usage: llamactypes {name}" in capsys.readouterr().out


def test_readme_flags_exist():
    known = {name for flag in FLAGS for name in (*flag.names, *flag.negative)}
    known |= {"--help", "--call", "-d", *build_flags()}  # and curl's, waitress's
    named = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", README))
    assert named <= known, named - known


def build_flags() -> set[str]:
    script = ROOT / "build_scripts" / "build_libllama.py"
    command = [sys.executable, str(script), "--help"]
    text = subprocess.run(
        command, capture_output=True, text=True, timeout=30, check=True
    ).stdout
    return set(re.findall(r"--[a-z-]+", text))


def test_readme_lists_exactly_the_routes_of_the_application():
    source = (ROOT / "api" / "app.py").read_text(encoding="utf-8")
    routes = set(re.findall(r'"(/[a-z0-9/-]+)"', source))
    section = README.partition("## Routes")[2].partition("\n## ")[0]
    assert set(re.findall(r"`(?:GET |POST )?(/[a-z0-9/-]+)`", section)) == routes


@pytest.fixture(scope="module")
def demo_server(tmp_path_factory, smollm2_path):
    folder = tmp_path_factory.mktemp("readme")
    with ServerProcess(folder, ("-m", str(smollm2_path), "--port", "0")) as server:
        server.wait_ready()
        yield server


@pytest.mark.parametrize(
    ("mark", "n_shown"), [("import requests", 0), ("for chunk in", 0), ("pydantic", 1)]
)
def test_readme_examples_print_what_the_readme_shows(demo_server, mark, n_shown):
    is_built = list((ROOT / "llamactypes" / "lib").glob("*.so*"))
    if os.environ.get("LLAMACTYPES_LIB") or is_built:
        pytest.skip("another library than the packaged one may choose other words")
    [block] = [b for b in code_blocks(README, "python") if mark in b]
    shown = code_blocks(README, "text")[n_shown]
    assert run_python(block.replace(ADDRESS, demo_server.url)).strip() == shown.strip()


def test_readme_example_without_a_server_writes_text(smollm2_path):
    [block] = [b for b in code_blocks(README, "python") if "EngineConfig" in b]
    assert run_python(block.replace("model.gguf", str(smollm2_path))).strip()


def run_python(source: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", source],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


# -- Makefile, CI and the architecture page ----------------------------------------


def test_make_help_lists_every_target():
    phony = re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)
    assert phony
    listed = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))
    assert listed == set(phony[1].split())


def test_ci_runs_only_make_targets_that_exist():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    steps = set(re.findall(r"^step \w+ make ([a-z-]+)", script, re.MULTILINE))
    assert {"test", "lint", "types", "abi"} <= steps
    assert steps <= set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))


def test_the_architecture_page_names_only_files_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    files = {path.name for path in ROOT.glob("*/**/*") if ".venv" not in path.parts}
    built = {"libllama.so", "libmtmd.so", "build_info.json"}
    named = set(re.findall(r"\b([a-z_]+\.(?:py|sh|md|json|so))\b", page))
    assert named - built <= files, named - built - files


def test_the_architecture_page_names_every_room():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {
        path.parent.name
        for package in ("llamactypes", "api")
        for path in (ROOT / package).rglob("*.py")
    }
    missing = {room for room in rooms if f"{room}/" not in page}
    assert not missing


def test_pages_that_the_code_names_exist():
    folders = ("llamactypes", "api", "build_scripts", "benchmarks", "tests")
    sources = [path for name in folders for path in (ROOT / name).rglob("*.py")]
    named = {
        page
        for path in sources
        for page in re.findall(r"\bdocs/[a-z_]+\.md", path.read_text(encoding="utf-8"))
    }
    assert sorted(page for page in named if not (ROOT / page).is_file()) == []
