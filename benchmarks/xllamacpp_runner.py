"""Serves a model with the package xllamacpp, by llama-server's flags.

Started as a file by another interpreter, which has nothing of this project: it imports
only the standard library and xllamacpp.
"""

from __future__ import annotations

import argparse
import signal
import sys
from typing import Any


def parse(arguments: list[str]) -> argparse.Namespace:
    """Read the flags that every server of a comparison gets."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-m", dest="model", required=True)
    parser.add_argument("-c", dest="n_ctx", type=int, required=True)
    parser.add_argument("-np", dest="n_slots", type=int, required=True)
    parser.add_argument("-t", dest="n_threads", type=int, required=True)
    parser.add_argument("-tb", dest="n_threads_batch", type=int, required=True)
    parser.add_argument("--cache-ram", dest="cache_ram_mib", type=int)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    return parser.parse_args(arguments)


def fill(params: Any, options: argparse.Namespace) -> None:
    """Put the flags into `params`, an xllamacpp.CommonParams."""
    params.model.path = options.model
    params.n_ctx = options.n_ctx
    params.n_parallel = options.n_slots
    params.cpuparams.n_threads = options.n_threads
    params.cpuparams_batch.n_threads = options.n_threads_batch
    if options.cache_ram_mib is not None:
        params.cache_ram_mib = options.cache_ram_mib
    params.hostnames = [options.host]
    params.port = options.port
    params.use_jinja = True


def main() -> None:
    """Serve until a signal ends the process."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    fill(params, parse(sys.argv[1:]))
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
