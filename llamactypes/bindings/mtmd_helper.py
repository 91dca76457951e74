"""mtmd-helper.h: files to bitmaps, chunks to a context, video, speech.

All optional: a library may come without libmtmd.
"""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_bool,
    c_char,
    c_char_p,
    c_float,
    c_int32,
    c_int64,
    c_size_t,
    c_ubyte,
    c_void_p,
)
from typing import TYPE_CHECKING

from llamactypes.bindings._declare import c_function
from llamactypes.bindings.structs import (
    mtmd_decoder_pos,
    mtmd_helper_bitmap_wrapper,
    mtmd_helper_gen_audio_inp,
    mtmd_helper_init_opt,
    mtmd_helper_post_decode_callback,
    mtmd_helper_video_info,
    mtmd_helper_video_init_params,
)
from llamactypes.bindings.types import (
    ggml_log_callback,
    llama_context_p,
    llama_pos,
    llama_seq_id,
    llama_token,
    mtmd_bitmap_p,
    mtmd_context_p,
    mtmd_helper_gen_audio_p,
    mtmd_helper_video_p,
    mtmd_image_tokens_p,
    mtmd_input_chunk_p,
    mtmd_input_chunks_p,
)

if TYPE_CHECKING:
    from llamactypes.bindings.types import Callback, Pointer

__all__ = (
    "mtmd_helper_video_init_params_default",
    "mtmd_helper_init_opt_default",
    "mtmd_helper_log_set",
    "mtmd_helper_support_video",
    "mtmd_helper_bitmap_init_from_file",
    "mtmd_helper_bitmap_init_from_buf",
    "mtmd_helper_get_n_tokens",
    "mtmd_helper_get_n_pos",
    "mtmd_helper_image_get_decoder_pos",
    "mtmd_helper_eval_chunks",
    "mtmd_helper_eval_chunk_single",
    "mtmd_helper_decode_image_chunk",
    "mtmd_helper_video_init",
    "mtmd_helper_video_init_from_buf",
    "mtmd_helper_video_free",
    "mtmd_helper_video_get_info",
    "mtmd_helper_video_read_next",
    "mtmd_helper_model_can_chat",
    "mtmd_helper_gen_audio_init",
    "mtmd_helper_gen_audio_free",
    "mtmd_helper_gen_audio_reset",
    "mtmd_helper_gen_audio_set_input",
    "mtmd_helper_gen_audio_step_prompt",
    "mtmd_helper_gen_audio_step_gen",
    "mtmd_helper_gen_audio_get_output",
)


@c_function(
    "struct mtmd_helper_video_init_params mtmd_helper_video_init_params_default(void)",
    argtypes=[],
    restype=mtmd_helper_video_init_params,
    optional=True,
    library="mtmd",
)
def mtmd_helper_video_init_params_default() -> mtmd_helper_video_init_params:
    """Return the default parameters for reading a video."""


@c_function(
    "struct mtmd_helper_init_opt mtmd_helper_init_opt_default(void)",
    argtypes=[],
    restype=mtmd_helper_init_opt,
    optional=True,
    library="mtmd",
)
def mtmd_helper_init_opt_default() -> mtmd_helper_init_opt:
    """Return the default options for opening media."""


@c_function(
    "void mtmd_helper_log_set(ggml_log_callback log_callback, void * user_data)",
    argtypes=[ggml_log_callback, c_void_p],
    restype=None,
    optional=True,
    library="mtmd",
)
def mtmd_helper_log_set(
    log_callback: Callback | None, user_data: int | ctypes.c_void_p | None
) -> None:
    """Set the log callback of the helpers and of libmtmd. Keep it alive."""


@c_function(
    "bool mtmd_helper_support_video(const mtmd_context * ctx)",
    argtypes=[mtmd_context_p],
    restype=c_bool,
    optional=True,
    library="mtmd",
)
def mtmd_helper_support_video(ctx: mtmd_context_p | None) -> bool:
    """Whether the build and the projector support video."""


@c_function(
    "struct mtmd_helper_bitmap_wrapper mtmd_helper_bitmap_init_from_file("
    "const mtmd_context * ctx, const char * fname, bool placeholder, "
    "struct mtmd_helper_init_opt opt)",
    argtypes=[mtmd_context_p, c_char_p, c_bool, mtmd_helper_init_opt],
    restype=mtmd_helper_bitmap_wrapper,
    optional=True,
    library="mtmd",
)
def mtmd_helper_bitmap_init_from_file(
    ctx: mtmd_context_p | None,
    fname: bytes | None,
    placeholder: bool,
    opt: mtmd_helper_init_opt,
) -> mtmd_helper_bitmap_wrapper:
    """Open an image, audio or video file; a NULL bitmap on failure. Thread-safe."""


@c_function(
    "struct mtmd_helper_bitmap_wrapper mtmd_helper_bitmap_init_from_buf("
    "const mtmd_context * ctx, const unsigned char * buf, size_t len, "
    "bool placeholder, struct mtmd_helper_init_opt opt)",
    argtypes=[mtmd_context_p, POINTER(c_ubyte), c_size_t, c_bool, mtmd_helper_init_opt],
    restype=mtmd_helper_bitmap_wrapper,
    optional=True,
    library="mtmd",
)
def mtmd_helper_bitmap_init_from_buf(
    ctx: mtmd_context_p | None,
    buf: Pointer[c_ubyte],
    len: int,
    placeholder: bool,
    opt: mtmd_helper_init_opt,
) -> mtmd_helper_bitmap_wrapper:
    """Open media held in memory; a NULL bitmap on failure. Thread-safe.

    Images: what stb_image reads (JPEG, PNG, BMP, GIF, ...). Audio: WAV, MP3, FLAC. The
    bitmap's id is the SHA-256 of the data.
    """


@c_function(
    "size_t mtmd_helper_get_n_tokens(const mtmd_input_chunks * chunks)",
    argtypes=[mtmd_input_chunks_p],
    restype=c_size_t,
    optional=True,
    library="mtmd",
)
def mtmd_helper_get_n_tokens(chunks: mtmd_input_chunks_p | None) -> int:
    """Return the number of tokens of all chunks."""


@c_function(
    "llama_pos mtmd_helper_get_n_pos(const mtmd_input_chunks * chunks)",
    argtypes=[mtmd_input_chunks_p],
    restype=llama_pos,
    optional=True,
    library="mtmd",
)
def mtmd_helper_get_n_pos(chunks: mtmd_input_chunks_p | None) -> int:
    """Return the number of positions of all chunks."""


@c_function(
    "void mtmd_helper_image_get_decoder_pos(const mtmd_image_tokens * image, "
    "llama_pos pos_0, struct mtmd_decoder_pos * out_pos)",
    argtypes=[mtmd_image_tokens_p, llama_pos, POINTER(mtmd_decoder_pos)],
    restype=None,
    optional=True,
    library="mtmd",
)
def mtmd_helper_image_get_decoder_pos(
    image: mtmd_image_tokens_p | None, pos_0: int, out_pos: Pointer[mtmd_decoder_pos]
) -> None:
    """Write the M-RoPE position of each token of an image."""


@c_function(
    "int32_t mtmd_helper_eval_chunks(mtmd_context * ctx, "
    "struct llama_context * lctx, const mtmd_input_chunks * chunks, "
    "llama_pos n_past, llama_seq_id seq_id, int32_t n_batch, bool logits_last, "
    "llama_pos * new_n_past)",
    argtypes=[
        mtmd_context_p,
        llama_context_p,
        mtmd_input_chunks_p,
        llama_pos,
        llama_seq_id,
        c_int32,
        c_bool,
        POINTER(llama_pos),
    ],
    restype=c_int32,
    optional=True,
    library="mtmd",
)
def mtmd_helper_eval_chunks(
    ctx: mtmd_context_p | None,
    lctx: llama_context_p | None,
    chunks: mtmd_input_chunks_p | None,
    n_past: int,
    seq_id: int,
    n_batch: int,
    logits_last: bool,
    new_n_past: Pointer[llama_pos],
) -> int:
    """Encode and decode all chunks; 0 on success, else the first error. Not thread-safe.

    Writes the position after the last chunk to `new_n_past`.
    """


@c_function(
    "int32_t mtmd_helper_eval_chunk_single(mtmd_context * ctx, "
    "struct llama_context * lctx, const mtmd_input_chunk * chunk, "
    "llama_pos n_past, llama_seq_id seq_id, int32_t n_batch, bool logits_last, "
    "llama_pos * new_n_past)",
    argtypes=[
        mtmd_context_p,
        llama_context_p,
        mtmd_input_chunk_p,
        llama_pos,
        llama_seq_id,
        c_int32,
        c_bool,
        POINTER(llama_pos),
    ],
    restype=c_int32,
    optional=True,
    library="mtmd",
)
def mtmd_helper_eval_chunk_single(
    ctx: mtmd_context_p | None,
    lctx: llama_context_p | None,
    chunk: mtmd_input_chunk_p | None,
    n_past: int,
    seq_id: int,
    n_batch: int,
    logits_last: bool,
    new_n_past: Pointer[llama_pos],
) -> int:
    """As ``mtmd_helper_eval_chunks`` for one chunk. Not thread-safe."""


@c_function(
    "int32_t mtmd_helper_decode_image_chunk(mtmd_context * ctx, "
    "struct llama_context * lctx, const mtmd_input_chunk * chunk, "
    "float * encoded_embd, llama_pos n_past, llama_seq_id seq_id, "
    "int32_t n_batch, llama_pos * new_n_past, "
    "mtmd_helper_post_decode_callback callback, void * user_data)",
    argtypes=[
        mtmd_context_p,
        llama_context_p,
        mtmd_input_chunk_p,
        POINTER(c_float),
        llama_pos,
        llama_seq_id,
        c_int32,
        POINTER(llama_pos),
        mtmd_helper_post_decode_callback,
        c_void_p,
    ],
    restype=c_int32,
    optional=True,
    library="mtmd",
)
def mtmd_helper_decode_image_chunk(
    ctx: mtmd_context_p | None,
    lctx: llama_context_p | None,
    chunk: mtmd_input_chunk_p | None,
    encoded_embd: Pointer[c_float],
    n_past: int,
    seq_id: int,
    n_batch: int,
    new_n_past: Pointer[llama_pos],
    callback: Callback | None,
    user_data: int | ctypes.c_void_p | None,
) -> int:
    """Decode embeddings already computed: 0 ok, -1 not an image chunk, 1 decoding failed."""


@c_function(
    "mtmd_helper_video * mtmd_helper_video_init("
    "const struct mtmd_context * mctx, const char * path, "
    "struct mtmd_helper_video_init_params params)",
    argtypes=[mtmd_context_p, c_char_p, mtmd_helper_video_init_params],
    restype=mtmd_helper_video_p,
    optional=True,
    library="mtmd",
)
def mtmd_helper_video_init(
    mctx: mtmd_context_p | None,
    path: bytes | None,
    params: mtmd_helper_video_init_params,
) -> mtmd_helper_video_p:
    """Open a video file with ffmpeg; NULL on failure."""


@c_function(
    "mtmd_helper_video * mtmd_helper_video_init_from_buf("
    "const struct mtmd_context * mctx, const unsigned char * buf, size_t len, "
    "struct mtmd_helper_video_init_params params)",
    argtypes=[
        mtmd_context_p,
        POINTER(c_ubyte),
        c_size_t,
        mtmd_helper_video_init_params,
    ],
    restype=mtmd_helper_video_p,
    optional=True,
    library="mtmd",
)
def mtmd_helper_video_init_from_buf(
    mctx: mtmd_context_p | None,
    buf: Pointer[c_ubyte],
    len: int,
    params: mtmd_helper_video_init_params,
) -> mtmd_helper_video_p:
    """Open a video held in memory, which is copied; NULL on failure."""


@c_function(
    "void mtmd_helper_video_free(mtmd_helper_video * ctx)",
    argtypes=[mtmd_helper_video_p],
    restype=None,
    optional=True,
    library="mtmd",
)
def mtmd_helper_video_free(ctx: mtmd_helper_video_p | None) -> None:
    """Close a video."""


@c_function(
    "struct mtmd_helper_video_info mtmd_helper_video_get_info("
    "const mtmd_helper_video * ctx)",
    argtypes=[mtmd_helper_video_p],
    restype=mtmd_helper_video_info,
    optional=True,
    library="mtmd",
)
def mtmd_helper_video_get_info(
    ctx: mtmd_helper_video_p | None,
) -> mtmd_helper_video_info:
    """Return size, frame rate and length of a video."""


@c_function(
    "int32_t mtmd_helper_video_read_next(mtmd_helper_video * ctx, "
    "mtmd_bitmap ** out_bitmap, char ** out_text)",
    argtypes=[mtmd_helper_video_p, POINTER(mtmd_bitmap_p), POINTER(POINTER(c_char))],
    restype=c_int32,
    optional=True,
    library="mtmd",
)
def mtmd_helper_video_read_next(
    ctx: mtmd_helper_video_p | None,
    out_bitmap: Pointer[mtmd_bitmap_p],
    out_text: Pointer[ctypes._Pointer[c_char]],
) -> int:
    """Read a frame or a text: 0 ok, -1 end, -2 error.

    Exactly one of the two is set. The caller frees it: the bitmap with
    ``mtmd_bitmap_free``, the text with C's ``free``.
    """


@c_function(
    "bool mtmd_helper_model_can_chat(const struct llama_context * lctx, "
    "const struct mtmd_context * mctx)",
    argtypes=[llama_context_p, mtmd_context_p],
    restype=c_bool,
    optional=True,
    library="mtmd",
)
def mtmd_helper_model_can_chat(
    lctx: llama_context_p | None, mctx: mtmd_context_p | None
) -> bool:
    """Whether model and projector can hold a chat."""


@c_function(
    "mtmd_helper_gen_audio * mtmd_helper_gen_audio_init("
    "struct llama_context * lctx, struct mtmd_context * mctx)",
    argtypes=[llama_context_p, mtmd_context_p],
    restype=mtmd_helper_gen_audio_p,
    optional=True,
    library="mtmd",
)
def mtmd_helper_gen_audio_init(
    lctx: llama_context_p | None, mctx: mtmd_context_p | None
) -> mtmd_helper_gen_audio_p:
    """Make a speech generator; NULL on failure. Experimental, as all of its kind."""


@c_function(
    "void mtmd_helper_gen_audio_free(mtmd_helper_gen_audio * ctx)",
    argtypes=[mtmd_helper_gen_audio_p],
    restype=None,
    optional=True,
    library="mtmd",
)
def mtmd_helper_gen_audio_free(ctx: mtmd_helper_gen_audio_p | None) -> None:
    """Free a speech generator."""


@c_function(
    "void mtmd_helper_gen_audio_reset(mtmd_helper_gen_audio * ctx)",
    argtypes=[mtmd_helper_gen_audio_p],
    restype=None,
    optional=True,
    library="mtmd",
)
def mtmd_helper_gen_audio_reset(ctx: mtmd_helper_gen_audio_p | None) -> None:
    """Forget the input and what was generated."""


@c_function(
    "int32_t mtmd_helper_gen_audio_set_input(mtmd_helper_gen_audio * ctx, "
    "const struct mtmd_helper_gen_audio_inp * inp)",
    argtypes=[mtmd_helper_gen_audio_p, POINTER(mtmd_helper_gen_audio_inp)],
    restype=c_int32,
    optional=True,
    library="mtmd",
)
def mtmd_helper_gen_audio_set_input(
    ctx: mtmd_helper_gen_audio_p | None, inp: Pointer[mtmd_helper_gen_audio_inp]
) -> int:
    """Set what to say; 0 on success."""


@c_function(
    "int32_t mtmd_helper_gen_audio_step_prompt(mtmd_helper_gen_audio * ctx, "
    "int32_t n_batch)",
    argtypes=[mtmd_helper_gen_audio_p, c_int32],
    restype=c_int32,
    optional=True,
    library="mtmd",
)
def mtmd_helper_gen_audio_step_prompt(
    ctx: mtmd_helper_gen_audio_p | None, n_batch: int
) -> int:
    """Process up to `n_batch` prompt tokens: tokens left, 0 done, below 0 error."""


@c_function(
    "int32_t mtmd_helper_gen_audio_step_gen(mtmd_helper_gen_audio * ctx, "
    "llama_token sampled, const float * h_state_in, const float ** h_state_out, "
    "bool * out_stop)",
    argtypes=[
        mtmd_helper_gen_audio_p,
        llama_token,
        POINTER(c_float),
        POINTER(POINTER(c_float)),
        POINTER(c_bool),
    ],
    restype=c_int32,
    optional=True,
    library="mtmd",
)
def mtmd_helper_gen_audio_step_gen(
    ctx: mtmd_helper_gen_audio_p | None,
    sampled: int,
    h_state_in: Pointer[c_float],
    h_state_out: Pointer[ctypes._Pointer[c_float]],
    out_stop: Pointer[c_bool],
) -> int:
    """Generate one frame, once the prompt is done.

    `sampled` is the backbone's token or ``LLAMA_TOKEN_NULL``. `h_state_out` is valid
    until the next step; `out_stop` is set at the end of speech.
    """


@c_function(
    "int32_t mtmd_helper_gen_audio_get_output(mtmd_helper_gen_audio * ctx, "
    "int32_t * out_sample_rate, const char ** out_data, size_t * out_data_len, "
    "int64_t * out_n_samples)",
    argtypes=[
        mtmd_helper_gen_audio_p,
        POINTER(c_int32),
        POINTER(c_char_p),
        POINTER(c_size_t),
        POINTER(c_int64),
    ],
    restype=c_int32,
    optional=True,
    library="mtmd",
)
def mtmd_helper_gen_audio_get_output(
    ctx: mtmd_helper_gen_audio_p | None,
    out_sample_rate: Pointer[c_int32],
    out_data: Pointer[c_char_p],
    out_data_len: Pointer[c_size_t],
    out_n_samples: Pointer[c_int64],
) -> int:
    """Return the audio in the format asked for; valid until the next call or reset."""
