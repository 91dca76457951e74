"""The calls that the corpus' outputs make, and the schemas of their tools."""

from __future__ import annotations

from typing import Any

Call = tuple[str, dict[str, Any]]

PARIS: Call = ("get_weather", {"city": "Paris", "days": 3})
LIST_FILES: Call = ("list_files", {})
SEARCH: Call = (
    "search",
    {
        "filter": {"tags": ["a", "b"], "range": {"min": 1.5, "max": None}},
        "exact": True,
    },
)
UNICODE: Call = ("write_note", {"title": "São Paulo 🌧️", "text": "多云，\u00a022 °C"})
QUOTES: Call = (
    "write_note",
    {"title": 'It\'s "quoted" \\ fine', "text": "</div> {x: [1, 2]} ```"},
)
NEWLINES: Call = (
    "write_note",
    {"title": "code", "text": "def f(x):\n\treturn x\n\n\nprint(f(1))"},
)

_TEXT = {"type": "string"}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


SCHEMAS = {
    "get_weather": _object(city=_TEXT, days={"type": "integer"}),
    "list_files": _object(),
    "search": _object(filter={"type": "object"}, exact={"type": "boolean"}),
    "write_note": _object(title=_TEXT, text=_TEXT),
}
