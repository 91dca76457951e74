"""llama.h: training."""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

import ctypes
from ctypes import c_bool, c_int64, c_void_p
from typing import TYPE_CHECKING

from llamactypes.bindings._declare import c_function
from llamactypes.bindings.structs import llama_opt_params
from llamactypes.bindings.types import (
    ggml_opt_dataset_t,
    ggml_opt_epoch_callback,
    ggml_opt_result_t,
    ggml_tensor_p,
    llama_context_p,
    llama_model_p,
)

if TYPE_CHECKING:
    from llamactypes.bindings.types import Callback

__all__ = (
    "llama_opt_param_filter_all",
    "llama_opt_init",
    "llama_opt_epoch",
)


@c_function(
    "bool llama_opt_param_filter_all(const struct ggml_tensor * tensor, "
    "void * userdata)",
    argtypes=[ggml_tensor_p, c_void_p],
    restype=c_bool,
)
def llama_opt_param_filter_all(
    tensor: ggml_tensor_p | None, userdata: int | ctypes.c_void_p | None
) -> bool:
    """Return True: train every tensor. Its address serves as `param_filter`."""


@c_function(
    "void llama_opt_init(struct llama_context * lctx, struct llama_model * model, "
    "struct llama_opt_params lopt_params)",
    argtypes=[llama_context_p, llama_model_p, llama_opt_params],
    restype=None,
)
def llama_opt_init(
    lctx: llama_context_p | None,
    model: llama_model_p | None,
    lopt_params: llama_opt_params,
) -> None:
    """Prepare a context and its model for training."""


@c_function(
    "void llama_opt_epoch(struct llama_context * lctx, "
    "ggml_opt_dataset_t dataset, ggml_opt_result_t result_train, "
    "ggml_opt_result_t result_eval, int64_t idata_split, "
    "ggml_opt_epoch_callback callback_train, "
    "ggml_opt_epoch_callback callback_eval)",
    argtypes=[
        llama_context_p,
        ggml_opt_dataset_t,
        ggml_opt_result_t,
        ggml_opt_result_t,
        c_int64,
        ggml_opt_epoch_callback,
        ggml_opt_epoch_callback,
    ],
    restype=None,
)
def llama_opt_epoch(
    lctx: llama_context_p | None,
    dataset: ggml_opt_dataset_t | None,
    result_train: ggml_opt_result_t | None,
    result_eval: ggml_opt_result_t | None,
    idata_split: int,
    callback_train: Callback | None,
    callback_eval: Callback | None,
) -> None:
    """Train on the front of a data set and evaluate on the rest.

    Batches before `idata_split` train, those after evaluate. Results may be NULL.
    """
