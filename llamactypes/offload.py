"""Sampler chains that the compute graph can run, on the device that has the logits."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from llamactypes import bindings as C  # noqa: N812
from llamactypes._handle import NativeObject
from llamactypes._text import decode
from llamactypes.errors import SamplingError

if TYPE_CHECKING:
    from llamactypes.context import Context

__all__ = ("OffloadableChain",)

_ON_DEVICE = "+"  # src/llama-sampler.cpp marks the name of what the device runs


class OffloadableChain(NativeObject[C.llama_sampler_p]):
    """The part of a sampler chain that `Context.set_sampler` deals with.

    The library prepares a chain for the graph once and for all: from then on it leaves
    out what the graph does. Such a chain is of no use anywhere else; a clone is.
    """

    _closes_after_siblings = True  # the context that runs it goes first
    _host: weakref.ref[Context] | None = None
    _is_prepared = False
    _needs_graph = False

    @property
    def is_prepared(self) -> bool:
        """Whether it was set on a context, and therefore cannot be set again."""
        return self._is_prepared

    @property
    def is_offloaded(self) -> bool:
        """Whether a context's graph runs this chain, or a part of it, now."""
        host = None if self._host is None else self._host()
        return host is not None and not host.closed

    def names(self) -> tuple[str, ...]:
        """Return the samplers' names in order.

        "?" marks one that is off, "+" one that the device runs, "-" one that it cannot.
        """
        chain = self.raw
        count = C.llama_sampler_chain_n(chain)
        samplers = (C.llama_sampler_chain_get(chain, index) for index in range(count))
        return tuple(decode(C.llama_sampler_name(one) or b"") for one in samplers)

    def close(self) -> None:
        """Take the chain out of the graph that runs it, then free it.

        Raises:
            ThreadMisuse: That context belongs to another thread.
        """
        host = None if self._host is None else self._host()
        if host is not None and not host.closed and not self.closed:
            host.remove_sampler(self)
        super().close()

    def check_offloadable(self) -> None:
        """Raise unless this chain can still be set.

        Raises:
            SamplingError: It was set before.
        """
        if self._is_prepared:
            raise SamplingError(
                "this chain was set on a context before; set a clone() of it"
            )

    def check_usable(self) -> None:
        """Raise when the chain is without the graph that does a part of it.

        Raises:
            SamplingError: It was taken out of its context.
        """
        if self._needs_graph and not self.is_offloaded:
            raise SamplingError(
                "this chain was taken out of its context, which ran a part of it; "
                "use a clone() made of it"
            )

    # -- for Context.set_sampler -----------------------------------------------------

    def _enter_graph(self, context: Context) -> bool:
        """Note that the library took the chain; return whether it runs any of it."""
        self._is_prepared = True
        self._needs_graph = any(name.startswith(_ON_DEVICE) for name in self.names())
        if self._needs_graph:
            self._host = weakref.ref(context)
        return self._needs_graph

    def _leave_graph(self) -> None:
        self._host = None
