from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from pin import BuildError, parse_pin, read_pin, repository_root


def document() -> dict:
    path = repository_root() / "build_scripts" / "upstream.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_pin_names_one_build_everywhere():
    pin = read_pin()
    assert pin.build == pin.sdist.build == pin.git.tag
    assert pin.abi == pin.sdist.abi
    assert pin.sdist.version.endswith(pin.build.removeprefix("b"))


def test_pin_second_layout_differs_from_the_first():
    pin = read_pin()
    assert pin.second_layout
    assert all(each.abi != pin.abi for each in pin.second_layout)


def test_pin_providers_are_the_ones_pyproject_offers():
    project = tomllib.loads((repository_root() / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    offered = {line.split(";")[0].strip() for name in extras for line in extras[name]}
    for name, version in read_pin().providers.items():
        assert f"{name}=={version}" in offered


def test_pin_builds_backends_as_libraries_of_their_own():
    flags = read_pin().cmake_common
    assert "-DGGML_BACKEND_DL=ON" in flags
    assert "-DGGML_CPU_ALL_VARIANTS=ON" in flags
    assert "-DGGML_NATIVE=OFF" in flags


def test_read_pin_names_the_missing_field(tmp_path: Path):
    broken = document()
    del broken["abi"]
    path = tmp_path / "upstream.json"
    path.write_text(json.dumps(broken))
    with pytest.raises(BuildError, match="has no field 'abi'"):
        read_pin(path)


def test_read_pin_names_the_file_when_it_is_not_json(tmp_path: Path):
    path = tmp_path / "upstream.json"
    path.write_text("{")
    with pytest.raises(BuildError, match=re.escape(str(path))):
        read_pin(path)


def test_parse_pin_refuses_a_short_checksum():
    broken = document()
    broken["source"]["sdist"]["sha256"] = "c17ee116"
    with pytest.raises(BuildError, match="sha256"):
        parse_pin(broken)
