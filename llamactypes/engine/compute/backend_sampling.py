"""Sampling inside the compute graph, where asked for. Engine thread only."""

from __future__ import annotations

import logging

from llamactypes.context import Context
from llamactypes.engine.planning.plan import Plan
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.sampling import SamplerChain

__all__ = ("BackendSampling",)

logger = logging.getLogger("llamactypes.engine")


class BackendSampling:
    """Keeps the graph's chains in step with who computes in which slot.

    A chain is set when its sequence is first planned and stays until the sequence ends:
    the library builds its graphs anew after every change. While it is set,
    ``SamplerChain.sample`` takes the token from the graph.
    """

    def __init__(self, context: Context, chains: dict[int, SamplerChain]) -> None:
        """Look after `context`.

        Args:
            context: Owned by the calling thread.
            chains: Sequence id to chain, the runner's own; a chain that must be set a
                second time is replaced there.
        """
        self._context = context
        self._chains = chains
        self._asking: set[int] = set()
        self._owners: dict[int, int] = {}  # slot to sequence id
        self._has_complained = False

    def attach(self, sequence: Sequence) -> None:
        """Sample `sequence` in the graph from its first decode on, if it asks for that.

        Logprobs, constraints and limits of thinking need the logits of every row, which
        the graph keeps: such a request is sampled here.
        """
        request = sequence.request
        if not request.sampling.backend_sampling:
            return
        if request.constraint is not None or request.thinking is not None:
            return
        if not request.sampling.n_probs and request.prompt_probs is None:
            self._asking.add(sequence.id)

    def detach(self, sequence: Sequence) -> None:
        """Take a finished sequence's chain out of the graph."""
        self._asking.discard(sequence.id)
        for slot in [slot for slot, id in self._owners.items() if id == sequence.id]:
            self._take_out(slot)

    def prepare(self, plan: Plan) -> None:
        """Set and take out chains, so that each slot of `plan` has its sequence's."""
        if not self._asking and not self._owners:
            return
        for sequence in plan.sequences:
            slot = sequence.slot
            assert slot is not None
            wanted = sequence.id if sequence.id in self._asking else None
            if self._owners.get(slot) == wanted:
                continue
            self._take_out(slot)
            if wanted is not None:
                self._set(slot, wanted)

    def _set(self, slot: int, id: int) -> None:
        chain = self._chains[id]
        if chain.is_prepared:  # it was preempted, and goes on in this slot
            self._chains[id] = chain.clone()
            chain.close()
            chain = self._chains[id]
        for old_slot in [slot for slot, owner in self._owners.items() if owner == id]:
            del self._owners[old_slot]  # closing took the chain out there
        if self._context.set_sampler(slot, chain):
            self._owners[slot] = id
            return
        self._asking.discard(id)
        if not self._has_complained:
            self._has_complained = True
            logger.warning(
                "backend sampling: the device runs none of %s; sampled on the CPU "
                "(further requests of this kind are not reported)",
                " ".join(chain.names()),
            )

    def _take_out(self, slot: int) -> None:
        if self._owners.pop(slot, None) is not None:
            self._context.set_sampler(slot, None)
