from __future__ import annotations

import pytest

from benchmarks.memory import kv_bytes, kv_bytes_per_token, parse_rollup

SMOLLM2 = {
    "general.architecture": "llama",
    "llama.block_count": "30",
    "llama.embedding_length": "576",
    "llama.attention.head_count": "9",
    "llama.attention.head_count_kv": "3",
}
ROLLUP = """55d0-7ffc ---p 00000000 00:00 0    [rollup]
Rss:              466096 kB
Pss:              350000 kB
Pss_Anon:         320000 kB
Pss_File:          30000 kB
Shared_Clean:      96000 kB
"""


def test_a_token_takes_keys_and_values_of_every_layer():
    assert kv_bytes_per_token(SMOLLM2) == 30 * 3 * (64 + 64) * 2


def test_the_cache_is_what_the_library_reports_for_this_model():
    assert kv_bytes(SMOLLM2, n_slots=8, n_ctx=8192) == 180 * 2**20


def test_each_slots_share_is_rounded_up():
    assert kv_bytes(SMOLLM2, 3, 3000) == 3 * 1024 * kv_bytes_per_token(SMOLLM2)


def test_lengths_of_keys_and_values_that_are_named_count():
    named = {"llama.attention.key_length": "32", "llama.attention.value_length": "16"}
    assert kv_bytes_per_token(SMOLLM2 | named) == 30 * 3 * 48 * 2


@pytest.mark.parametrize(
    "fact",
    [
        {"llama.attention.sliding_window": "512"},
        {"llama.ssm.state_size": "16"},
        {"llama.attention.head_count_kv": "[3, 4]"},
        {"general.architecture": "other"},
    ],
)
def test_models_whose_layers_differ_are_not_guessed(fact):
    assert kv_bytes(SMOLLM2 | fact, 1, 1024) is None


def test_sizes_of_a_process_are_in_bytes():
    sizes = parse_rollup(ROLLUP)
    assert sizes["Rss"] == 466096 * 1024
    assert sizes["Pss_Anon"] == 320000 * 1024
