"""Read C headers: functions, structures, enums, callback types and constants.

The compiler's preprocessor resolves conditions and macros, and its line markers say
which header each declaration comes from. What is left is plain C declarations, which
are short enough to be taken apart here.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

__all__ = (
    "CHeaders",
    "CField",
    "CFunction",
    "HeaderError",
    "HeaderSet",
    "compiler",
    "read_headers",
)

_VISIBLE = r'__attribute__\s*\(\(\s*visibility\s*\(\s*"default"\s*\)\s*\)\)'
_DEPRECATED = r'__attribute__\s*\(\(\s*deprecated\s*\(""\)\s*\)\)'
_MARKER = re.compile(r'^# \d+ "([^"]*)"')
_DEFINE = re.compile(r"^#define (\w+)(\([^)]*\))?\s*(.*)$")
_API_SWITCHES = ("-DLLAMA_SHARED", "-DGGML_SHARED", "-DGGML_BACKEND_SHARED")


class HeaderError(Exception):
    """The headers cannot be read; the message says what to do."""


@dataclass(frozen=True, slots=True)
class HeaderSet:
    """Which headers are read, and which of them must be declared completely."""

    include_dirs: tuple[Path, ...]
    includes: tuple[str, ...]
    complete: tuple[str, ...]
    """Everything in these is declared, deprecated or omitted with a reason."""
    partial: tuple[str, ...] = ()
    """From these only some is declared."""

    @property
    def flags(self) -> list[str]:
        """Compiler options that make the headers visible, API attributes included."""
        return [*(f"-I{path}" for path in self.include_dirs), *_API_SWITCHES]

    @property
    def include_lines(self) -> str:
        """The C source that includes them all."""
        return "".join(f'#include "{name}"\n' for name in self.includes)


@dataclass(frozen=True, slots=True)
class CField:
    """A field of a structure: `ctype` as written, or its parts when it is unnamed."""

    name: str
    ctype: str
    parts: tuple[CField, ...] = ()


@dataclass(frozen=True, slots=True)
class CFunction:
    """A function declaration; `prototype` has single spaces."""

    name: str
    prototype: str
    header: str
    deprecated: bool


@dataclass(slots=True)
class CHeaders:
    """What a set of headers declares; names are in header order."""

    functions: dict[str, CFunction] = field(default_factory=dict)
    structs: dict[str, tuple[CField, ...]] = field(default_factory=dict)
    enums: dict[str, tuple[str, ...]] = field(default_factory=dict)
    callbacks: dict[str, str] = field(default_factory=dict)
    """Function pointer types: name → ``ret (params)``."""
    typedefs: dict[str, str] = field(default_factory=dict)
    """Other typedefs: name → the type it stands for."""
    macros: dict[str, str] = field(default_factory=dict)
    """Constants: name → body."""
    header_of: dict[str, str] = field(default_factory=dict)
    """Where each structure, enum, callback and macro comes from."""


def compiler() -> str | None:
    """Return the C compiler to use, None when there is none."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def read_headers(headers: HeaderSet) -> CHeaders:
    """Preprocess `headers` and return what they declare.

    Raises:
        HeaderError: There is no compiler, the headers do not preprocess, or one that
            must be complete has a declaration that is not understood here.
    """
    result = CHeaders()
    for name, text in _split_by_header(_preprocess(headers), headers).items():
        _read_macros(text, name, result)
        for statement in _statements(text):
            understood = _read_statement(statement, name, result)
            if not understood and name in headers.complete:
                raise HeaderError(f"{name}: cannot read this declaration: {statement}")
    return result


def _preprocess(headers: HeaderSet) -> str:
    cc = compiler()
    if cc is None:
        raise HeaderError("no C compiler found; install gcc or clang")
    run = subprocess.run(
        [cc, "-std=c11", "-E", "-dD", *headers.flags, "-xc", "-"],
        input=headers.include_lines,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise HeaderError(f"the headers do not preprocess:\n{run.stderr}")
    return run.stdout


def _split_by_header(text: str, headers: HeaderSet) -> dict[str, str]:
    wanted = {*headers.complete, *headers.partial}
    folders = {path.resolve() for path in headers.include_dirs}
    parts: dict[str, list[str]] = {}
    current: str | None = None
    for line in text.splitlines():
        marker = _MARKER.match(line)
        if marker:
            path = Path(marker.group(1))
            ours = path.name in wanted and path.parent.resolve() in folders
            current = path.name if ours else None
        elif current:
            parts.setdefault(current, []).append(line)
    return {name: "\n".join(lines) for name, lines in parts.items()}


def _read_macros(text: str, header: str, result: CHeaders) -> None:
    for line in text.splitlines():
        macro = _DEFINE.match(line)
        if not macro or macro.group(2):
            continue
        name, body = macro.group(1), macro.group(3).strip()
        if body and not body.startswith("__attribute__") and body != "extern":
            result.macros[name] = body
            result.header_of[name] = header


def _statements(text: str) -> Iterator[str]:
    """Yield the declarations of a header, each on one line, without attributes."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    text = re.sub(_VISIBLE, " @API ", "\n".join(lines))
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    text = re.sub(
        r"__attribute__\s*\(\(\s*deprecated\s*\(\"\"\)\s*\)\)", " @OLD ", text
    )
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", " ", text)
    depth, start = 0, 0
    for position, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == ";" and depth == 0:
            yield re.sub(r"\s+", " ", text[start:position]).strip()
            start = position + 1


def _read_statement(statement: str, header: str, result: CHeaders) -> bool:
    """Record one declaration; returns whether it was understood."""
    if "@API" in statement:
        return _read_function(statement, header, result)
    callback = re.match(r"typedef (.*?)\( ?\* ?(\w+) ?\) ?\((.*)\)$", statement)
    if callback:
        result_type, name, parameters = callback.groups()
        result.callbacks[name] = f"{_tidy(result_type)} ({_tidy(parameters)})"
        result.header_of[name] = header
        return True
    if "{" in statement:
        return _read_body(statement, header, result)
    alias = re.match(r"typedef (.*?)(\w+)(?: ?\[\w+\])*$", statement)
    if alias:
        result.typedefs[alias.group(2)] = _tidy(alias.group(1))
    forward = re.match(r"(?:struct|enum) \w+$", statement)
    return bool(alias or forward)


def _read_function(statement: str, header: str, result: CHeaders) -> bool:
    deprecated = "@OLD" in statement
    text = re.sub(r"@API|@OLD|\bextern\b|\b_Noreturn\b", " ", statement)
    prototype = _tidy(text)
    name = re.search(r"(\w+)\(", prototype)
    if name and statement.count("@API") == 1:
        function = CFunction(name.group(1), prototype, header, deprecated)
        result.functions[function.name] = function
        return True
    return False


def _read_body(statement: str, header: str, result: CHeaders) -> bool:
    found = re.match(r"(?:typedef )?(struct|enum) (\w+) ?\{(.*)\}([^}]*)$", statement)
    if not found:
        return False
    kind, name, body = found.group(1), found.group(2), found.group(3)
    result.header_of[name] = header
    if kind == "enum":
        names = (re.split(r"\W", item.strip())[0] for item in body.split(","))
        result.enums[name] = tuple(item for item in names if item)
    else:
        result.structs[name] = tuple(_fields(body))
    return True


def _fields(body: str) -> Iterator[CField]:
    for declaration in _members(body):
        nested = re.match(r"(?:struct|union) ?\{(.*)\} ?(\w*)$", declaration)
        pointer = re.match(r"(.*?)\( ?\* ?(\w+) ?\) ?\((.*)\)$", declaration)
        plain = re.match(r"(.*?)(\w+)((?: ?\[[^]]*\])*)$", declaration)
        if nested:
            yield CField(nested.group(2), "", tuple(_fields(nested.group(1))))
        elif pointer:
            result_type, name, parameters = pointer.groups()
            yield CField(name, f"{_tidy(result_type)} ({_tidy(parameters)})")
        elif plain:
            kind, name, dimensions = plain.groups()
            yield CField(name, _tidy(kind) + dimensions.replace(" ", ""))


def _members(body: str) -> Iterator[str]:
    depth, start = 0, 0
    for position, character in enumerate(body):
        depth += (character == "{") - (character == "}")
        if character == ";" and depth == 0:
            yield body[start:position].strip()
            start = position + 1


def _tidy(text: str) -> str:
    text = re.sub(r"\b_Bool\b", "bool", text)
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r" ?([(),]) ?", r"\1", text)
    return text.replace(",", ", ")
