"""mtmd.h: images and audio as input of a model.

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
    c_int,
    c_int32,
    c_size_t,
    c_ubyte,
    c_uint32,
    c_void_p,
)
from typing import TYPE_CHECKING

from llamactypes.bindings._declare import c_function
from llamactypes.bindings.structs import (
    mtmd_caps,
    mtmd_context_params,
    mtmd_decoder_pos,
    mtmd_gen_audio_info,
    mtmd_gen_inp,
    mtmd_gen_inp_returned,
    mtmd_gen_out,
    mtmd_input_part,
    mtmd_input_text,
)
from llamactypes.bindings.types import (
    ggml_log_callback,
    llama_model_p,
    llama_pos,
    llama_token,
    mtmd_batch_p,
    mtmd_bitmap_lazy_callback,
    mtmd_bitmap_p,
    mtmd_context_p,
    mtmd_image_tokens_p,
    mtmd_input_chunk_p,
    mtmd_input_chunks_p,
)

if TYPE_CHECKING:
    from llamactypes.bindings.types import Callback, Pointer

__all__ = (
    "mtmd_default_marker",
    "mtmd_context_params_default",
    "mtmd_init_from_file",
    "mtmd_free",
    "mtmd_decode_use_non_causal",
    "mtmd_decode_use_mrope",
    "mtmd_support_vision",
    "mtmd_support_audio",
    "mtmd_get_audio_sample_rate",
    "mtmd_get_marker",
    "mtmd_bitmap_init",
    "mtmd_bitmap_init_from_audio",
    "mtmd_bitmap_get_nx",
    "mtmd_bitmap_get_ny",
    "mtmd_bitmap_get_data",
    "mtmd_bitmap_get_n_bytes",
    "mtmd_bitmap_is_audio",
    "mtmd_bitmap_free",
    "mtmd_bitmap_get_id",
    "mtmd_bitmap_set_id",
    "mtmd_bitmap_set_mergeable",
    "mtmd_bitmap_init_lazy",
    "mtmd_input_chunks_init",
    "mtmd_input_chunks_size",
    "mtmd_input_chunks_get",
    "mtmd_input_chunks_free",
    "mtmd_input_chunk_get_type",
    "mtmd_input_chunk_get_tokens_text",
    "mtmd_input_chunk_get_tokens_image",
    "mtmd_input_chunk_get_n_tokens",
    "mtmd_input_chunk_get_id",
    "mtmd_input_chunk_get_n_pos",
    "mtmd_input_chunk_copy",
    "mtmd_input_chunk_free",
    "mtmd_input_chunk_get_placeholder",
    "mtmd_input_chunk_save",
    "mtmd_input_chunk_load",
    "mtmd_image_tokens_get_n_tokens",
    "mtmd_image_tokens_get_id",
    "mtmd_image_tokens_get_n_pos",
    "mtmd_image_tokens_get_decoder_pos",
    "mtmd_tokenize",
    "mtmd_tokenize_from_parts",
    "mtmd_encode_chunk",
    "mtmd_get_output_embd",
    "mtmd_batch_init",
    "mtmd_batch_free",
    "mtmd_batch_add_chunk",
    "mtmd_batch_encode",
    "mtmd_batch_get_output_embd",
    "mtmd_log_set",
    "mtmd_get_cap_from_file",
    "mtmd_gen_audio_get_info",
    "mtmd_gen_inp_default",
    "mtmd_gen_audio_process",
    "mtmd_test_create_input_chunks",
)


@c_function(
    "const char * mtmd_default_marker(void)",
    argtypes=[],
    restype=c_char_p,
    optional=True,
    library="mtmd",
)
def mtmd_default_marker() -> bytes | None:
    """Return the text that stands for media in a prompt; static string."""


@c_function(
    "struct mtmd_context_params mtmd_context_params_default(void)",
    argtypes=[],
    restype=mtmd_context_params,
    optional=True,
    library="mtmd",
)
def mtmd_context_params_default() -> mtmd_context_params:
    """Return the default parameters."""


@c_function(
    "mtmd_context * mtmd_init_from_file(const char * mmproj_fname, "
    "const struct llama_model * text_model, "
    "const struct mtmd_context_params ctx_params)",
    argtypes=[c_char_p, llama_model_p, mtmd_context_params],
    restype=mtmd_context_p,
    optional=True,
    library="mtmd",
)
def mtmd_init_from_file(
    mmproj_fname: bytes | None,
    text_model: llama_model_p | None,
    ctx_params: mtmd_context_params,
) -> mtmd_context_p:
    """Load a projector for a model; NULL on failure. Free with ``mtmd_free``."""


@c_function(
    "void mtmd_free(mtmd_context * ctx)",
    argtypes=[mtmd_context_p],
    restype=None,
    optional=True,
    library="mtmd",
)
def mtmd_free(ctx: mtmd_context_p | None) -> None:
    """Free a multimodal context."""


@c_function(
    "bool mtmd_decode_use_non_causal(const mtmd_context * ctx, "
    "const mtmd_input_chunk * chunk)",
    argtypes=[mtmd_context_p, mtmd_input_chunk_p],
    restype=c_bool,
    optional=True,
    library="mtmd",
)
def mtmd_decode_use_non_causal(
    ctx: mtmd_context_p | None, chunk: mtmd_input_chunk_p | None
) -> bool:
    """Whether a chunk must be decoded without the causal mask; NULL means an image."""


@c_function(
    "bool mtmd_decode_use_mrope(const mtmd_context * ctx)",
    argtypes=[mtmd_context_p],
    restype=c_bool,
    optional=True,
    library="mtmd",
)
def mtmd_decode_use_mrope(ctx: mtmd_context_p | None) -> bool:
    """Whether the model uses M-RoPE positions."""


@c_function(
    "bool mtmd_support_vision(const mtmd_context * ctx)",
    argtypes=[mtmd_context_p],
    restype=c_bool,
    optional=True,
    library="mtmd",
)
def mtmd_support_vision(ctx: mtmd_context_p | None) -> bool:
    """Whether the projector takes images."""


@c_function(
    "bool mtmd_support_audio(const mtmd_context * ctx)",
    argtypes=[mtmd_context_p],
    restype=c_bool,
    optional=True,
    library="mtmd",
)
def mtmd_support_audio(ctx: mtmd_context_p | None) -> bool:
    """Whether the projector takes audio."""


@c_function(
    "int mtmd_get_audio_sample_rate(const mtmd_context * ctx)",
    argtypes=[mtmd_context_p],
    restype=c_int,
    optional=True,
    library="mtmd",
)
def mtmd_get_audio_sample_rate(ctx: mtmd_context_p | None) -> int:
    """Return the audio sample rate in Hz, -1 without audio."""


@c_function(
    "const char * mtmd_get_marker(const mtmd_context * ctx)",
    argtypes=[mtmd_context_p],
    restype=c_char_p,
    optional=True,
    library="mtmd",
)
def mtmd_get_marker(ctx: mtmd_context_p | None) -> bytes | None:
    """Return the marker in use; lives as long as the context."""


@c_function(
    "mtmd_bitmap * mtmd_bitmap_init(uint32_t nx, uint32_t ny, "
    "const unsigned char * data)",
    argtypes=[c_uint32, c_uint32, POINTER(c_ubyte)],
    restype=mtmd_bitmap_p,
    optional=True,
    library="mtmd",
)
def mtmd_bitmap_init(nx: int, ny: int, data: Pointer[c_ubyte]) -> mtmd_bitmap_p:
    """Make an image of `nx` by `ny` RGB pixels; `data` is copied.

    NULL `data` makes a placeholder that only counts tokens.
    """


@c_function(
    "mtmd_bitmap * mtmd_bitmap_init_from_audio(size_t n_samples, const float * data)",
    argtypes=[c_size_t, POINTER(c_float)],
    restype=mtmd_bitmap_p,
    optional=True,
    library="mtmd",
)
def mtmd_bitmap_init_from_audio(
    n_samples: int, data: Pointer[c_float]
) -> mtmd_bitmap_p:
    """Make an audio clip of `n_samples` mono float32 samples; `data` is copied.

    NULL `data` makes a placeholder that only counts tokens.
    """


@c_function(
    "uint32_t mtmd_bitmap_get_nx(const mtmd_bitmap * bitmap)",
    argtypes=[mtmd_bitmap_p],
    restype=c_uint32,
    optional=True,
    library="mtmd",
)
def mtmd_bitmap_get_nx(bitmap: mtmd_bitmap_p | None) -> int:
    """Return the width in pixels (samples for audio)."""


@c_function(
    "uint32_t mtmd_bitmap_get_ny(const mtmd_bitmap * bitmap)",
    argtypes=[mtmd_bitmap_p],
    restype=c_uint32,
    optional=True,
    library="mtmd",
)
def mtmd_bitmap_get_ny(bitmap: mtmd_bitmap_p | None) -> int:
    """Return the height in pixels."""


@c_function(
    "const unsigned char * mtmd_bitmap_get_data(const mtmd_bitmap * bitmap)",
    argtypes=[mtmd_bitmap_p],
    restype=POINTER(c_ubyte),
    optional=True,
    library="mtmd",
)
def mtmd_bitmap_get_data(bitmap: mtmd_bitmap_p | None) -> ctypes._Pointer[c_ubyte]:
    """Return the pixels or samples; owned by the bitmap."""


@c_function(
    "size_t mtmd_bitmap_get_n_bytes(const mtmd_bitmap * bitmap)",
    argtypes=[mtmd_bitmap_p],
    restype=c_size_t,
    optional=True,
    library="mtmd",
)
def mtmd_bitmap_get_n_bytes(bitmap: mtmd_bitmap_p | None) -> int:
    """Return the size of the data in bytes."""


@c_function(
    "bool mtmd_bitmap_is_audio(const mtmd_bitmap * bitmap)",
    argtypes=[mtmd_bitmap_p],
    restype=c_bool,
    optional=True,
    library="mtmd",
)
def mtmd_bitmap_is_audio(bitmap: mtmd_bitmap_p | None) -> bool:
    """Whether the bitmap is audio."""


@c_function(
    "void mtmd_bitmap_free(mtmd_bitmap * bitmap)",
    argtypes=[mtmd_bitmap_p],
    restype=None,
    optional=True,
    library="mtmd",
)
def mtmd_bitmap_free(bitmap: mtmd_bitmap_p | None) -> None:
    """Free a bitmap; chunks made from it stay valid."""


@c_function(
    "const char * mtmd_bitmap_get_id(const mtmd_bitmap * bitmap)",
    argtypes=[mtmd_bitmap_p],
    restype=c_char_p,
    optional=True,
    library="mtmd",
)
def mtmd_bitmap_get_id(bitmap: mtmd_bitmap_p | None) -> bytes | None:
    """Return the id that was set; lives as long as the bitmap."""


@c_function(
    "void mtmd_bitmap_set_id(mtmd_bitmap * bitmap, const char * id)",
    argtypes=[mtmd_bitmap_p, c_char_p],
    restype=None,
    optional=True,
    library="mtmd",
)
def mtmd_bitmap_set_id(bitmap: mtmd_bitmap_p | None, id: bytes | None) -> None:
    """Set an id, such as a hash, to recognise the media later."""


@c_function(
    "void mtmd_bitmap_set_mergeable(mtmd_bitmap * bitmap, bool mergeable)",
    argtypes=[mtmd_bitmap_p, c_bool],
    restype=None,
    optional=True,
    library="mtmd",
)
def mtmd_bitmap_set_mergeable(bitmap: mtmd_bitmap_p | None, mergeable: bool) -> None:
    """Allow merging with a neighbour frame (video input)."""


@c_function(
    "mtmd_bitmap * mtmd_bitmap_init_lazy(const mtmd_context * ctx, "
    "const char * id, void * user_data, mtmd_bitmap_lazy_callback callback)",
    argtypes=[mtmd_context_p, c_char_p, c_void_p, mtmd_bitmap_lazy_callback],
    restype=mtmd_bitmap_p,
    optional=True,
    library="mtmd",
)
def mtmd_bitmap_init_lazy(
    ctx: mtmd_context_p | None,
    id: bytes | None,
    user_data: int | ctypes.c_void_p | None,
    callback: Callback | None,
) -> mtmd_bitmap_p:
    """Make a bitmap that `callback` turns into media or text during tokenization.

    Keep `callback` alive until then.
    """


@c_function(
    "mtmd_input_chunks * mtmd_input_chunks_init(void)",
    argtypes=[],
    restype=mtmd_input_chunks_p,
    optional=True,
    library="mtmd",
)
def mtmd_input_chunks_init() -> mtmd_input_chunks_p:
    """Make an empty list for ``mtmd_tokenize``."""


@c_function(
    "size_t mtmd_input_chunks_size(const mtmd_input_chunks * chunks)",
    argtypes=[mtmd_input_chunks_p],
    restype=c_size_t,
    optional=True,
    library="mtmd",
)
def mtmd_input_chunks_size(chunks: mtmd_input_chunks_p | None) -> int:
    """Return the number of chunks."""


@c_function(
    "const mtmd_input_chunk * mtmd_input_chunks_get("
    "const mtmd_input_chunks * chunks, size_t idx)",
    argtypes=[mtmd_input_chunks_p, c_size_t],
    restype=mtmd_input_chunk_p,
    optional=True,
    library="mtmd",
)
def mtmd_input_chunks_get(
    chunks: mtmd_input_chunks_p | None, idx: int
) -> mtmd_input_chunk_p:
    """Return a chunk; owned by the list."""


@c_function(
    "void mtmd_input_chunks_free(mtmd_input_chunks * chunks)",
    argtypes=[mtmd_input_chunks_p],
    restype=None,
    optional=True,
    library="mtmd",
)
def mtmd_input_chunks_free(chunks: mtmd_input_chunks_p | None) -> None:
    """Free the list and its chunks."""


@c_function(
    "enum mtmd_input_chunk_type mtmd_input_chunk_get_type("
    "const mtmd_input_chunk * chunk)",
    argtypes=[mtmd_input_chunk_p],
    restype=c_int,
    optional=True,
    library="mtmd",
)
def mtmd_input_chunk_get_type(chunk: mtmd_input_chunk_p | None) -> int:
    """Return the ``mtmd_input_chunk_type``."""


@c_function(
    "const llama_token * mtmd_input_chunk_get_tokens_text("
    "const mtmd_input_chunk * chunk, size_t * n_tokens_output)",
    argtypes=[mtmd_input_chunk_p, POINTER(c_size_t)],
    restype=POINTER(llama_token),
    optional=True,
    library="mtmd",
)
def mtmd_input_chunk_get_tokens_text(
    chunk: mtmd_input_chunk_p | None, n_tokens_output: Pointer[c_size_t]
) -> ctypes._Pointer[llama_token]:
    """Return the tokens of a text chunk and write their number; NULL for media."""


@c_function(
    "const mtmd_image_tokens * mtmd_input_chunk_get_tokens_image("
    "const mtmd_input_chunk * chunk)",
    argtypes=[mtmd_input_chunk_p],
    restype=mtmd_image_tokens_p,
    optional=True,
    library="mtmd",
)
def mtmd_input_chunk_get_tokens_image(
    chunk: mtmd_input_chunk_p | None,
) -> mtmd_image_tokens_p:
    """Return the image tokens of a media chunk; NULL for text."""


@c_function(
    "size_t mtmd_input_chunk_get_n_tokens(const mtmd_input_chunk * chunk)",
    argtypes=[mtmd_input_chunk_p],
    restype=c_size_t,
    optional=True,
    library="mtmd",
)
def mtmd_input_chunk_get_n_tokens(chunk: mtmd_input_chunk_p | None) -> int:
    """Return the number of tokens."""


@c_function(
    "const char * mtmd_input_chunk_get_id(const mtmd_input_chunk * chunk)",
    argtypes=[mtmd_input_chunk_p],
    restype=c_char_p,
    optional=True,
    library="mtmd",
)
def mtmd_input_chunk_get_id(chunk: mtmd_input_chunk_p | None) -> bytes | None:
    """Return the id of the media, None for text."""


@c_function(
    "llama_pos mtmd_input_chunk_get_n_pos(const mtmd_input_chunk * chunk)",
    argtypes=[mtmd_input_chunk_p],
    restype=llama_pos,
    optional=True,
    library="mtmd",
)
def mtmd_input_chunk_get_n_pos(chunk: mtmd_input_chunk_p | None) -> int:
    """Return the number of positions: the tokens, or fewer with M-RoPE."""


@c_function(
    "mtmd_input_chunk * mtmd_input_chunk_copy(const mtmd_input_chunk * chunk)",
    argtypes=[mtmd_input_chunk_p],
    restype=mtmd_input_chunk_p,
    optional=True,
    library="mtmd",
)
def mtmd_input_chunk_copy(chunk: mtmd_input_chunk_p | None) -> mtmd_input_chunk_p:
    """Copy a chunk out of its list; the caller owns the copy."""


@c_function(
    "void mtmd_input_chunk_free(mtmd_input_chunk * chunk)",
    argtypes=[mtmd_input_chunk_p],
    restype=None,
    optional=True,
    library="mtmd",
)
def mtmd_input_chunk_free(chunk: mtmd_input_chunk_p | None) -> None:
    """Free a chunk that the caller owns."""


@c_function(
    "mtmd_input_chunk * mtmd_input_chunk_get_placeholder("
    "const mtmd_input_chunk * chunk)",
    argtypes=[mtmd_input_chunk_p],
    restype=mtmd_input_chunk_p,
    optional=True,
    library="mtmd",
)
def mtmd_input_chunk_get_placeholder(
    chunk: mtmd_input_chunk_p | None,
) -> mtmd_input_chunk_p:
    """Copy a chunk without its media; the caller owns the copy."""


@c_function(
    "int32_t mtmd_input_chunk_save(const mtmd_input_chunk * chunk, "
    "char * out_buf, size_t out_len, size_t * expected_out_len)",
    argtypes=[mtmd_input_chunk_p, POINTER(c_char), c_size_t, POINTER(c_size_t)],
    restype=c_int32,
    optional=True,
    library="mtmd",
)
def mtmd_input_chunk_save(
    chunk: mtmd_input_chunk_p | None,
    out_buf: Pointer[c_char],
    out_len: int,
    expected_out_len: Pointer[c_size_t],
) -> int:
    """Write a chunk's facts without its media; 0 on success.

    `expected_out_len` is told the size; with NULL `out_buf` nothing else happens.
    """


@c_function(
    "mtmd_input_chunk * mtmd_input_chunk_load(const char * buf, size_t len)",
    argtypes=[c_char_p, c_size_t],
    restype=mtmd_input_chunk_p,
    optional=True,
    library="mtmd",
)
def mtmd_input_chunk_load(buf: bytes | None, len: int) -> mtmd_input_chunk_p:
    """Read back a saved chunk as a placeholder, NULL on failure; the caller owns it."""


@c_function(
    "size_t mtmd_image_tokens_get_n_tokens(const mtmd_image_tokens * image_tokens)",
    argtypes=[mtmd_image_tokens_p],
    restype=c_size_t,
    optional=True,
    library="mtmd",
)
def mtmd_image_tokens_get_n_tokens(image_tokens: mtmd_image_tokens_p | None) -> int:
    """Return the number of tokens; prefer the chunk's function."""


@c_function(
    "const char * mtmd_image_tokens_get_id(const mtmd_image_tokens * image_tokens)",
    argtypes=[mtmd_image_tokens_p],
    restype=c_char_p,
    optional=True,
    library="mtmd",
)
def mtmd_image_tokens_get_id(image_tokens: mtmd_image_tokens_p | None) -> bytes | None:
    """Return the id; prefer the chunk's function."""


@c_function(
    "llama_pos mtmd_image_tokens_get_n_pos(const mtmd_image_tokens * image_tokens)",
    argtypes=[mtmd_image_tokens_p],
    restype=llama_pos,
    optional=True,
    library="mtmd",
)
def mtmd_image_tokens_get_n_pos(image_tokens: mtmd_image_tokens_p | None) -> int:
    """Return the number of positions; prefer the chunk's function."""


@c_function(
    "struct mtmd_decoder_pos mtmd_image_tokens_get_decoder_pos("
    "const mtmd_image_tokens * image_tokens, llama_pos pos_0, size_t i)",
    argtypes=[mtmd_image_tokens_p, llama_pos, c_size_t],
    restype=mtmd_decoder_pos,
    optional=True,
    library="mtmd",
)
def mtmd_image_tokens_get_decoder_pos(
    image_tokens: mtmd_image_tokens_p | None, pos_0: int, i: int
) -> mtmd_decoder_pos:
    """Return the M-RoPE position of embedding `i`; `pos_0` is that of the first token."""


@c_function(
    "int32_t mtmd_tokenize(const mtmd_context * ctx, mtmd_input_chunks * output, "
    "const mtmd_input_text * text, const mtmd_bitmap * const * bitmaps, "
    "size_t n_bitmaps)",
    argtypes=[
        mtmd_context_p,
        mtmd_input_chunks_p,
        POINTER(mtmd_input_text),
        POINTER(mtmd_bitmap_p),
        c_size_t,
    ],
    restype=c_int32,
    optional=True,
    library="mtmd",
)
def mtmd_tokenize(
    ctx: mtmd_context_p | None,
    output: mtmd_input_chunks_p | None,
    text: Pointer[mtmd_input_text],
    bitmaps: Pointer[mtmd_bitmap_p],
    n_bitmaps: int,
) -> int:
    """Split a prompt with markers and its media into chunks. Thread-safe.

    0 on success, 1 when markers and bitmaps differ in number, 2 when media cannot be
    processed.
    """


@c_function(
    "int32_t mtmd_tokenize_from_parts(const mtmd_context * ctx, "
    "mtmd_input_chunks * output, const mtmd_input_part * const * parts, "
    "size_t n_parts, bool add_special)",
    argtypes=[
        mtmd_context_p,
        mtmd_input_chunks_p,
        POINTER(POINTER(mtmd_input_part)),
        c_size_t,
        c_bool,
    ],
    restype=c_int32,
    optional=True,
    library="mtmd",
)
def mtmd_tokenize_from_parts(
    ctx: mtmd_context_p | None,
    output: mtmd_input_chunks_p | None,
    parts: Pointer[ctypes._Pointer[mtmd_input_part]],
    n_parts: int,
    add_special: bool,
) -> int:
    """Turn texts and bitmaps into chunks, without markers; 1 when a part is not just one."""


@c_function(
    "int32_t mtmd_encode_chunk(mtmd_context * ctx, const mtmd_input_chunk * chunk)",
    argtypes=[mtmd_context_p, mtmd_input_chunk_p],
    restype=c_int32,
    optional=True,
    library="mtmd",
)
def mtmd_encode_chunk(
    ctx: mtmd_context_p | None, chunk: mtmd_input_chunk_p | None
) -> int:
    """Encode a media chunk; 0 on success, 1 on failure. Text is ignored."""


@c_function(
    "float * mtmd_get_output_embd(mtmd_context * ctx)",
    argtypes=[mtmd_context_p],
    restype=POINTER(c_float),
    optional=True,
    library="mtmd",
)
def mtmd_get_output_embd(ctx: mtmd_context_p | None) -> ctypes._Pointer[c_float]:
    """Return the embeddings of the last encoding.

    float32, ``llama_model_n_embd_inp`` times the chunk's tokens; valid until the next.
    """


@c_function(
    "mtmd_batch * mtmd_batch_init(mtmd_context * ctx)",
    argtypes=[mtmd_context_p],
    restype=mtmd_batch_p,
    optional=True,
    library="mtmd",
)
def mtmd_batch_init(ctx: mtmd_context_p | None) -> mtmd_batch_p:
    """Make a batch of media chunks for one context."""


@c_function(
    "void mtmd_batch_free(mtmd_batch * batch)",
    argtypes=[mtmd_batch_p],
    restype=None,
    optional=True,
    library="mtmd",
)
def mtmd_batch_free(batch: mtmd_batch_p | None) -> None:
    """Free the batch, not its chunks."""


@c_function(
    "int32_t mtmd_batch_add_chunk(mtmd_batch * batch, const mtmd_input_chunk * chunk)",
    argtypes=[mtmd_batch_p, mtmd_input_chunk_p],
    restype=c_int32,
    optional=True,
    library="mtmd",
)
def mtmd_batch_add_chunk(
    batch: mtmd_batch_p | None, chunk: mtmd_input_chunk_p | None
) -> int:
    """Add a media chunk: 0 ok, 1 error, 2 batch too large, 3 not compatible."""


@c_function(
    "int32_t mtmd_batch_encode(mtmd_batch * batch)",
    argtypes=[mtmd_batch_p],
    restype=c_int32,
    optional=True,
    library="mtmd",
)
def mtmd_batch_encode(batch: mtmd_batch_p | None) -> int:
    """Encode all chunks of the batch; 0 on success, 1 on failure."""


@c_function(
    "float * mtmd_batch_get_output_embd(mtmd_batch * batch, "
    "const mtmd_input_chunk * chunk)",
    argtypes=[mtmd_batch_p, mtmd_input_chunk_p],
    restype=POINTER(c_float),
    optional=True,
    library="mtmd",
)
def mtmd_batch_get_output_embd(
    batch: mtmd_batch_p | None, chunk: mtmd_input_chunk_p | None
) -> ctypes._Pointer[c_float]:
    """Return the embeddings of one chunk of the encoded batch."""


@c_function(
    "void mtmd_log_set(ggml_log_callback log_callback, void * user_data)",
    argtypes=[ggml_log_callback, c_void_p],
    restype=None,
    optional=True,
    library="mtmd",
)
def mtmd_log_set(
    log_callback: Callback | None, user_data: int | ctypes.c_void_p | None
) -> None:
    """Set the log callback of libmtmd; NULL prints to stderr. Keep it alive."""


@c_function(
    "struct mtmd_caps mtmd_get_cap_from_file(const char * mmproj_fname)",
    argtypes=[c_char_p],
    restype=mtmd_caps,
    optional=True,
    library="mtmd",
)
def mtmd_get_cap_from_file(mmproj_fname: bytes | None) -> mtmd_caps:
    """Return what a projector file takes in, without loading it. Experimental."""


@c_function(
    "struct mtmd_gen_audio_info mtmd_gen_audio_get_info(const mtmd_context * ctx)",
    argtypes=[mtmd_context_p],
    restype=mtmd_gen_audio_info,
    optional=True,
    library="mtmd",
)
def mtmd_gen_audio_get_info(ctx: mtmd_context_p | None) -> mtmd_gen_audio_info:
    """Return which speech pipeline the projector has. Experimental."""


@c_function(
    "struct mtmd_gen_inp mtmd_gen_inp_default(const mtmd_context * ctx)",
    argtypes=[mtmd_context_p],
    restype=mtmd_gen_inp_returned,
    optional=True,
    library="mtmd",
)
def mtmd_gen_inp_default(ctx: mtmd_context_p | None) -> mtmd_gen_inp:
    """Return the default input of the loaded pipeline. Experimental."""


@c_function(
    "int32_t mtmd_gen_audio_process(mtmd_context * ctx, "
    "const struct mtmd_gen_inp * inp, struct mtmd_gen_out * out)",
    argtypes=[mtmd_context_p, POINTER(mtmd_gen_inp), POINTER(mtmd_gen_out)],
    restype=c_int32,
    optional=True,
    library="mtmd",
)
def mtmd_gen_audio_process(
    ctx: mtmd_context_p | None, inp: Pointer[mtmd_gen_inp], out: Pointer[mtmd_gen_out]
) -> int:
    """Run one step of speech generation; 0 on success. Experimental.

    Stateless: the caller carries the state; `out` is valid until the next step.
    """


@c_function(
    "mtmd_input_chunks * mtmd_test_create_input_chunks(void)",
    argtypes=[],
    restype=mtmd_input_chunks_p,
    optional=True,
    library="mtmd",
)
def mtmd_test_create_input_chunks() -> mtmd_input_chunks_p:
    """Make chunks for the library's own tests."""
