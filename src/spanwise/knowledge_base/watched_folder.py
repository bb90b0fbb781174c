"""Watch of a folder: from the arguments of `KnowledgeBase.watch` to its reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, TypedDict

from spanwise.knowledge_base.arguments import checked_list, checked_metadata

if TYPE_CHECKING:
    from spanwise.ingest import IngestJob
    from spanwise.ingest.sync import SyncedFolder
    from spanwise.knowledge_base.components import Components
    from spanwise.models.ports import LanguageModel
    from spanwise.options import ContextOptions
    from spanwise.types import GivenValue, IngestProgress, IngestReport


class WatchOptions(TypedDict, total=False):
    """Arguments that `KnowledgeBase.watch` and `sync` share."""

    include: Sequence[str]
    exclude: Sequence[str]
    metadata: Mapping[str, GivenValue] | None
    replace: bool
    allow_empty: bool
    llm: str | LanguageModel | None
    context: ContextOptions | None
    prefix: str | None
    follow_links: bool
    on_document: Callable[[IngestProgress], None] | None


def watch_folder(
    components: Components,
    folder: str | Path,
    options: WatchOptions,
    *,
    settle_seconds: float,
    stopped: Event | None,
) -> Iterator[IngestReport]:
    """Return an iterator over the reports; see `KnowledgeBase.watch`.

    Raises:
        OptionError: If an argument is invalid, or watchfiles is not installed.
    """
    from spanwise.ingest import IngestJob, read_sidecars, scan_folder
    from spanwise.ingest.watch import FolderWatch, check_watch

    check_watch(folder, settle_seconds)
    include = checked_list("include", options.get("include", ()))
    exclude = checked_list("exclude", options.get("exclude", ()))
    metadata = checked_metadata(options.get("metadata"))
    llm, context = options.get("llm"), options.get("context")
    follow_links = options.get("follow_links", False)

    def scan() -> SyncedFolder:
        return scan_folder(
            folder,
            include=include,
            exclude=exclude,
            prefix=options.get("prefix"),
            follow_links=follow_links,
            stored_ids=components.latest().ids_from,
        )

    def make_job(scanned: SyncedFolder) -> IngestJob:
        return IngestJob(
            metadata=metadata,
            sidecars=read_sidecars(scanned.sources, follow_links=follow_links),
            replace_other=options.get("replace", False),
            on_document=options.get("on_document"),
            enricher=components.latest().enricher(llm, context, dry_run=False),
        )

    watch = FolderWatch(
        scan=scan,
        make_job=make_job,
        ingestor=lambda: components.latest().ingestor,
        allow_empty=options.get("allow_empty", False),
        settle_seconds=settle_seconds,
        stopped=stopped or Event(),
    )
    return watch.reports()
