"""Extension point for kinds of documents with a known form, such as company filings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from spanwise.types import Heading, Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentKind:
    """Rules of one kind of document: metadata and title of its first page, and its headings."""

    cover_fields: Callable[[str], Mapping[str, Scalar]]
    """Return the metadata stated on the first page of a text; empty for other documents."""
    cover_title: Callable[[Mapping[str, Scalar]], str]
    """Return a title made from metadata; empty if the metadata is not of this kind."""
    kind_field: str
    """Metadata field that names the kind. If the caller supplies it, there is no cover title."""
    headings: Callable[[str, Sequence[Heading]], tuple[Heading, ...]]
    """Return all headings of a text in order, given those of its parser; empty for other
    documents."""
