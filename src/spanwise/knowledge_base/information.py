"""What a knowledge base holds, in numbers."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.filters import filter_fields, known_fields
from spanwise.packs.pack_file import recorded_packs
from spanwise.types import KnowledgeBaseInfo

if TYPE_CHECKING:
    from spanwise.search.tuned_options import Tuning
    from spanwise.stores.port import Store


def information(
    store: Store, *, path: Path, folder: Path, tuning: Tuning | None
) -> KnowledgeBaseInfo:
    """Return what a knowledge base holds and how it was made.

    Args:
        store: Its store.
        path: As the caller wrote it.
        folder: Where it lies.
        tuning: That it was opened with.
    """
    records = store.list_records()
    settings = store.ensure_settings({})
    outputs, output_bytes = store.count_outputs()
    fields = known_fields(
        filter_fields(one.metadata, title=one.title, language=one.language, status=one.status)
        for one in records
    )
    packs = recorded_packs(settings.get("packs", ""))
    tuned = {} if tuning is None else {"tuning": tuning.words}
    return KnowledgeBaseInfo(
        path=str(path),
        documents=len(records),
        chunks=sum(record.chunks for record in records),
        chars=sum(record.chars for record in records),
        tokens=sum(record.tokens for record in records),
        bytes_on_disk=folder_bytes(folder),
        settings={**settings, "packs": ", ".join(named.pack.name for named in packs), **tuned},
        fields={name: tuple(sorted(kinds)) for name, kinds in fields.items()},
        partial=sum(record.status == "partial" for record in records),
        needs_ocr=sum(record.status == "needs_ocr" for record in records),
        outputs=outputs,
        output_bytes=output_bytes,
        threads=len(store.list_threads()),
    )


def folder_bytes(path: Path) -> int:
    """Return the bytes of all files below a folder; 0 where there is none."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(FileNotFoundError):  # the index is compacted meanwhile
                total += Path(folder, name).stat().st_size
    return total
