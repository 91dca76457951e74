"""The exception tree, shaped by what a caller can do. Imports nothing.

``LibraryError`` → fix the installation. ``ModelLoadError``/``ContextError`` → fix the
configuration. ``DecodeError`` → the engine decides. ``EngineError`` → answer the
client. HTTP status codes exist only in ``api.errors``.
"""

from __future__ import annotations

__all__ = (
    "LlamaError",
    "LibraryError",
    "LibraryNotFound",
    "AbiMismatch",
    "SymbolMissing",
    "ModelLoadError",
    "ModelLoadCancelled",
    "ContextError",
    "ThreadMisuse",
    "ClosedError",
    "TokenizeError",
    "SamplingError",
    "StateError",
    "AdapterError",
    "TemplateError",
    "TemplateLimit",
    "ConstraintError",
    "ConstraintUnavailable",
    "DecodeError",
    "KVCacheFull",
    "DecodeAborted",
    "InvalidBatch",
    "DecodeFatal",
    "EngineError",
    "PromptTooLong",
    "InputTooLarge",
    "NotFinite",
    "NotServed",
    "EngineOverloaded",
    "EngineLoading",
    "EngineStopped",
    "EngineAsleep",
    "EngineFailed",
)


class LlamaError(Exception):
    """Base of everything llamactypes raises on purpose."""


# -- installation ------------------------------------------------------------------


class LibraryError(LlamaError):
    """The native library cannot be used; fix the installation."""


class LibraryNotFound(LibraryError):
    """No candidate library could be opened; the message lists each with its reason."""


class AbiMismatch(LibraryError):
    """A library was found, but its C layout is not one we know."""


class SymbolMissing(LibraryError):
    """An optional function is not exported by the loaded library."""


# -- configuration -----------------------------------------------------------------


class ModelLoadError(LlamaError):
    """The model file cannot be loaded."""


class ModelLoadCancelled(ModelLoadError):
    """The progress callback asked to stop loading."""


class ContextError(LlamaError):
    """A context cannot be created with these parameters."""


class TemplateError(LlamaError):
    """The chat template cannot be parsed or refused the conversation."""


class TemplateLimit(TemplateError):
    """The chat template does something forbidden, or passed a limit."""


class ConstraintError(LlamaError):
    """A grammar or schema cannot be honoured; the message says what is wrong where.

    Attributes:
        path: JSON path of what is at fault, such as ``$.properties.a``; or empty.
    """

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class ConstraintUnavailable(ConstraintError):
    """Constrained decoding needs a package that is not installed."""


# -- misuse ------------------------------------------------------------------------


class ClosedError(LlamaError):
    """An object was used after ``close()``: a bug in the caller."""


class ThreadMisuse(LlamaError):
    """A single-thread object was used from a thread that does not own it."""


class TokenizeError(LlamaError):
    """Text or tokens that the vocabulary cannot convert."""


class SamplingError(LlamaError):
    """Sampling parameters the library refuses."""


class AdapterError(LlamaError):
    """LoRA adapters that do not exist, or cannot be used together."""


class StateError(LlamaError):
    """A saved sequence state cannot be written or restored."""


# -- decoding ----------------------------------------------------------------------


class DecodeError(LlamaError):
    """``llama_decode`` returned a non-zero code.

    Attributes:
        code: The value returned by the library (llama.h, ``llama_decode``).
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code

    @staticmethod
    def from_code(code: int) -> DecodeError:
        """Return the subclass that stands for `code` (llama.h, ``llama_decode``)."""
        if code == 1:
            return KVCacheFull("no KV slot for the batch", code)
        if code == 2:
            return DecodeAborted("decode aborted by the abort callback", code)
        if code == -1:
            return InvalidBatch("the library refused the batch as invalid", code)
        return DecodeFatal(f"llama_decode failed with code {code}", code)


class KVCacheFull(DecodeError):
    """Code 1: no room in the KV cache; free some and decode again."""


class DecodeAborted(DecodeError):
    """Code 2: aborted; processed ubatches stay in the memory."""


class InvalidBatch(DecodeError):
    """Code -1: invalid batch; the memory is as it was."""


class DecodeFatal(DecodeError):
    """Below -1 (or unknown): fatal; processed ubatches stay in the memory."""


# -- engine ------------------------------------------------------------------------


class EngineError(LlamaError):
    """A request cannot be served."""


class PromptTooLong(EngineError):
    """The prompt does not fit the context of one slot.

    Attributes:
        n_prompt_tokens: Length of the prompt in tokens.
        n_ctx: Context of one slot in tokens.
    """

    def __init__(self, n_prompt_tokens: int, n_ctx: int) -> None:
        super().__init__(
            f"request ({n_prompt_tokens} tokens) exceeds the available context size "
            f"({n_ctx} tokens), try increasing it"
        )
        self.n_prompt_tokens = n_prompt_tokens
        self.n_ctx = n_ctx


class InputTooLarge(EngineError):
    """An input to embed does not fit what is computed at once.

    Attributes:
        n_tokens: Length of the input.
        n_ubatch: Most tokens computed at once.
    """

    def __init__(self, n_tokens: int, n_ubatch: int) -> None:
        super().__init__(
            f"input ({n_tokens} tokens) is too large to process. increase the physical "
            f"batch size (current batch size: {n_ubatch})"
        )
        self.n_tokens = n_tokens
        self.n_ubatch = n_ubatch


class NotFinite(EngineError):
    """The model computed numbers that are none."""


class NotServed(EngineError):
    """The engine was started for other work: it generates, or it embeds."""


class EngineOverloaded(EngineError):
    """The waiting queue is full.

    Attributes:
        retry_after_s: When trying again is worth it, in seconds.
    """

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class EngineLoading(EngineError):
    """The model is still loading."""


class EngineStopped(EngineError):
    """The engine is stopping or has stopped."""


class EngineAsleep(EngineStopped):
    """The model was unloaded while idle and cannot be loaded now."""


class EngineFailed(EngineError):
    """The engine met a fatal error; live generations failed with it."""
