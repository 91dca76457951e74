"""Waiting for an embedding request while its client is there."""

from __future__ import annotations

from api.errors import ClientGone, GenerationCancelled
from api.streams.client import WAIT_SLICE_S, Client
from llamactypes.engine import EmbeddingJob, EmbeddingResult

__all__ = ("wait_for",)


def wait_for(job: EmbeddingJob, client: Client) -> EmbeddingResult:
    """Return the job's rows.

    Raises:
        ClientGone: The client left meanwhile; the job was cancelled.
        LlamaError: It failed.
    """
    client.watch(())
    try:
        while (result := job.wait(WAIT_SLICE_S)) is None:
            if client.is_gone():
                raise ClientGone
    except BaseException:
        job.cancel()
        raise
    if result.error is not None:
        raise result.error
    if result.is_cancelled:
        raise GenerationCancelled("the request was cancelled")
    return result
