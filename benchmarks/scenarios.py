"""What is measured: each scenario is work for one server and one number from it."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.client import Run, Streams, chat, completion, stream

__all__ = ("SCENARIOS", "Scenario")

_STORY = "The story of number {}: once upon a time, in a small village by the sea,"
_RULE = (
    "Rule {}: be kind, answer in full sentences, say what you do not know, and keep to "
    "the question that was asked. "
)
_PARAGRAPH = "The lamp stood in the window and the boats came home in the evening. "


@dataclass(frozen=True, slots=True)
class Scenario:
    """One line of the table."""

    name: str
    n_slots: int
    n_ctx: int
    """Tokens of all slots together."""
    measure: Callable[[int, int], float]
    """(port, round) → the number; the round makes every round's prompts new."""
    unit: str
    target: float
    """Least ratio of ours to llama-server's, in the sense of `is_time`."""
    is_time: bool = False
    """Less is better: the ratio is theirs over ours."""


def decode(n_streams: int, n_tokens: int = 96) -> Callable[[int, int], float]:
    """Tokens per second over all streams."""

    def measure(port: int, round: int) -> float:
        prompts = [_STORY.format(100 * round + i) for i in range(n_streams)]
        requests = [
            completion(prompt, n_tokens, seed=i, cache_prompt=False)
            for i, prompt in enumerate(prompts)
        ]
        return stream(port, requests).tokens_per_second

    return measure


def _system(round: int, n_rules: int = 18) -> dict[str, str]:
    """About 500 tokens that are new in every round."""
    rules = "".join(_RULE.format(1000 * round + i) for i in range(n_rules))
    return {"role": "system", "content": rules}


def _wave(port: int, system: dict[str, str], questions: list[str]) -> Run:
    conversations = [[system, {"role": "user", "content": q}] for q in questions]
    return stream(port, [chat(messages, 8) for messages in conversations])


def shared_prompt(port: int, round: int) -> float:
    """Mean time to the first token of 8 clients who ask the same at once."""
    return _wave(port, _system(round), ["What is this about?"] * 8).first_token_s


def shared_prompt_waves(port: int, round: int) -> float:
    """Mean over 3 waves of 8 clients with one system prompt and their own questions."""
    system = _system(round)
    waves = [
        _wave(port, system, [f"What is {10 * wave + i} and {i}?" for i in range(8)])
        for wave in range(3)
    ]
    return statistics.mean(wave.first_token_s for wave in waves)


def conversations(port: int, round: int) -> float:
    """Mean time to the first token of 6 turns of 4 interleaved conversations."""
    chats = [[{**_system(10 * round + i, 6)}] for i in range(4)]
    waits = []
    for turn in range(6):
        for messages in chats:
            question = f"{_PARAGRAPH}What happens in part {turn}?"
            messages.append({"role": "user", "content": question})
            (outcome,) = stream(port, [chat(messages, 16, temperature=0)]).outcomes
            messages.append({"role": "assistant", "content": outcome.text})
            waits.append(outcome.first_token_s)
    return statistics.mean(waits)


def gap_beside_long_prompt(port: int, round: int) -> float:
    """p99 gap between tokens of 4 streams while a 3,000-token prompt arrives."""
    streams = Streams(port)
    running = [
        streams.start(completion(_STORY.format(50 * round + i), 600, seed=i))
        for i in range(4)
    ]
    streams.read(until=lambda: all(len(one.event_times) > 5 for one in running))
    long_prompt = f"{round} " + _PARAGRAPH * 215
    late = streams.start(completion(long_prompt, 1))
    started = late.sent_at
    streams.read(until=lambda: late.ended_at > 0)
    ended = late.ended_at
    gaps = [
        b - a
        for one in running
        for a, b in pairwise(one.event_times)
        if started <= b and a <= ended
    ]
    streams.close()
    return _percentile(gaps, 0.99)


def warm_request(port: int, round: int) -> float:
    """Median time of a whole one-token request on a prefix already computed."""
    prompt = f"{round} " + _PARAGRAPH * 20
    stream(port, [completion(prompt, 1)])
    runs = [stream(port, [completion(prompt, 1)]).outcomes[0] for _ in range(20)]
    return statistics.median(one.ended_at - one.sent_at for one in runs)


def _percentile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


SCENARIOS = (
    Scenario("decode, 1 stream", 1, 1024, decode(1, 192), "tokens/s", 1.0),
    Scenario("decode, 8 streams", 8, 8192, decode(8, 192), "tokens/s", 1.02),
    Scenario("decode, 32 streams", 32, 16384, decode(32, 96), "tokens/s", 1.05),
    Scenario("shared prompt", 8, 8192, shared_prompt, "s", 6.0, is_time=True),
    Scenario("shared prompt, 3 waves", 8, 8192, shared_prompt_waves, "s", 6.0, True),
    Scenario("4 chats on 2 slots", 2, 8192, conversations, "s", 2.0, True),
    Scenario("gap beside a prompt", 5, 20480, gap_beside_long_prompt, "s", 3.0, True),
    Scenario("warm request", 1, 2048, warm_request, "s", 1.0, True),
)
