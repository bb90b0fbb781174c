"""Rebuild of a knowledge base with other settings."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from spanwise.ingest.rebuild import Rebuilder, estimate_rebuild, has_kept_sections
from spanwise.knowledge_base.recorded_embedder import approve_embedder, named_embedder
from spanwise.knowledge_base.settings import NO_EMBEDDER, rebuilt_settings, wanted_settings
from spanwise.models.ledger import Ledger
from spanwise.types import RebuildReport

if TYPE_CHECKING:
    from spanwise.ingest.prepare import Draft
    from spanwise.knowledge_base.components import Components
    from spanwise.models.ports import Embedder
    from spanwise.options import ChunkOptions, SectionOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuildRequest:
    """Settings of a rebuild; a setting that is not given stays."""

    embedder: str | Embedder | None = "auto"
    """Name or object; "auto" for the recorded one, None for keyword search only."""
    tokenizer: str | None = None
    """Name of the tokenizer."""
    sections: SectionOptions | None = None
    """Options for splitting documents into sections."""
    chunks: ChunkOptions | None = None
    """Options for splitting sections into chunks."""


def rebuild(
    components: Components,
    request: RebuildRequest,
    *,
    dry_run: bool,
    on_progress: Callable[[int, int], None] | None,
) -> RebuildReport:
    """Rebuild a knowledge base, or estimate the calls of a rebuild.

    Args:
        components: Components of the current state.
        request: Settings of the new state.
        dry_run: Whether nothing is changed or sent.
        on_progress: Callback with the number of characters prepared so far and the total.
    """
    started = time.perf_counter()
    before = components.bytes_on_disk
    target = _target(components, request, dry_run=dry_run)
    kept = tuple(r.id for r in components.store.list_records() if has_kept_sections(r))
    is_same = _embedder_of(components) == _embedder_of(target)
    known = _known_vectors(components, target) if is_same else lambda _: {}
    ledger = Ledger(listener=components.listener) if dry_run else components.ledger()
    if dry_run:
        preparer = target.make_preparer(components.store, ledger)
        documents, chunks = estimate_rebuild(
            components.store,
            preparer=preparer,
            known_vectors=known,
            keeps_vectors=is_same,
            ledger=ledger,
            on_progress=on_progress,
        )
        chars = sum(record.chars for record in components.store.list_records())
        continued, after = 0, 0
    else:
        name = request.embedder if isinstance(request.embedder, str) else ""
        approve_embedder("" if name == "auto" else name, path=components.path)
        with components.store.open_rebuild(target.settings.recorded) as opened:
            rebuilder = Rebuilder(
                store=components.store,
                rebuild=opened,
                preparer=target.make_preparer(opened, ledger),
                known_vectors=known,
                keeps_vectors=is_same,
                ledger=ledger,
                on_progress=on_progress,
            )
            rebuilder.run()
        present = components.latest(embedder=target.given_embedder)
        present.store.compact()
        records = present.store.list_records()
        documents, chunks = len(records), sum(record.chunks for record in records)
        chars = sum(record.chars for record in records)
        continued, after = rebuilder.continued, components.bytes_on_disk
    return RebuildReport(
        path=str(components.path),
        documents=documents,
        continued=continued,
        chunks=chunks,
        chars=chars,
        kept_sections=kept,
        usage=ledger.usage,
        bytes_before=before,
        bytes_after=after,
        seconds=time.perf_counter() - started,
    )


def _target(components: Components, request: RebuildRequest, *, dry_run: bool) -> Components:
    """Return components with the settings of the new state.

    A dry run does not ask a remote embedder for its dimension.
    """
    embedder = named_embedder(request.embedder, models=components.models)
    wanted = wanted_settings(
        embedder=embedder,
        tokenizer=request.tokenizer,
        sections=request.sections,
        chunks=request.chunks,
        is_new=not dry_run,
    )
    settings = rebuilt_settings(components.store.ensure_settings({}), wanted)
    given = components.given_embedder if isinstance(embedder, str) else embedder
    return replace(components, settings=settings, given_embedder=given)


def _embedder_of(components: Components) -> tuple[str, str]:
    return components.settings.embedder, components.settings.embedder_version


def _known_vectors(
    components: Components, target: Components
) -> Callable[[Draft], Mapping[str, Any]]:
    """Return a function that finds stored vectors of the same embedder by text."""
    if target.settings.embedder == NO_EMBEDDER:
        return lambda _: {}
    return replace(components, given_embedder=target.given_embedder).ingestor.known_vectors
