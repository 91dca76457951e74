"""The parameters that every generating route reads. Pure.

Numbers and switches come from the tables that read them; the rest, whose readers are
code, is written down here, and a test sends each field to each route.
"""

from __future__ import annotations

from api.openapi.shapes import (
    ANY,
    BOOLEAN,
    STRING,
    STRINGS,
    Schema,
    array,
    either,
    integers,
    numbers,
)
from api.protocol import options, sampling_fields
from api.protocol.output_form import FORMAT_TYPES

__all__ = ("GENERATION", "SAMPLING", "STREAM_OPTIONS")

_COUNT: Schema = {"type": "integer", "minimum": 0}

STREAM_OPTIONS: Schema = {"type": "object", "properties": {"include_usage": BOOLEAN}}

_RESPONSE_FORMAT: Schema = {
    "type": "object",
    "properties": {"type": {"enum": list(FORMAT_TYPES)}},
}

SAMPLING: dict[str, Schema] = {
    **numbers(sampling_fields.NUMBERS.values()),
    **integers(sampling_fields.INTEGERS.values()),
    "backend_sampling": BOOLEAN,
    "seed": {"type": "integer"},
    "dry_base": {"type": "number"},
    "dry_sequence_breakers": array(STRING, minItems=1),
    "logit_bias": either(array(ANY), {"type": "object"}),
    "samplers": either(STRING, STRINGS),
    "n_probs": _COUNT,
}

GENERATION: dict[str, Schema] = {
    **SAMPLING,
    **integers(options.INTEGERS),
    **dict.fromkeys(options.BOOLEANS, BOOLEAN),
    "stop": either(STRING, STRINGS),
    "stream_options": STREAM_OPTIONS,
    "response_fields": STRINGS,
    "response_format": _RESPONSE_FORMAT,
    "json_schema": ANY,
    "grammar": STRING,
    "regex": STRING,
    "lark": STRING,
    "preserved_tokens": STRINGS,
    "lora": array(
        {
            "type": "object",
            "required": ["id"],
            "properties": {"id": _COUNT, "scale": {"type": "number"}},
        }
    ),
}
