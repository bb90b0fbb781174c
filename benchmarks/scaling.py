"""Extrapolate the figures of benchmarks.growth, and price them.

    python -m benchmarks.scaling growth.jsonl

The file has the rows that `python -m benchmarks.growth --results growth.jsonl` appends. The script
prints what a million chunks cost, and estimates for more chunks than were measured.

Model, for each store, from its two largest measured sizes:

- disk and memory are linear in the number of chunks, and so is the time of a search;
- the time of a search in Qdrant is linear in the logarithm of the number of chunks;
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
_LOGARITHMIC = ("qdrant",)
_FILLED_AS = {"postgres-cache": "postgres"}
"""Store of the same copy, whose rate of the copy was measured."""
_UNMEASURED_SERVERS = ("qdrant",)
"""Stores whose servers are not on the machine that measures."""
_MEMORY = ("client_mb", "server_mb", "mapped_mb")
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
    hours: float | None
    disk_gb: float | None
    memory_gb: float | None
    milliseconds: float | None

    def month(self, prices: Prices, *, replicas: int = 1) -> float | None:
        """Return the price of a month in US dollars; None if a size was not measured."""
        if self.memory_gb is None or self.disk_gb is None:
            return None
        memory = max(4.0, self.memory_gb * _HEADROOM)
        machine = _CORES * prices.core + memory * prices.memory_gb + self.disk_gb * prices.disk_gb
        return replicas * machine


def costs(rows: Sequence[Mapping[str, Any]], chunks: int, *, store: str) -> Costs:
    """Estimate the costs of some number of chunks in a store from measured rows of all stores."""
    by_size = {int(row["chunks"]): row for row in rows if row["store"] == store}
    own = [by_size[size] for size in sorted(by_size)]
    memory = [_line(own, name, chunks) for name in _MEMORY]
    known = [value for value in memory if value is not None]
    disk = _line(own, "disk_mb", chunks)
    return Costs(
        chunks=chunks,
        hours=_hours(rows, chunks, store),
        disk_gb=None if disk is None else disk / 1e3,
        memory_gb=sum(known) / 1e3 if known and store not in _UNMEASURED_SERVERS else None,
        milliseconds=_line(own, "median_ms", chunks, logarithmic=store in _LOGARITHMIC),
    )


def _hours(rows: Sequence[Mapping[str, Any]], chunks: int, store: str) -> float | None:
    """Return the hours to fill a store at the rate of its largest size."""
    filled = _FILLED_AS.get(store, store)
    rates = {
        int(row["chunks"]): row["chunks_per_second"]
        for row in rows
        if row["store"] == filled and row.get("chunks_per_second") is not None
    }
    return float(chunks / rates[max(rates)] / _SECONDS_AN_HOUR) if rates else None


def _line(
    rows: Sequence[Mapping[str, Any]], name: str, chunks: int, *, logarithmic: bool = False
) -> float | None:
    """Return the value at some number of chunks of the line through the two largest sizes."""
    points = [(float(row["chunks"]), float(row[name])) for row in rows if row.get(name) is not None]
    if not points:
        return None
    if len(points) == 1:
        return points[0][1]
    scale = math.log10 if logarithmic else float
    (first, low), (second, high) = points[-2:]
    slope = (high - low) / (scale(second) - scale(first))
    return high + max(0.0, slope) * (scale(float(chunks)) - scale(second))


def table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def number(value: float | None) -> str:
    """Return a number with two significant digits, or as a whole number; "-" for None."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def report(rows: Sequence[Mapping[str, Any]], prices: Prices, *, shard: int) -> str:
    """Return the tables of all stores."""
    stores = list(dict.fromkeys(str(row["store"]) for row in rows))
    header = ["store", "chunks", "hours to fill", "disk GB", "memory GB", "ms", "$ a month"]
    one, many = [], []
    for store in stores:
        estimates = [costs(rows, n * _MILLION, store=store) for n in (1, 10, 100)]
        one += [_cells(store, estimate, prices) for estimate in estimates]
        part = costs(rows, shard, store=store)
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
