"""Extrapolate the figures of benchmarks.growth, and price them.

    python -m benchmarks.scaling growth.jsonl

The file has the rows that `python -m benchmarks.growth --results growth.jsonl` appends. The script
prints what a million chunks cost, and estimates for more chunks than were measured.

Model, for each store, from its two largest measured sizes:

- disk and memory are linear in the number of chunks, and so is the time of a search;
- the time of a search with an HNSW index is linear in the logarithm of the number of chunks;
- the rates of ingest and of copies stay as measured at the largest size;
- a shard of `--shard` chunks is searched by a machine of its own, at the same time as the others;
- a machine has the memory of its shard and half as much again, and two cores;
- prices are per month: a core, a GB of memory and a GB of disk.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MILLION = 1_000_000
_CORES = 2
_HEADROOM = 1.5
_SECONDS_AN_HOUR = 3_600
_LOGARITHMIC = ("postgres-hnsw", "qdrant")
_SMOKE: list[dict[str, Any]] = [
    {"store": "folder", "chunks": n, "chunks_per_second": 4e3, "disk_mb": n / 600, "client_mb": 90}
    | {"server_mb": None, "mapped_mb": n / 1500, "median_ms": 20 + n / 1e5}
    for n in (10_000, 100_000)
]


@dataclass(frozen=True)
class Prices:
    """Prices of a month in US dollars."""

    core: float
    memory_gb: float
    disk_gb: float


@dataclass(frozen=True)
class Costs:
    """What some number of chunks costs in one store on one machine."""

    chunks: int
    hours: float
    disk_gb: float
    memory_gb: float
    milliseconds: float

    def month(self, prices: Prices, *, replicas: int = 1) -> float:
        """Return the price of a month in US dollars."""
        memory = max(4.0, self.memory_gb * _HEADROOM)
        machine = _CORES * prices.core + memory * prices.memory_gb + self.disk_gb * prices.disk_gb
        return replicas * machine


def costs(rows: Sequence[Mapping[str, Any]], chunks: int) -> Costs:
    """Estimate the costs of some number of chunks from measured rows of one store."""
    rows = sorted(rows, key=lambda row: int(row["chunks"]))
    last = rows[-1]
    logarithmic = last["store"] in _LOGARITHMIC
    return Costs(
        chunks=chunks,
        hours=chunks / last["chunks_per_second"] / _SECONDS_AN_HOUR,
        disk_gb=_line(rows, "disk_mb", chunks) / 1e3,
        memory_gb=sum(_line(rows, name, chunks) for name in _MEMORY) / 1e3,
        milliseconds=_line(rows, "median_ms", chunks, logarithmic=logarithmic),
    )


_MEMORY = ("client_mb", "server_mb", "mapped_mb")


def _line(
    rows: Sequence[Mapping[str, Any]], name: str, chunks: int, *, logarithmic: bool = False
) -> float:
    """Return the value at some number of chunks of the line through the two largest sizes."""
    points = [(float(row["chunks"]), float(row[name])) for row in rows if row.get(name) is not None]
    if not points:
        return 0.0
    scale = math.log10 if logarithmic else float
    (first, low), (second, high) = points[-2:] if len(points) > 1 else points * 2
    if first == second:
        return high
    slope = (high - low) / (scale(second) - scale(first))
    return high + max(0.0, slope) * (scale(float(chunks)) - scale(second))


def table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def number(value: float) -> str:
    """Return a number with two significant digits, or as a whole number."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def report(rows: Sequence[Mapping[str, Any]], prices: Prices, *, shard: int) -> str:
    """Return the tables of all stores."""
    stores = list(dict.fromkeys(str(row["store"]) for row in rows))
    header = ["store", "chunks", "hours to fill", "disk GB", "memory GB", "ms", "$ a month"]
    one, many = [], []
    for store in stores:
        own = [row for row in rows if row["store"] == store]
        one += [_cells(store, costs(own, n * _MILLION), prices) for n in (1, 10, 100)]
        part = costs(own, shard)
        for chunks in (100 * _MILLION, 1_000 * _MILLION):
            shards = math.ceil(chunks / shard)
            price = part.month(prices, replicas=2 * shards)
            cells = _cells(store, part, prices)
            many.append([store, f"{chunks:,}", f"{shards:,}", *cells[2:6], number(price)])
    sharded = ["store", "chunks", "shards", *(f"{name} a shard" for name in header[2:5])]
    sharded += ["ms a shard", "$ a month with two replicas"]
    return "\n\n".join(["One machine:", table(header, one), "Shards:", table(sharded, many)])


def _cells(store: str, one: Costs, prices: Prices) -> list[str]:
    values = (one.hours, one.disk_gb, one.memory_gb, one.milliseconds, one.month(prices))
    return [store, f"{one.chunks:,}", *(number(value) for value in values)]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, nargs="?", help="rows of benchmarks.growth")
    parser.add_argument("--shard", type=int, default=10 * _MILLION, help="chunks of a shard")
    parser.add_argument("--core", type=float, default=20.0, help="price of a core")
    parser.add_argument("--memory", type=float, default=2.5, help="price of a GB of memory")
    parser.add_argument("--disk", type=float, default=0.08, help="price of a GB of disk")
    parser.add_argument("--smoke", action="store_true", help="made rows")
    given = parser.parse_args()
    if given.smoke:
        rows = _SMOKE
    elif given.results is None:
        parser.error("name the file with the rows of benchmarks.growth")
    else:
        rows = [json.loads(line) for line in given.results.read_text("utf-8").splitlines()]
    print(report(rows, Prices(given.core, given.memory, given.disk), shard=given.shard))


if __name__ == "__main__":
    main()
