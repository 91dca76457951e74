"""Continuous batching over one model: submit requests, read generations."""

from llamactypes.engine.config import (
    AdapterInfo,
    EngineConfig,
    EngineMetrics,
    ModelInfo,
    SlotState,
)
from llamactypes.engine.embedding.job import EmbeddingJob
from llamactypes.engine.embedding.request import EmbeddingRequest, EmbeddingResult
from llamactypes.engine.engine import Engine, EngineState
from llamactypes.engine.generation import Generation
from llamactypes.engine.measures.histogram import HistogramSnapshot
from llamactypes.engine.request import (
    Delta,
    FinishReason,
    GenerationRequest,
    Progress,
    Result,
    Timings,
    TokenProbs,
)
from llamactypes.engine.slot_files import SlotFiles
from llamactypes.engine.slot_orders import (
    SlotOrder,
    erase_slot,
    restore_slot,
    save_slot,
)
from llamactypes.vocab import Vocab as Vocabulary

__all__ = (
    "Engine",
    "EngineConfig",
    "AdapterInfo",
    "EngineMetrics",
    "HistogramSnapshot",
    "EmbeddingJob",
    "EmbeddingRequest",
    "EmbeddingResult",
    "EngineState",
    "Generation",
    "GenerationRequest",
    "FinishReason",
    "Delta",
    "Result",
    "Timings",
    "Progress",
    "TokenProbs",
    "ModelInfo",
    "SlotState",
    "SlotFiles",
    "SlotOrder",
    "save_slot",
    "restore_slot",
    "erase_slot",
    "Vocabulary",
)
