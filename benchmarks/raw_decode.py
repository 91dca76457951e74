"""Decoding without a server: llama-batched-bench of the same build."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.servers import Shape

__all__ = ("RawDecode", "parse_rates")

_TIMEOUT_S = 600.0


class RawDecode:
    """Runs llama-batched-bench anew for each measurement."""

    name = "llama-batched-bench"

    def __init__(self, shape: Shape, binary: Path) -> None:
        self._shape = shape
        self._binary = binary
        self.process_id = 0

    @contextmanager
    def running(self) -> Iterator[RawDecode]:
        """Do nothing: there is no server to start."""
        yield self

    def command(self, n_prompt: int, n_tokens: int, n_sequences: int) -> list[str]:
        """Return the command for this work, of which the first token is prompt's."""
        flags = replace(self._shape, keeps_prompts=True).flags()  # there is no cache
        slots = flags.index("-np")
        del flags[slots : slots + 2]  # it takes the sequences from -npl
        work = f"-npp {n_prompt} -ntg {n_tokens - 1} -npl {n_sequences}"
        return [str(self._binary), *flags, *work.split(), "--output-format", "jsonl"]

    def rate(self, n_prompt: int, n_tokens: int, n_sequences: int) -> float:
        """Return tokens per second over all sequences, prompts not counted.

        Raises:
            RuntimeError: It failed, or its output has no rate.
        """
        command = self.command(n_prompt, n_tokens, n_sequences)
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        rates = parse_rates(done.stdout)
        if done.returncode or n_sequences not in rates:
            raise RuntimeError(
                f"{' '.join(command)} ended with status {done.returncode} and gave no "
                f"rate: {(done.stdout + done.stderr)[-1500:]}"
            )
        return rates[n_sequences]


def parse_rates(output: str) -> dict[int, float]:
    """Return tokens generated per second by number of sequences, from JSON lines."""
    rates = {}
    for line in output.splitlines():
        start = line.find('{"n_kv_max"')
        if start >= 0:
            figures: dict[str, Any] = json.loads(line[start:])
            rates[int(figures["pl"])] = float(figures["speed_tg"])
    return rates
