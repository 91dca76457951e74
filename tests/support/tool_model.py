"""A scripted model that thinks and calls tools, for tests of the HTTP layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llamactypes.engine.request import FinishReason, GenerationRequest
from tests.support.fake_engine import FakeEngine, make_info, result, text_deltas

__all__ = ("TOOL_TEMPLATE", "ToolModel", "written_call")

TOOL_TEMPLATE = """\
{%- if tools %}<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{% if message.reasoning_content %}<think>
{{ message.reasoning_content }}
</think>

{% endif %}{{ message.content }}
{%- for call in message.tool_calls or [] %}{% set f = call.function %}
<tool_call>
{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
"""Hermes' form, as many families have it."""


def written_call(name: str, arguments: str) -> str:
    """Return a call as a model of this template writes it."""
    body = f'{{"name": "{name}", "arguments": {arguments}}}'
    return f"<tool_call>\n{body}\n</tool_call>"


class ToolModel(FakeEngine):
    """Writes one text after the other, whatever it is asked.

    Attributes:
        prompts: The prompts it got, as text.
    """

    def __init__(
        self, texts: Sequence[str] | Callable[[str], str], **changes: Any
    ) -> None:
        """Create a model.

        Args:
            texts: What it writes, in order; the last again and again. Or what makes
                an answer of a prompt.
            changes: Of the model's `ModelInfo`.
        """
        self._texts = texts
        self.prompts: list[str] = []
        facts = {"chat_template": TOOL_TEMPLATE, "n_ctx": 65536, "n_ctx_slot": 32768}
        super().__init__(script=self._answer, info=make_info(**{**facts, **changes}))

    def _answer(self, request: GenerationRequest) -> tuple[Any, Any]:
        prompt = bytes(t for t in request.prompt_tokens if t < 256).decode()
        self.prompts.append(prompt)
        if callable(self._texts):
            text = self._texts(prompt)
        else:
            text = self._texts[min(len(self.prompts), len(self._texts)) - 1]
        deltas = text_deltas(text)
        n_prompt = len(request.prompt_tokens)
        finish = FinishReason.STOP_EOS
        return deltas, result(
            finish=finish, n_decoded=len(deltas), n_prompt=n_prompt, n_cached=0
        )
