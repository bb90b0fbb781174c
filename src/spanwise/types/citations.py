"""Citations, and their location after the cited document has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from spanwise.types.plain import PlainForm

CitationStatus = Literal["current", "moved", "changed", "removed"]
"""State of a cited text today.

"current": still at the cited position. "moved": found at another position. "changed": edited or
deleted. "removed": its document is no longer in the knowledge base.
"""

_LISTED_SECTIONS = 3
_LISTED_CHARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation(PlainForm):
    """Pointer to a range of characters of a document."""

    document_id: str
    """Id of the cited document."""
    title: str
    """Title of the cited document."""
    start: int
    """Offset of the first cited character, from 0."""
    end: int
    """Offset one past the last cited character."""
    pages: tuple[int, int] | None = None
    """First and last page, 1-based; None if the format has no pages."""
    page_labels: tuple[str, str] | None = None
    """Labels printed on the first and last page, such as "F-12"; None if they equal the page
    numbers, or if one of the pages has none or they are not in order."""
    section_path: tuple[str, ...] = ()
    """Titles of the enclosing sections, outermost first. If the range spans several sections, those
    of the most relevant one."""
    sections: tuple[tuple[str, ...], ...] = ()
    """Section paths of all sections in the range, in order; empty if there is only one."""
    source: str = ""
    """Path or URL of the document; empty for text added by a program."""
    version: str = ""
    """Version of the document at the time of the citation, see `DocumentRecord.version`; empty if
    unknown."""
    quote: str = ""
    """Beginning of the cited text; all of it if it is short."""
    text_hash: str = ""
    """SHA-256 of the cited text in hexadecimal. `KnowledgeBase.locate` uses it to find the text
    again."""
    knowledge_base: str = ""
    """Name of the knowledge base in a search of several; empty otherwise."""
    described_by: str = ""
    """Vendor and model that wrote a description of a figure in the cited text, which is not in the
    file; empty if all of it is in the file."""

    def __str__(self) -> str:
        """Return title, section path, pages and characters in one readable line.

        In a search of several knowledge bases, the line begins with the name of the knowledge base.
        """
        line = f"{self.title or self.document_id}, {self.place}"
        return f"{self.knowledge_base}: {line}" if self.knowledge_base else line

    @property
    def place(self) -> str:
        """Section path, pages and characters in one readable line."""
        path = self.spanned_path
        if path[:1] == (self.title,):  # callers show the title next to it
            path = path[1:]
        place = f"characters {self.start}-{self.end}"
        by = f"figure described by {self.described_by}" if self.described_by else ""
        parts = (" > ".join(path), self.page_range, place, by)
        return ", ".join(part for part in parts if part)

    @property
    def spanned_path(self) -> tuple[str, ...]:
        """Section path of the whole range, which names all its sections in one line.

        Sections without a title are left out.
        If there are several, it is their common path, followed by their titles: all of up to three
        ("Note 3 Leases; Note 4 Taxes"), or the first and the last ("Note 3 Leases … Note 9 Debt").
        If one of them encloses the others, it is the path of that one.
        """
        return spanned_path(self.sections or (self.section_path,))

    @property
    def page_range(self) -> str:
        """Pages in readable form: "page 45 (F-12)", "pages 45-47"; empty without pages."""
        if self.pages is None:
            return ""
        noun = "page" if self.pages[0] == self.pages[1] else "pages"
        return f"{noun} {self.page_numbers}"

    @property
    def page_numbers(self) -> str:
        """Page numbers with their printed labels: "45 (F-12)"; empty without pages."""
        if self.pages is None:
            return ""
        first, last = self.pages
        numbers = f"{first}" if first == last else f"{first}-{last}"
        if self.page_labels is None:
            return numbers
        label, last_label = self.page_labels
        return f"{numbers} ({label})" if first == last else f"{numbers} ({label} to {last_label})"


def spanned_path(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the common path of some sections, followed by one entry with their titles.

    If one of the sections encloses the others, it is the path of that section.
    """
    titled = [path for path in paths if any(path[-1:])]
    paths = [tuple(filter(None, path)) for path in titled or paths]
    depth = 0
    while all(len(path) > depth and path[depth] == paths[0][depth] for path in paths):
        depth += 1
    common = paths[0][:depth]
    if common in paths:
        return common
    titles = list(dict.fromkeys(path[depth] for path in paths))
    listed = [_shortened(title) for title in titles]
    if len(titles) > _LISTED_SECTIONS:
        return (*common, f"{listed[0]} … {listed[-1]}")
    return (*common, "; ".join(listed))


def _shortened(title: str) -> str:
    if len(title) <= _LISTED_CHARS:
        return title
    return title[: _LISTED_CHARS - 1].rstrip() + "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationLocation(PlainForm):
    """Present location of a cited text, or of the passage that replaced it."""

    cited: Citation
    """Citation that was looked up."""
    status: CitationStatus
    """State of the cited text: "current", "moved", "changed" or "removed"."""
    citation: Citation | None = None
    """Citation into the present document: of the cited text, or else of the most similar passage;
    None if there is neither."""
    text: str = ""
    """Text at the present location; identical to the cited text if "current" or "moved"."""
    similarity: float = 0.0
    """Similarity of the present text to the cited text, in [0, 1]; 1 if they are identical."""
    occurrences: int = 0
    """Number of times the cited text occurs in the document, at most 10,000; 0 if "changed" or
    "removed"."""
    message: str = ""
    """Human-readable description of the result."""
