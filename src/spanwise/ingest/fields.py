"""Metadata fields and title of a document, from all their origins.

Origins of a field, from the lowest precedence: the file; the sidecar file of its folder; the caller
of `add` or `sync`; an update of the metadata. A field that an update removed stays removed.

The title is that of the update, or else that of the sidecar file, or else the base title, which
comes from a model, the caller or the file. The base title depends only on fields of the file and of
the caller, so it stays the same whether the document is parsed again or only its metadata is
changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spanwise.filters import value_key
from spanwise.types import Document, DocumentRecord, FieldOrigins, MetadataValue

if TYPE_CHECKING:
    from spanwise.ingest.sidecar import SidecarRow


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChanges:
    """Fields that one call passes for a document."""

    sidecar: SidecarRow | None = None
    """Row of the sidecar files; None to keep the stored fields of an earlier one."""
    given: Mapping[str, MetadataValue] | None = None
    """Fields from the caller of `add` or `sync`; None to keep the stored ones."""
    edited: Mapping[str, MetadataValue | None] = field(default_factory=dict)
    """Fields to set by an update, None to remove one; others are kept."""
    title: str | None = None
    """Title to set by an update, empty for the base title; None to keep the stored one."""

    def applied(self, origins: FieldOrigins) -> FieldOrigins:
        """Return the origins of the fields of a document after this call."""
        if self.sidecar is not None:
            origins = replace(
                origins, sidecar=self.sidecar.fields, sidecar_title=self.sidecar.title
            )
        return replace(
            origins,
            given=origins.given if self.given is None else self.given,
            edited={**origins.edited, **self.edited},
            edited_title=origins.edited_title if self.title is None else self.title,
        )


def stored_origins(
    stored: Document | DocumentRecord | None, *, root: str | None = None
) -> FieldOrigins:
    """Return the origins of the fields of a stored document.

    Args:
        stored: Stored document; None for none.
        root: Source root of the document that replaces it. A document from another root keeps no
            field. None for the same root.
    """
    if stored is None or root not in (None, stored.source_root):
        return FieldOrigins()
    if stored.origins is not None:
        return stored.origins
    given = {name: stored.metadata[name] for name in stored.given_fields}
    return FieldOrigins(
        file={name: value for name, value in stored.metadata.items() if name not in given},
        given=given,
    )


def follows_from(
    origins: FieldOrigins, changes: FieldChanges, stored: DocumentRecord | None, *, root: str
) -> bool:
    """Return whether a call that changes fields of a stored document results in these origins.

    Args:
        origins: Origins of the fields of a prepared document.
        changes: Fields that the call passes.
        stored: Record of the stored document; None for none.
        root: Source root of the prepared document.
    """
    now = changes.applied(stored_origins(stored, root=root))
    return same_origins(replace(now, file=origins.file), origins)


def has_other_origins(origins: FieldOrigins) -> bool:
    """Return whether a field or the title comes from a sidecar file or an update."""
    return bool(origins.sidecar or origins.edited or origins.sidecar_title or origins.edited_title)


def merged_fields(origins: FieldOrigins) -> dict[str, MetadataValue]:
    """Return the fields of a document from all origins."""
    merged = {**origins.file, **origins.sidecar, **origins.given, **origins.edited}
    return {name: value for name, value in merged.items() if value is not None}


def with_origins(document: Document, origins: FieldOrigins) -> Document:
    """Return a document with the fields of these origins."""
    return replace(
        document,
        metadata=merged_fields(origins),
        given_fields=tuple(sorted(origins.given)),
        origins=origins if has_other_origins(origins) else None,
    )


def base_document(document: Document) -> Document:
    """Return a document with the fields from which its base title is made."""
    origins = document.origins
    if origins is None:
        return document
    return replace(document, metadata={**origins.file, **origins.given})


def with_base_title(document: Document, title: str) -> tuple[Document, str]:
    """Return a document that records its base title, and its title from all origins."""
    origins = document.origins
    chosen = "" if origins is None else origins.edited_title or origins.sidecar_title
    if origins is not None:
        recorded = replace(origins, base_title=title if chosen else "")
        document = replace(document, origins=recorded)
    return document, chosen or title


def base_title(record: DocumentRecord) -> str:
    """Return the title of a stored document without a sidecar file and without updates."""
    return (record.origins and record.origins.base_title) or record.title


def unused_values(
    stored: DocumentRecord | None, given: Mapping[str, MetadataValue], *, title: str
) -> tuple[str, ...]:
    """Return a warning if an update takes precedence over fields or a title of the caller.

    Args:
        stored: Record of the document; None for none.
        given: Fields from the caller.
        title: Title from the caller; empty for none.
    """
    if stored is None or stored.origins is None:
        return ()
    origins = stored.origins
    values, edited = with_types(given), with_types(origins.edited)
    unused = [repr(name) for name in given if edited.get(name, values[name]) != values[name]]
    if title and origins.edited_title and origins.edited_title != " ".join(title.split()):
        unused.append("the title")
    if not unused:
        return ()
    return (
        f"{stored.id}: kept as update_metadata has set or removed it: {', '.join(unused)}; to "
        "change it, call update_metadata again",
    )


def with_types(metadata: Mapping[str, MetadataValue | None]) -> dict[str, tuple[object, ...]]:
    """Return fields in a form that can be compared: without types, 1, 1.0 and True are equal."""
    return {
        name: (None,) if value is None else value_key(value) for name, value in metadata.items()
    }


def same_origins(first: FieldOrigins, second: FieldOrigins) -> bool:
    """Return whether fields and titles of all origins are equal, without the base title."""
    return _comparable(first) == _comparable(second)


def _comparable(origins: FieldOrigins) -> tuple[object, ...]:
    parts = (origins.file, origins.sidecar, origins.given, origins.edited)
    return (*map(with_types, parts), origins.sidecar_title, origins.edited_title)
