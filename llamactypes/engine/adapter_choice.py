"""Which LoRA adapters a request is computed with, and those that name none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as SequenceOf

from llamactypes.engine.config import AdapterInfo
from llamactypes.engine.planning.adapters import (
    NO_ADAPTERS,
    AdapterUse,
    Scales,
    adapter_use,
    scales_of,
)
from llamactypes.engine.request import GenerationRequest

__all__ = ("AdapterChoice",)


class AdapterChoice:
    """The scales of requests that name no adapters. Any thread."""

    def __init__(
        self, scales: Scales, adapters: Callable[[], SequenceOf[AdapterInfo]]
    ) -> None:
        """Begin with `scales`.

        Args:
            scales: One for each adapter.
            adapters: Gives the adapters, once the model is loaded.
        """
        self._scales = scales
        self._adapters = adapters

    def pairs(self) -> list[tuple[AdapterInfo, float]]:
        """Return each adapter with its scale."""
        return list(zip(self._adapters(), self._scales, strict=True))

    def choose(self, scales: Mapping[int, float]) -> None:
        """Use these from now on; the others are off.

        Raises:
            AdapterError: There is no such adapter, or these cannot go together.
        """
        wanted = scales_of(scales, len(self._adapters()))
        adapter_use((), wanted, self._invocations())
        self._scales = wanted

    def own_use(self) -> AdapterUse:
        """Return what a prompt is computed with that names and activates none."""
        return adapter_use((), self._scales, self._invocations())

    def use(self, request: GenerationRequest) -> AdapterUse:
        """Return what a request is computed with.

        Raises:
            AdapterError: It names adapters that do not exist or cannot go together.
        """
        scales = self._scales
        if request.lora is not None:
            scales = scales_of(dict(request.lora), len(self._scales))
        if not any(scales):
            return NO_ADAPTERS
        return adapter_use(request.prompt_tokens, scales, self._invocations())

    def _invocations(self) -> list[tuple[int, ...]]:
        return [one.invocation_tokens for one in self._adapters()]
