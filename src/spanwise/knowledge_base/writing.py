"""What writes to a knowledge base or out of it: the ingest, and the copy of a backup."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.knowledge_base.information import folder_bytes
from spanwise.knowledge_base.settings import NO_EMBEDDER
from spanwise.models.embed_caller import make_embed_caller
from spanwise.models.ledger import Ledger
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.types import BackupReport

if TYPE_CHECKING:
    from spanwise.ingest import Ingestor, Preparer
    from spanwise.knowledge_base.settings import Settings
    from spanwise.models.ports import Embedder
    from spanwise.options import FetchOptions, ModelOptions, ParseOptions
    from spanwise.stores.port import Store
    from spanwise.types.listener import Listener


def make_ingestor(  # noqa: PLR0913 - all that a knowledge base was opened with
    store: Store,
    *,
    settings: Settings,
    embedder: Callable[[], Embedder | None],
    parse: ParseOptions,
    fetch: FetchOptions,
    models: ModelOptions,
    listener: Listener | None,
    budget: Ledger | None,
) -> Ingestor:
    """Return what takes documents in; models are loaded when the first document needs them.

    Args:
        store: Where they go.
        settings: Of the knowledge base.
        embedder: Loads what embeds their chunks.
        parse: Limits for parsing a file.
        fetch: Limits for fetching a URL.
        models: How models are called.
        listener: Hears the calls of models.
        budget: Shared budget of several operations; None for none.
    """
    from spanwise.ingest import Ingestor, Preparer

    made: list[Preparer] = []
    making = threading.Lock()

    def preparer() -> Preparer:
        with making:
            if not made:
                made.append(
                    Preparer(
                        tokenizer=make_tokenizer(settings.tokenizer),
                        embedder=make_embed_caller(
                            embedder(),
                            "document",
                            cache=store,
                            recorded_dimension=int(settings.recorded["dimension"]),
                            ledger=Ledger(max_cost=models.max_cost, parent=budget),
                        ),
                        sections=settings.sections,
                        chunks=settings.chunks,
                    )
                )
        return made[0]

    return Ingestor(
        store=store,
        preparer=preparer,
        embeds=settings.embedder != NO_EMBEDDER,
        parse=parse,
        fetch=fetch,
        workers=min(4, os.cpu_count() or 1),
        max_cost=models.max_cost,
        budget=budget,
        listener=listener,
    )


def copy_to(
    path: str | Path, store: Store, *, on_progress: Callable[[int, int], None] | None
) -> BackupReport:
    """Copy a store to a new folder, and return what was copied.

    Raises:
        OptionError: If the path cannot be a new folder outside of the store.
        StoreFullError: If its disk is full.
        StoreError: If it cannot be written, or the store is in memory.
    """
    started = time.perf_counter()
    target = Path(path).absolute()
    store.backup(target, on_progress=on_progress)
    return BackupReport(
        path=str(path),
        bytes_on_disk=folder_bytes(target),
        seconds=time.perf_counter() - started,
    )
