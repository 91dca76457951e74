"""``/infill``: what belongs between a prefix and a suffix."""

from __future__ import annotations

from dataclasses import replace

import falcon

from api.protocol.completion.infill import InfillLimits, infill_prompt, read_infill
from api.resources.generate import NATIVE
from api.resources.generating import Generating

__all__ = ("InfillCompletion",)


class InfillCompletion(Generating):
    """``POST /infill``; replies as ``/completion``."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Complete what lies between."""
        body = self._read_json(req)
        context = self._context
        settings, vocab = context.settings, context.engine.vocab
        limits = InfillLimits(
            settings.engine.n_batch,
            settings.n_predict,
            context.engine.info.n_ctx_slot,
        )
        infill = read_infill(body, vocab, context.prompt_vocab, limits)
        # Parameters before the prompt is put together: they are cheaper to refuse.
        facts = self._facts(body, ())
        prompt = infill_prompt(infill, vocab, limits, is_spm=settings.spm_infill)
        self._respond(req, resp, replace(facts, prompts=(prompt,)), NATIVE)
