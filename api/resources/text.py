"""Text and tokens without generating: tokenize, detokenize, apply-template."""

from __future__ import annotations

from typing import Any

import falcon

from api.protocol.chat.conversation import read_conversation
from api.protocol.fields import boolean, json_type
from api.protocol.invalid import InvalidRequest
from api.protocol.prompt import check_token, detokenize, tokenize_mixed
from api.protocol.sampling_fields import Tokenizer
from api.resources.base import Resource, send_json

__all__ = ("ApplyTemplate", "Detokenize", "Tokenize")


class Tokenize(Resource):
    """``POST /tokenize``."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer the tokens of ``content``, with their pieces when asked."""
        body = self._read_json(req)
        vocab = self._context.engine.vocab
        add_special = boolean(body, "add_special", False)
        parse_special = boolean(body, "parse_special", True)
        with_pieces = boolean(body, "with_pieces", False)
        content = body.get("content")
        tokens: list[int] = []
        if content is not None:
            tokens = tokenize_mixed(
                _checked_content(content),
                vocab,
                lambda text: vocab.tokenize(
                    text, add_special=add_special, parse_special=parse_special
                ),
                parse_special=parse_special,
                param="content",
            )
        shown = [_with_piece(t, vocab) for t in tokens] if with_pieces else tokens
        send_json(resp, {"tokens": shown})


def _checked_content(content: Any) -> Any:
    if not isinstance(content, str | list):
        raise InvalidRequest.field(
            "content",
            f"Value must be a string or an array, but got {json_type(content)}",
        )
    return content


def _with_piece(token: int, vocab: Tokenizer) -> dict[str, Any]:
    piece = vocab.piece(token, special=True)
    try:
        return {"id": token, "piece": piece.decode("utf-8")}
    except UnicodeDecodeError:
        return {"id": token, "piece": list(piece)}


class Detokenize(Resource):
    """``POST /detokenize``."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer the text of ``tokens``."""
        body = self._read_json(req)
        vocab = self._context.engine.vocab
        tokens = body.get("tokens")
        if tokens is None:
            tokens = []
        if not isinstance(tokens, list):
            raise InvalidRequest.field(
                "tokens", f"Value must be an array, but got {json_type(tokens)}"
            )
        checked = [check_token(token, vocab, "tokens") for token in tokens]
        send_json(resp, {"content": detokenize(checked, vocab)})


class ApplyTemplate(Resource):
    """``POST /apply-template``."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer the prompt that a chat request would be, without generating."""
        context = self._context
        conversation = read_conversation(self._read_json(req), context.chat_defaults)
        send_json(resp, {"prompt": context.prompts.render(conversation)})
