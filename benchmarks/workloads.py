"""The work of the scenarios: (server, round) → figures, times in seconds.

Prompts are new in every round, so that no server knows them from the round before.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from itertools import pairwise

from benchmarks.client import Outcome, Run, Streams, chat, completion, stream
from benchmarks.scenario import Figures
from benchmarks.servers import Server
from benchmarks.statistics import percentile

__all__ = (
    "conversations",
    "decode",
    "gap_beside_long_prompt",
    "shared_prompt",
    "shared_prompt_waves",
    "structured",
    "warm_request",
)

_STORY = "The story of number {}: once upon a time, in a small village by the sea,"
_RULE = (
    "Rule {}: be kind, answer in full sentences, say what you do not know, and keep to "
    "the question that was asked. "
)
_LIST = "List number {} of people, with their jobs and hobbies, as JSON:\n"
_WORD = {"type": "string", "maxLength": 20}
_PERSON = {
    "name": _WORD,
    "age": {"type": "integer"},
    "job": _WORD,
    "is_married": {"type": "boolean"},
    "hobbies": {"type": "array", "items": _WORD, "minItems": 2, "maxItems": 3},
}
_PEOPLE = {
    "type": "array",
    "minItems": 40,
    "items": {
        "type": "object",
        "properties": _PERSON,
        "required": list(_PERSON),
        "additionalProperties": False,
    },
}
_PARAGRAPH = "The lamp stood in the window and the boats came home in the evening. "


def decode(n_streams: int, n_tokens: int) -> Callable[[Server, int], Figures]:
    """Generation by streams that start together, each with a prompt of its own.

    ``tokens_per_second`` is over everything, prompts included;
    ``decode_tokens_per_second`` is what can be compared with bare decoding.
    """

    def work(server: Server, round: int) -> Figures:
        prompts = [_STORY.format(100 * round + i) for i in range(n_streams)]
        requests = [
            server.adapt(completion(prompt, n_tokens, seed=i, cache_prompt=False))
            for i, prompt in enumerate(prompts)
        ]
        run = stream(server.port, requests)
        figures = {
            "tokens_per_second": run.tokens_per_second,
            "n_prompt": statistics.mean(one.n_prompt_tokens for one in run.outcomes),
            "n_generated": float(sum(one.n_tokens for one in run.outcomes)),
        }
        if all(one.event_times for one in run.outcomes):  # they are streams
            figures["decode_tokens_per_second"] = run.decode_tokens_per_second
        return figures

    return work


def structured(n_streams: int, n_tokens: int) -> Callable[[Server, int], Figures]:
    """The same by streams that write JSON by a schema, three times.

    Freely and by the schema, each with a seed; and by the schema with none, which lets
    ours add text that the schema fixes without drawing it.
    """

    def work(server: Server, round: int) -> Figures:
        schema = {"json_schema": _PEOPLE, "temperature": 0.8}
        ways = {"free": {"temperature": 0.8}, "drawn": schema, "unseeded": schema}
        rates: Figures = {}
        for way, options in ways.items():
            requests = [
                server.adapt(
                    completion(
                        _LIST.format(100 * round + i),
                        n_tokens,
                        cache_prompt=False,
                        **options,
                        **({} if way == "unseeded" else {"seed": i + 1}),
                    )
                )
                for i in range(n_streams)
            ]
            rates[f"{way}_tokens_per_second"] = stream(
                server.port, requests
            ).tokens_per_second
        rates["time_beside_free"] = (
            rates["free_tokens_per_second"] / rates["drawn_tokens_per_second"]
        )
        return rates

    return work


def shared_prompt(server: Server, round: int) -> Figures:
    """Time to the first token of 8 clients who ask the same at once.

    llama-server computes the prompt in each of its 8 slots: no slot has it yet.
    """
    run = _wave(server, _system(round), ["What is this about?"] * 8)
    return _waits(run.outcomes)


def shared_prompt_waves(server: Server, round: int) -> Figures:
    """3 waves of 8 new users with questions of their own, under one system prompt.

    Each wave starts when the one before has ended. llama-server computes the system
    prompt 8 times in the first wave; in the second and third every slot still holds it
    from its former user, and only the questions are computed.
    """
    system = _system(round)
    waves = [
        _wave(server, system, [f"What is {10 * wave + i} and {i}?" for i in range(8)])
        for wave in range(3)
    ]
    figures = _waits([one for wave in waves for one in wave.outcomes])
    for number, wave in enumerate(waves, 1):
        figures[f"first_token_s_wave_{number}"] = wave.first_token_s
    return figures


def conversations(n_turns: int) -> Callable[[Server, int], Figures]:
    """Time to the first token in conversations of 4 users who speak in turn.

    There are 2 slots, so each turn finds its conversation in none of them.
    llama-server can bring it back from its prompt cache in RAM, on by default.
    """

    def work(server: Server, round: int) -> Figures:
        chats = [[_system(10 * round + i, 6)] for i in range(4)]
        outcomes = []
        for turn in range(n_turns):
            for messages in chats:
                question = f"{_PARAGRAPH}What happens in part {turn}?"
                messages.append({"role": "user", "content": question})
                request = server.adapt(chat(messages, 16, temperature=0))
                (outcome,) = stream(server.port, [request]).outcomes
                messages.append({"role": "assistant", "content": outcome.text})
                outcomes.append(outcome)
        return _waits(outcomes)

    return work


def gap_beside_long_prompt(server: Server, round: int) -> Figures:
    """Gaps between tokens of 4 running streams while a 3,000-token prompt arrives."""
    streams = Streams(server.port)
    running = [
        streams.start(
            server.adapt(completion(_STORY.format(50 * round + i), 600, seed=i))
        )
        for i in range(4)
    ]
    streams.read(until=lambda: all(len(one.event_times) > 5 for one in running))
    long_prompt = f"{round} " + _PARAGRAPH * 215
    late = streams.start(server.adapt(completion(long_prompt, 1)))
    streams.read(until=lambda: late.ended_at > 0)
    gaps = _gaps(running, late.sent_at, late.ended_at)
    streams.close()
    return {
        "gap_p99_s": percentile(gaps, 0.99),
        "gap_p50_s": percentile(gaps, 0.5),
        "long_prompt_s": late.total_s,
    }


def warm_request(n_times: int) -> Callable[[Server, int], Figures]:
    """One-token requests, one at a time, on a prefix already computed; medians.

    ``beside_compute_ms`` is each request's whole time less the ``prompt_ms`` and
    ``predicted_ms`` that the server itself reports for it.
    """

    def work(server: Server, round: int) -> Figures:
        request = server.adapt(completion(f"{round} " + _PARAGRAPH * 20, 1))
        stream(server.port, [request])
        runs = [stream(server.port, [request]).outcomes[0] for _ in range(n_times)]
        return {
            "total_ms": 1e3 * statistics.median(one.total_s for one in runs),
            "beside_compute_ms": 1e3
            * statistics.median(one.total_s - one.compute_s for one in runs),
        }

    return work


def _system(round: int, n_rules: int = 18) -> dict[str, str]:
    """About 500 tokens that are new in every round."""
    rules = "".join(_RULE.format(1000 * round + i) for i in range(n_rules))
    return {"role": "system", "content": rules}


def _wave(server: Server, system: dict[str, str], questions: list[str]) -> Run:
    chats = [[system, {"role": "user", "content": q}] for q in questions]
    return stream(server.port, [server.adapt(chat(one, 8)) for one in chats])


def _waits(outcomes: Sequence[Outcome]) -> Figures:
    waits = [one.first_token_s for one in outcomes]
    return {
        "first_token_s": statistics.mean(waits),
        "first_token_p50_s": percentile(waits, 0.5),
        "first_token_p95_s": percentile(waits, 0.95),
    }


def _gaps(outcomes: Sequence[Outcome], since: float, until: float) -> list[float]:
    """Return the gaps that overlap a span of time."""
    return [
        b - a
        for one in outcomes
        for a, b in pairwise(one.event_times)
        if since <= b and a <= until
    ]
