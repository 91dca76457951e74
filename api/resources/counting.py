"""How many tokens a prompt has, without generating."""

from __future__ import annotations

import falcon

from api.chat.plan import prompt_tokens
from api.protocol.chat.conversation import read_conversation
from api.protocol.prompt import read_prompts
from api.resources.base import Resource, send_json

__all__ = ("CountChatTokens", "CountCompletionTokens")


def _counted(n_tokens: int) -> dict[str, int | str]:
    return {"input_tokens": n_tokens, "object": "response.input_tokens"}


class CountChatTokens(Resource):
    """``POST /v1/chat/completions/input_tokens``."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer how long the prompt of a conversation is."""
        context = self._context
        conversation = read_conversation(self._read_json(req), context.chat_defaults)
        send_json(resp, _counted(len(prompt_tokens(context, conversation))))


class CountCompletionTokens(Resource):
    """``POST /v1/completions/input_tokens``."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer how long all prompts of a completion are together."""
        prompts = read_prompts(self._read_json(req), self._context.prompt_vocab)
        send_json(resp, _counted(sum(map(len, prompts))))
