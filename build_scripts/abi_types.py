"""Which ctypes class a C type must be declared as.

Typedefs are resolved through the headers, so a wrong alias in the bindings is found;
only scalars are known here, and their sizes are proved by the compiler.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any

from abi_headers import CHeaders

__all__ = ("SCALARS", "TypeMap", "split_parameters")

SCALARS: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "char": ctypes.c_char,
    "signed char": ctypes.c_byte,
    "unsigned char": ctypes.c_ubyte,
    "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "int8_t": ctypes.c_int8,
    "uint8_t": ctypes.c_uint8,
    "int16_t": ctypes.c_int16,
    "uint16_t": ctypes.c_uint16,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
}


def split_parameters(text: str) -> list[tuple[str, str]]:
    """Return (type, name) of each parameter in `text`, the part inside the parentheses.

    A name is empty where the header gives none.
    """
    if text.strip() in ("", "void"):
        return []
    return [_split_name(part.strip()) for part in text.split(",")]


def _split_name(parameter: str) -> tuple[str, str]:
    words = re.match(r"(.+?[\s*])(\w+)$", parameter)
    if not words or words.group(2) in SCALARS:
        return parameter, ""
    kind = words.group(1).strip()
    if kind in ("const", "struct", "enum", "const struct", "unsigned"):
        return parameter, ""
    return kind, words.group(2)


class TypeMap:
    """Maps C types to ctypes classes, given the headers and the bindings' classes."""

    def __init__(self, headers: CHeaders, classes: dict[str, Any]) -> None:
        self._headers = headers
        self._classes = classes
        self._handles = {
            kind._type_.__name__: kind
            for kind in classes.values()
            if isinstance(kind, type)
            and issubclass(kind, ctypes._Pointer)
            and hasattr(kind, "_type_")
        }

    def accepted(self, ctype: str) -> list[Any]:
        """Return every ctypes class that may stand for `ctype`; empty when unknown."""
        base, stars, const = self._resolve(ctype)
        if base == "void" and stars == 0:
            return [None]
        kinds = self._base(base, stars, const)
        if not kinds:
            return []
        first, used = kinds
        return [_pointer(kind, stars - used) for kind in first]

    def matches_callback(self, kind: Any, signature: str) -> bool:
        """Whether the function type `kind` is ``ret (params)`` of `signature`."""
        found = re.match(r"(.*?) \((.*)\)$", signature)
        if not found or not hasattr(kind, "_argtypes_"):
            return False
        parameters = split_parameters(found.group(2))
        return (
            self._callback_result(found.group(1), kind._restype_)
            and len(parameters) == len(kind._argtypes_)
            and all(
                given in self.accepted(ctype)
                for given, (ctype, _) in zip(kind._argtypes_, parameters, strict=True)
            )
        )

    def _callback_result(self, ctype: str, given: Any) -> bool:
        """Python callbacks return a pointer as an address, hence as ``c_void_p``."""
        if given is ctypes.c_void_p:
            return self._resolve(ctype)[1] > 0
        return given in self.accepted(ctype)

    def _base(self, base: str, stars: int, const: bool) -> tuple[list[Any], int] | None:
        """Return the innermost classes and how many stars they already contain."""
        if stars and base == "void":
            return [ctypes.c_void_p], 1
        if stars and base == "char":
            buffer = ctypes.POINTER(ctypes.c_char)
            return ([ctypes.c_char_p, buffer] if const else [buffer]), 1
        if stars and base in self._handles:
            return [self._handles[base]], 1
        if base.startswith("enum "):
            return [ctypes.c_int], 0
        kind = SCALARS.get(base) or self._classes.get(base)
        return ([kind], 0) if kind else None

    def _resolve(self, ctype: str) -> tuple[str, int, bool]:
        """Return the base type, how many pointers to it, and whether it is const."""
        stars = ctype.count("*")
        words = ctype.split("*")[0].split()
        const = "const" in words
        base = " ".join(word for word in words if word not in ("const", "struct"))
        target = self._headers.typedefs.get(base)
        if target is None or target in (f"struct {base}", f"enum {base}"):
            return base, stars, const
        inner, more, inner_const = self._resolve(target)
        return inner, stars + more, const or inner_const


def _pointer(kind: Any, depth: int) -> Any:
    for _ in range(depth):
        kind = ctypes.POINTER(kind)
    return kind
