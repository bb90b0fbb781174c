"""Recall of each store at default settings: python -m benchmarks.store_recall DATASETS.

    python -m benchmarks.store_recall DATASETS --stores postgres,qdrant-near --queries 100

Each set is added to a folder and copied to the other stores. The stores answer the same questions,
original and reworded, with the shipped weights and without the second stage, whose time limit makes
scores vary. The table has the recall of evidence at each budget in the folder, and the difference
of each store to the folder, paired by question, with 95 % intervals. PostgreSQL is started by the
script unless `--postgres` names a database; Qdrant is Qdrant Edge, its engine as a library.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.growth import postgres_server
from benchmarks.lib.command_line import command_line, given
from benchmarks.lib.datasets import Dataset, Query, read_dataset
from benchmarks.lib.scoring import Differences, cut, mean_difference, recall
from benchmarks.lib.training import build
from benchmarks.quality import BUDGETS, spanwise_search
from spanwise import KnowledgeBase
from spanwise.knowledge_base.internals import searcher_of, store_of
from spanwise.options import SegmentOptions
from spanwise.stores.copy import StoreCopy
from spanwise.stores.port import Store

STORES = ("postgres", "qdrant", "qdrant-near")
_SETS = ("chroma", "qmsum")
Opener = Callable[[], Store]


def copied(source: KnowledgeBase, open_store: Opener) -> KnowledgeBase:
    """Return a knowledge base with a copy of a folder, in the store that a function opens."""
    with closing(open_store()) as target:
        StoreCopy(
            source=store_of(source),
            target=target,
            source_name="the folder",
            target_name="the copy",
            origin="folder 1",
        ).run()
        target.compact()
    return KnowledgeBase("copy", store=open_store())


@contextmanager
def openers(names: Sequence[str], database: str | None) -> Iterator[dict[str, Opener]]:
    """Yield, by name of a store, a function that opens a knowledge base in it."""
    place = uuid.uuid4().hex[:12]
    found: dict[str, Opener] = {}
    with ExitStack() as stack:
        if database is not None:
            from spanwise.stores.postgres.store import open_postgres

            address = f"{database}?schema=recall_{place}"
            found["postgres"] = lambda: open_postgres(address)
        if any(name.startswith("qdrant") for name in names):
            from tests.servers.qdrant_edge import SharedClient, edge_client

            from spanwise.stores.qdrant.store import open_qdrant

            client = SharedClient(stack.enter_context(edge_client(indexing_threshold=50)))
            found["qdrant"] = lambda: open_qdrant(f"qdrant://edge/exact-{place}", client=client)
            found["qdrant-near"] = lambda: open_qdrant(
                f"qdrant://edge/near-{place}?exact_chunks=0", client=client
            )
        yield {name: found[name] for name in names}


def recalls(base: KnowledgeBase, queries: Sequence[Query]) -> Differences:
    """Return the recall in percent of each question at each budget."""
    search = spanwise_search(searcher_of(base), SegmentOptions.BALANCED, deep=False)
    return np.array(
        [[100 * recall(q, cut(search(q, budget), budget)) for budget in BUDGETS] for q in queries]
    )


def measure(dataset: Dataset, folder: Path, stores: dict[str, Opener]) -> None:
    """Print the recall of the folder, and the differences of the other stores."""
    kinds = {kind: [q for q in dataset.queries if q.kind == kind] for kind in _kinds(dataset)}
    with build(dataset, folder) as base:
        chunks = base.info().chunks
        expected = {kind: recalls(base, queries) for kind, queries in kinds.items()}
        for kind, values in expected.items():
            shown = " / ".join(f"{value:.1f}" for value in values.mean(axis=0))
            about = f"{dataset.name}, {chunks:,} chunks, {len(values)} {kind or 'original'}"
            print(f"{about}: folder {shown}", flush=True)
        for name, open_store in stores.items():
            with copied(base, open_store) as copy:
                for kind, queries in kinds.items():
                    differences = recalls(copy, queries) - expected[kind]
                    changed = np.count_nonzero(differences.any(axis=1))
                    print(
                        f"  {name:<13} {kind or 'original':<9} {mean_difference([differences])}"
                        f"  {changed} of {len(queries)} questions differ",
                        flush=True,
                    )


def _kinds(dataset: Dataset) -> list[str]:
    return list(dict.fromkeys(query.kind for query in dataset.queries))


def main() -> None:
    """Run the benchmark."""
    parser = command_line(__doc__, sets=_SETS, queries=100, writes=False)
    parser.add_argument("--stores", default=",".join(STORES), help="stores to compare")
    parser.add_argument("--postgres", help="address of a database to use")
    with given(parser) as arguments, TemporaryDirectory() as folder, ExitStack() as stack:
        names = arguments.stores.split(",")
        needed = any(name.startswith("postgres") for name in names)
        database = stack.enter_context(postgres_server(arguments.postgres, is_needed=needed))
        for name in arguments.sets:
            dataset = read_dataset(
                arguments.datasets / name, limit=arguments.queries, reworded=True
            )
            with openers(names, database) as stores:
                measure(dataset, Path(folder), stores)


if __name__ == "__main__":
    main()
