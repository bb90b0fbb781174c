"""Pointers into documents, and what became of the text they point at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from spanwise.types.plain import PlainForm

CitationStatus = Literal["current", "moved", "changed", "removed"]
"""What became of a cited text: it stands where it stood, stands elsewhere, is gone or edited, or
its document is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation(PlainForm):
    """Pointer to a range of a document."""

    document_id: str
    title: str
    start: int
    end: int
    pages: tuple[int, int] | None = None
    """First and last page, 1-based; None where the format has no pages."""
    page_labels: tuple[str, str] | None = None
    """What is printed on these two pages, such as "F-12"; None where it is their numbers."""
    section_path: tuple[str, ...] = ()
    source: str = ""
    version: str = ""
    """Of the document when it was cited, as `DocumentRecord.version`; empty if not known."""
    quote: str = ""
    """How the text begins that it points at; all of it, where that is short."""
    text_hash: str = ""
    """SHA-256 of the text that it points at, hex; by it `KnowledgeBase.locate` finds it again."""

    def __str__(self) -> str:
        """Return it for people: title, section path, pages, characters."""
        return f"{self.title or self.document_id}, {self.place}"

    @property
    def place(self) -> str:
        """Where it stands in its document, for people: section path, pages, characters."""
        path = self.section_path
        if path[:1] == (self.title,):  # the title is said beside the place
            path = path[1:]
        parts = (" > ".join(path), self.page_range, f"characters {self.start}-{self.end}")
        return ", ".join(part for part in parts if part)

    @property
    def page_range(self) -> str:
        """Its pages for people: "page 45 (F-12)", "pages 45-47"; empty where there are none."""
        if self.pages is None:
            return ""
        noun = "page" if self.pages[0] == self.pages[1] else "pages"
        return f"{noun} {self.page_numbers}"

    @property
    def page_numbers(self) -> str:
        """The numbers of its pages with what is printed on them; empty where there are none."""
        if self.pages is None:
            return ""
        first, last = self.pages
        numbers = f"{first}" if first == last else f"{first}-{last}"
        if self.page_labels is None:
            return numbers
        label, last_label = self.page_labels
        return f"{numbers} ({label})" if first == last else f"{numbers} ({label} to {last_label})"


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationLocation(PlainForm):
    """Where a cited text stands now, or what stands in its place."""

    cited: Citation
    """The citation that was asked about."""
    status: CitationStatus
    citation: Citation | None = None
    """Into the document as it is now: to the text, or to the passage most like it; None where
    there is neither."""
    text: str = ""
    """What stands there; the cited text, character for character, if "current" or "moved"."""
    similarity: float = 0.0
    """Of that text to the cited one, in [0, 1]; 1 if it is the cited text."""
    occurrences: int = 0
    """How often the cited text stands in the document, 0 if "changed" or "removed"; 10,000 for
    more."""
    message: str = ""
    """What became of it, for people."""
