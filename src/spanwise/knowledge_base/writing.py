"""What writes to a knowledge base or out of it: the ingest, and the copy of a backup."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.knowledge_base.information import folder_bytes
from spanwise.knowledge_base.settings import NO_EMBEDDER
from spanwise.providers.tokens import make_tokenizer
from spanwise.types import BackupReport

if TYPE_CHECKING:
    from spanwise.ingest import Ingestor, Preparer
    from spanwise.knowledge_base.settings import Settings
    from spanwise.options import FetchOptions, ParseOptions
    from spanwise.ports import Embedder, Store

__all__ = ["copy_to", "make_ingestor"]


def make_ingestor(
    store: Store,
    *,
    settings: Settings,
    embedder: Callable[[], Embedder | None],
    parse: ParseOptions,
    fetch: FetchOptions,
) -> Ingestor:
    """Return what takes documents in; models are loaded when the first document needs them.

    Args:
        store: Where they go.
        settings: Of the knowledge base.
        embedder: Loads what embeds their chunks.
        parse: Limits for parsing a file.
        fetch: Limits for fetching a URL.
    """
    from spanwise.ingest import Ingestor, Preparer  # a search never needs them

    made: list[Preparer] = []

    def preparer() -> Preparer:
        if not made:
            made.append(
                Preparer(
                    tokenizer=make_tokenizer(settings.tokenizer),
                    embedder=embedder(),
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
