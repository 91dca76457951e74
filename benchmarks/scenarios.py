"""The table: which work is measured, against whom, and what it has to reach."""

from __future__ import annotations

from benchmarks.scenario import Row, Scenario
from benchmarks.workloads import (
    conversations,
    decode,
    gap_beside_long_prompt,
    shared_prompt,
    shared_prompt_waves,
    structured,
    warm_request,
)

__all__ = ("scenarios",)

_CPU = {"CPU ms per token": "cpu_ms_per_token"}
_WAITS = {"p50": "first_token_p50_s", "p95": "first_token_p95_s"}
_WAVES = {f"wave {wave}": f"first_token_s_wave_{wave}" for wave in (1, 2, 3)}


def scenarios(*, quick: bool = False) -> tuple[Scenario, ...]:
    """Return the scenarios; quick ones are fewer and shorter, with the same targets."""
    if quick:
        return (
            _decode(1, 1024, 64, 1.0),
            _decode(8, 8192, 48, 1.02, weighs_memory=True),
            _structured(48),
            _warm(10),
            _shared(),
            _conversations(3),
        )
    return (
        _decode(1, 1024, 192, 1.0),
        _decode(8, 8192, 192, 1.02),
        _decode(32, 16384, 96, 1.05, weighs_memory=True),
        _structured(128),
        _shared(),
        _shared_waves(),
        _conversations(6),
        _gap(),
        _warm(20),
    )


def _decode(
    n_streams: int,
    n_ctx: int,
    n_tokens: int,
    target: float,
    *,
    weighs_memory: bool = False,
) -> Scenario:
    name = f"decode, {n_streams} stream{'s' if n_streams > 1 else ''}"
    targets: dict[str, float | None] = {"llama-server": target}
    if n_streams == 8:
        targets |= {"xllamacpp": target, "llama-cpp-python": 4.0}
    rows = [
        Row(name, "tokens_per_second", "tokens/s", targets, details=_CPU),
        Row(
            f"{name}, prompts not counted",
            "decode_tokens_per_second",
            "tokens/s",
            {"llama-batched-bench": 0.95},
        ),
    ]
    if weighs_memory:
        rows.append(_memory(n_streams))
    return Scenario(
        name,
        n_streams,
        n_ctx,
        decode(n_streams, n_tokens),
        tuple(rows),
        (n_streams, n_tokens),
        weighs_memory,
    )


def _structured(n_tokens: int) -> Scenario:
    name = "JSON by a schema, 8 streams"
    rows = (
        Row(name, "drawn_tokens_per_second", "tokens/s", {"llama-server": 1.0}),
        Row(
            f"{name}, no seed",
            "unseeded_tokens_per_second",
            "tokens/s",
            {"llama-server": 1.0},
        ),
        Row(
            f"{name}: time of a token over a free one's",
            "time_beside_free",
            "times",
            {"llama-server": 1.0},
            less_is_better=True,
            limit=1.05,
        ),
    )
    return Scenario("structured output", 8, 8192, structured(8, n_tokens), rows)


def _memory(n_streams: int) -> Row:
    return Row(
        f"memory beside model and KV cache, {n_streams} streams",
        "beside_mib",
        "MiB",
        {"llama-server": None},
        less_is_better=True,
        limit=150.0,
        details={"resident": "resident_mib"},
    )


def _time(
    name: str,
    key: str,
    target: float,
    unit: str = "s",
    details: dict[str, str] | None = None,
) -> Row:
    targets = {"llama-server": target}
    return Row(name, key, unit, targets, less_is_better=True, details=details or {})


def _shared() -> Scenario:
    name = "8 clients, one 500-token prompt: first token"
    row = _time(name, "first_token_s", 6.0, details=_WAITS)
    return Scenario("shared prompt", 8, 8192, shared_prompt, (row,))


def _shared_waves() -> Scenario:
    name = "3 waves of 8 new users, one prompt: first token"
    row = _time(name, "first_token_s", 6.0, details=_WAITS | _WAVES)
    return Scenario("shared prompt, 3 waves", 8, 8192, shared_prompt_waves, (row,))


def _conversations(n_turns: int) -> Scenario:
    name = f"4 chats of {n_turns} turns on 2 slots: first token"
    row = _time(name, "first_token_s", 2.0, details=_WAITS)
    return Scenario("4 chats on 2 slots", 2, 8192, conversations(n_turns), (row,))


def _gap() -> Scenario:
    name = "p99 gap of 4 streams beside a 3,000-token prompt"
    details = {"p50": "gap_p50_s", "the prompt": "long_prompt_s"}
    row = _time(name, "gap_p99_s", 3.0, details=details)
    return Scenario("gap beside a prompt", 5, 20480, gap_beside_long_prompt, (row,))


def _warm(n_times: int) -> Scenario:
    rows = (
        _time("one-token request on a warm prefix", "total_ms", 1.0, "ms"),
        Row(
            "one-token request, less its own compute",
            "beside_compute_ms",
            "ms",
            {"llama-server": 1.0},
            less_is_better=True,
            limit=3.0,
        ),
    )
    return Scenario("warm request", 1, 2048, warm_request(n_times), rows)
