"""Citations, and their location after the cited document has changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from spanwise.types.plain import PlainForm

CitationStatus = Literal["current", "moved", "changed", "removed"]
"""State of a cited text today.

"current": still at the cited position. "moved": found at another position. "changed": edited or
deleted. "removed": its document is no longer in the knowledge base.
"""


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
    numbers."""
    section_path: tuple[str, ...] = ()
    """Titles of the enclosing sections, outermost first."""
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

    def __str__(self) -> str:
        """Return title, section path, pages and characters in one readable line."""
        return f"{self.title or self.document_id}, {self.place}"

    @property
    def place(self) -> str:
        """Section path, pages and characters in one readable line."""
        path = self.section_path
        if path[:1] == (self.title,):  # callers show the title next to it
            path = path[1:]
        parts = (" > ".join(path), self.page_range, f"characters {self.start}-{self.end}")
        return ", ".join(part for part in parts if part)

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
