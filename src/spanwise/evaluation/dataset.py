"""Types of a dataset: labelled questions, their evidence, and documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from spanwise.types import Page, Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Position of a part of the answer: a character range, a page, or a whole document."""

    document_id: str
    start: int | None = None
    """Index of the first character in the document; None if only the page or document is known."""
    end: int | None = None
    """Index after the last character; None if unknown."""
    page: int | None = None
    """Page number, counted from 1; None if unknown."""
    text: str = ""
    """Text at this position; empty if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuestion:
    """Question with its evidence, right answer and metadata."""

    id: str
    text: str
    evidence: tuple[Evidence, ...] = ()
    """Evidence of the answer; empty if the question is unanswerable or not labelled."""
    answer: str = ""
    """Right answer; empty if unknown."""
    rubric: str = ""
    """Rubric for grading an answer; empty if there is none."""
    scope: tuple[str, ...] | None = None
    """Ids of the documents to search; None for all."""
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    """Additional labels, such as the kind of question. Figures are also reported by label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentText:
    """Text and pages of a document; evidence positions refer to this text."""

    text: str
    pages: tuple[Page, ...] = ()
    """Pages of the text in order; empty for a text without pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDocument:
    """Document of a dataset: a file or a text."""

    id: str
    title: str = ""
    """Title; empty to use the title of the file."""
    path: Path | None = None
    """File to parse; None if `text` is given."""
    text: str | None = None
    """Text of the document, to which evidence positions refer; None if `path` is given."""
    pages: tuple[Page, ...] = ()
    """Pages of the text in order; empty for a text without pages and for a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Number of unusable questions of a dataset, with reasons."""

    count: int = 0
    """Number of unusable questions."""
    reasons: tuple[str, ...] = ()
    """Reasons for the first 20 unusable questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Questions, and the documents that contain their evidence."""

    name: str
    questions: tuple[LabelledQuestion, ...]
    documents: tuple[DatasetDocument, ...] = ()
    """Documents of the dataset; empty if they are already in a knowledge base."""
    left_out: LeftOut | None = None
    """Unusable questions of a published dataset; None if any unusable question is an error."""
