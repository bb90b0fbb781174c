"""Updates of the metadata and the title of stored documents: `KnowledgeBase.update_metadata`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from spanwise.errors import OptionError, shown, unknown_document
from spanwise.filters import Filter, read_filter
from spanwise.ingest.fields import FieldChanges
from spanwise.ingest.sources import containers_of
from spanwise.knowledge_base.arguments import checked_list, checked_metadata, checked_text
from spanwise.threads import check_cancelled
from spanwise.types import GivenValue, MetadataReport, MetadataValue

if TYPE_CHECKING:
    from spanwise.ingest import Ingestor
    from spanwise.stores.port import Store
    from spanwise.types import MetadataChange

_MAX_TITLE_CHARS = 200


def update_documents(
    ingestor: Ingestor,
    documents: Sequence[str] | Filter | Mapping[str, object],
    changes: FieldChanges,
    *,
    dry_run: bool,
) -> MetadataReport:
    """Change the metadata and the title of documents, each in one transaction.

    Args:
        ingestor: Ingestor of the knowledge base.
        documents: Ids of documents, or a filter. The id of a container selects its members.
        changes: Fields and title to set.
        dry_run: Whether to report the changes without making them.

    Raises:
        OptionError: If `documents` is a text, or several documents would get the same title.
        DocumentNotFoundError: If an id is unknown; nothing was changed.
        FilterError: If the filter does not fit the fields of the documents.
    """
    ids = _selected(ingestor.store, documents)
    if changes.title and len(ids) > 1:
        raise OptionError(
            f"the title {shown(changes.title)} is given for {len(ids)} documents; give each "
            "document its own title"
        )
    changed: list[MetadataChange] = []
    unchanged: list[str] = []
    with ingestor.store.group_commits():
        for document_id in ids:
            check_cancelled()
            change = ingestor.change_metadata(document_id, changes, dry_run=dry_run)
            if change is None:
                continue  # deleted by another process meanwhile
            if change.before == change.after and change.title_before == change.title_after:
                unchanged.append(document_id)
            else:
                changed.append(change)
    return MetadataReport(changes=tuple(changed), unchanged=tuple(unchanged))


def checked_changes(fields: Mapping[str, GivenValue | None], *, title: str | None) -> FieldChanges:
    """Return the fields and the title to set.

    Raises:
        OptionError: If there is nothing to change, or a name, value or the title is invalid.
    """
    if not isinstance(fields, Mapping):
        raise OptionError(
            f"fields is {shown(fields)}; give a mapping of names to values, None to remove a field"
        )
    if not fields and title is None:
        raise OptionError("nothing to change: no field and no title is given; give one of them")
    if fields.get("title") is not None:
        raise OptionError(
            f"fields contains title: {shown(fields['title'])}; the title is not a metadata field: "
            "give it as the argument `title`"
        )
    removed = [name for name, value in fields.items() if value is None]
    values = {name: value for name, value in fields.items() if value is not None}
    checked_metadata(dict.fromkeys(removed, ""))
    checked = checked_metadata(values) or {}
    if title is not None:
        title = " ".join(checked_text(title, "a title").split())
        if len(title) > _MAX_TITLE_CHARS:
            raise OptionError(
                f"the title has {len(title)} characters; give at most {_MAX_TITLE_CHARS}"
            )
    edited: dict[str, MetadataValue | None] = {**checked, **dict.fromkeys(removed)}
    return FieldChanges(edited=edited, title=title)


def _selected(store: Store, documents: Sequence[str] | Filter | Mapping[str, object]) -> list[str]:
    """Return the ids of the selected documents, each once."""
    if isinstance(documents, str):
        raise OptionError(
            f"documents is the text {shown(documents)}; give a list of ids, as "
            f"[{shown(documents)}], or a filter: parse_filter({shown(documents)})"
        )
    if isinstance(documents, Filter | Mapping):
        return [record.id for record in store.list_records(read_filter(documents))]
    ids: dict[str, None] = {}
    for name in checked_list("documents", documents):
        found = [name] if store.get_record(name) else _members(store, name)
        if not found:
            raise unknown_document(name)
        ids.update(dict.fromkeys(found))
    return list(ids)


def _members(store: Store, container: str) -> list[str]:
    """Return the ids of the documents in an archive or mailbox."""
    records = store.list_records()
    return [record.id for record in records if container in containers_of(record.id)]
