"""Throughput of the parser's worker processes in pages per second, and their peak memory."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from spanwise.options import ParseOptions
from spanwise.parsers.process.isolation import ParserPool

__all__ = ["measure_pool"]

_KIB = 1024 if sys.platform == "darwin" else 1  # ru_maxrss is in bytes there


def measure_pool(paths: Sequence[Path], *, workers: Sequence[int] = (1, 2)) -> None:
    """Print pages per second (wall time) for several numbers of worker processes."""
    print("| workers | pages/s, wall time | seconds | largest worker, MB |")
    print("|---|---|---|---|")
    for count in workers:
        start = time.perf_counter()
        with (
            ParserPool(options=ParseOptions(), workers=count) as pool,
            ThreadPoolExecutor(count) as threads,
        ):

            def parse(path: Path, pool: ParserPool = pool) -> int:
                document = pool.parse(path, document_id=path.name, source="", source_root="")
                return len(document.pages)

            pages = sum(threads.map(parse, paths))
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / _KIB / 1000
        print(f"| {count} | {pages / seconds:.0f} | {seconds:.1f} | {peak:.0f} |")
