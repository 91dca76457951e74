"""Who imports whom: a table of rooms, and the modules that break it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

__all__ = ("Room", "broken_imports", "imported_names", "module_names")

TYPING_ONLY = {"_typeshed"}


@dataclass(frozen=True, slots=True)
class Room:
    """A set of modules and what they may import besides the standard library."""

    modules: tuple[str, ...]
    """Patterns of module names; the first room that matches a module is its room."""
    may: tuple[str, ...]
    """Own modules and packages, each with everything below it. A name that ends in
    ``!`` is that module alone; third-party packages are listed by name."""
    must_not: tuple[str, ...] = ()
    """Standard modules it may not import, and exceptions from `may`."""

    def allows(self, name: str) -> bool:
        """Return whether a module of this room may import `name`."""
        if any(_covers(rule, name) for rule in self.must_not):
            return False
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top in TYPING_ONLY:
            return True
        return any(_covers(rule, name) for rule in self.may)


def _covers(rule: str, name: str) -> bool:
    if rule.endswith("!"):
        return name == rule[:-1]
    return name == rule or name.startswith(f"{rule}.")


def broken_imports(
    root: Path, packages: Sequence[str], rooms: Sequence[Room]
) -> list[str]:
    """Return ``module -> import`` for every import that its room does not allow."""
    modules = module_names(root, packages)
    broken = []
    for module, path in sorted(modules.items()):
        room = next((each for each in rooms if _is_in(module, each)), None)
        if room is None:
            broken.append(f"{module} has no room in the table")
            continue
        names = imported_names(path, module, set(modules))
        broken += [f"{module} -> {n}" for n in sorted(names) if not room.allows(n)]
    return broken


def _is_in(module: str, room: Room) -> bool:
    return any(fnmatch(module, pattern) for pattern in room.modules)


def module_names(root: Path, packages: Sequence[str]) -> dict[str, Path]:
    """Return every module of `packages` (folders of `root`), with its file."""
    found = {}
    for path in (file for name in packages for file in (root / name).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        found[".".join(parts)] = path
    return found


def imported_names(path: Path, module: str, known: set[str]) -> set[str]:
    """Return the modules that a file imports, wherever in it the import stands."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update(_from_names(node, package, known))
    return names


def _from_names(node: ast.ImportFrom, package: str, known: set[str]) -> Iterator[str]:
    base = node.module or ""
    if node.level:
        parents = package.split(".")
        parents = parents[: len(parents) - node.level + 1]
        base = ".".join([*parents, *([base] if base else [])])
    for alias in node.names:
        submodule = f"{base}.{alias.name}"
        yield submodule if submodule in known else base
