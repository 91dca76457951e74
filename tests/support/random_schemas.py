"""Random JSON Schemas: of the kinds that people write, and some that are wrong."""

from __future__ import annotations

import random
from typing import Any

NAMES = ("a", "b", "name", "a b", "é", "$ref", "type", "x-y")
PATTERNS = (
    "^[a-z]+$",
    r"^\d{2,4}$",
    "b",
    "^a|b$",
    r"^[^\s]{1,3}$",
    "^(foo|bar)[0-9]?$",
    "(?=x)y",
    "^+a",
    r"^a\!$",
    r"\bx",
)
FORMATS = ("date", "date-time", "email", "ipv4", "uuid", "int32", "password", "odd")
VALUES: tuple[Any, ...] = (
    *("x", "y", "", 'a"b', "é🏋"),
    *(0, 1, -3, 2.5, 1e3, True, False, None),
    *([1, "x"], [], {"a": 1}, {}),
)


class RandomSchemas:
    """Makes schemas from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._definitions: list[str] = []

    def schema(self) -> dict[str, Any]:
        """Return a schema, perhaps with definitions that it refers to."""
        draw = self._random
        names = [f"D{index}" for index in range(draw.choice([0, 0, 1, 2]))]
        self._definitions = names
        key = draw.choice(["$defs", "definitions"])
        found = self._any(draw.choice([1, 2, 2, 3]))
        found = found if isinstance(found, dict) else {"anyOf": [found]}
        if names:
            definitions = {name: self._any(2) for name in names}
            found = {**found, key: definitions}
            found = _renamed(found, key)
        return found

    def _any(self, depth: int) -> Any:
        draw = self._random
        if draw.random() < 0.02:
            return draw.choice([True, False, {}])
        kinds = [self._string, self._number, self._fixed, self._plain]
        if depth > 0:
            kinds += [self._object, self._object, self._array, self._combined]
        if self._definitions:
            kinds.append(self._reference)
        found = draw.choice(kinds)(depth)
        if draw.random() < 0.1:
            found["description"] = "said"
        if draw.random() < 0.03:
            found.update(draw.choice(_ODD))
        return found

    def _plain(self, depth: int) -> dict[str, Any]:
        types = ["null", "boolean", "integer", "number", "string"]
        if depth > 0 and self._random.random() < 0.3:
            return {"type": self._random.sample(types, 2)}
        return {"type": self._random.choice(types)}

    def _string(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {"type": "string"}
        draw = self._random
        if draw.random() < 0.3:
            found["minLength"] = draw.choice([0, 1, 3])
        if draw.random() < 0.4:
            found["maxLength"] = draw.choice([0, 1, 4, 5000])
        if draw.random() < 0.3:
            found["pattern"] = draw.choice(PATTERNS)
        if draw.random() < 0.15:
            found["format"] = draw.choice(FORMATS)
        return found

    def _number(self, depth: int) -> dict[str, Any]:
        draw = self._random
        found: dict[str, Any] = {"type": draw.choice(["integer", "number"])}
        bounds = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
        for keyword in draw.sample(bounds, draw.choice([0, 1, 2])):
            found[keyword] = draw.choice([-10, 0, 1, 2.5, 7, 100, 2**60 + 1])
        if draw.random() < 0.15:
            found["multipleOf"] = draw.choice([1, 2, 5, 0.5, 3])
        return found

    def _fixed(self, depth: int) -> dict[str, Any]:
        draw = self._random
        if draw.random() < 0.3:
            return {"const": draw.choice(VALUES)}
        found: dict[str, Any] = {"enum": draw.sample(VALUES, draw.choice([1, 2, 4]))}
        if draw.random() < 0.3:
            found["type"] = draw.choice(["string", "integer", "number"])
        return found

    def _object(self, depth: int) -> dict[str, Any]:
        draw = self._random
        names = draw.sample(NAMES, draw.choice([0, 1, 2, 3]))
        found: dict[str, Any] = {}
        if draw.random() < 0.9:
            found["type"] = "object"
        if names or draw.random() < 0.5:
            found["properties"] = {name: self._any(depth - 1) for name in names}
        if draw.random() < 0.6:
            required = draw.sample(names, draw.randint(0, len(names)))
            found["required"] = required + (["z"] if draw.random() < 0.1 else [])
        if draw.random() < 0.4:
            found["additionalProperties"] = draw.choice(
                [False, False, True, {"type": "integer"}]
            )
        if draw.random() < 0.1:
            found["patternProperties"] = {draw.choice(PATTERNS[:6]): self._any(0)}
        if draw.random() < 0.1:
            found["minProperties"] = draw.choice([0, 1, 2])
        if draw.random() < 0.1:
            found["maxProperties"] = draw.choice([0, 1, 3])
        return found

    def _array(self, depth: int) -> dict[str, Any]:
        draw = self._random
        found: dict[str, Any] = {"type": "array"}
        if draw.random() < 0.8:
            found["items"] = self._any(depth - 1)
        if draw.random() < 0.2:
            found["prefixItems"] = [self._any(depth - 1) for _ in range(2)]
        if draw.random() < 0.3:
            found["minItems"] = draw.choice([0, 1, 3])
        if draw.random() < 0.3:
            found["maxItems"] = draw.choice([0, 1, 2, 4])
        return found

    def _combined(self, depth: int) -> dict[str, Any]:
        draw = self._random
        keyword = draw.choice(["anyOf", "anyOf", "oneOf", "allOf"])
        members = [self._any(depth - 1) for _ in range(draw.choice([1, 2, 2, 3]))]
        found: dict[str, Any] = {keyword: members}
        if draw.random() < 0.3:
            found.update(self._object(depth - 1))
        return found

    def _reference(self, depth: int) -> dict[str, Any]:
        draw = self._random
        target = draw.choice(self._definitions)
        found: dict[str, Any] = {"$ref": f"#/$defs/{target}"}
        if draw.random() < 0.1:
            found["$ref"] = draw.choice(["#", "#/$defs/none", "http://x/y"])
        if draw.random() < 0.15:
            found["maxLength"] = 3
        return found


_ODD: tuple[dict[str, Any], ...] = (
    {"not": {"type": "null"}},
    {"uniqueItems": True},
    {"minlength": 3},
    {"x-note": 1},
    {"if": {}, "then": {}},
    {"pattern": 5},
    {"required": True},
    {"nullable": False},
    {"propertyNames": {"pattern": "^a"}},
    {"type": "any"},
    {"unevaluatedProperties": False},
)


def _renamed(value: Any, key: str) -> Any:
    """Return the schema with references to definitions where they are."""
    if isinstance(value, dict):
        found = {name: _renamed(inner, key) for name, inner in value.items()}
        reference = found.get("$ref")
        if isinstance(reference, str):
            found["$ref"] = reference.replace("$defs", key)
        return found
    return [_renamed(each, key) for each in value] if isinstance(value, list) else value
