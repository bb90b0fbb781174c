"""Serves one model file until standard input ends: python serve_llama.py MODEL.gguf CONTEXT SLOTS.

A program of its own, so that what llama.cpp prints, or breaks, stays out of the tests.
"""

from __future__ import annotations

import os
import sys

import xllamacpp


def main() -> None:
    """Print the address of the server, then wait for the end of standard input."""
    model, context_tokens, slots = sys.argv[1:]
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_parallel = int(slots)
    params.n_ctx = int(context_tokens) * int(slots)  # the slots share it
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.use_jinja = True
    params.warmup = False
    # Its threads wait for each other actively: where others work too, more are slower than one.
    params.cpuparams.n_threads = max(1, (os.cpu_count() or 1) // 2)
    params.cpuparams_batch.n_threads = params.cpuparams.n_threads
    params.cache_ram_mib = 0
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)  # its threads need not end their calls


if __name__ == "__main__":
    main()
