"""Types of a dataset: questions with their evidence, and documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from spanwise.types import Page, Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Place that holds a part of the answer: characters, a page, or a whole document."""

    document_id: str
    start: int | None = None
    """First character in the text of the document; None if only the page or document is known."""
    end: int | None = None
    """One past the last character."""
    page: int | None = None
    """Page, from 1; None if unknown."""
    text: str = ""
    """Text at the place, as far as it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuestion:
    """A question with its labels."""

    id: str
    text: str
    evidence: tuple[Evidence, ...] = ()
    """Evidence of the answer; empty if the documents do not answer it, or it is not labelled."""
    answer: str = ""
    """Right answer; empty if unknown."""
    rubric: str = ""
    """Rubric for grading an answer; empty if there is none."""
    scope: tuple[str, ...] | None = None
    """Documents that are searched for the question; None for all."""
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    """Further labels, such as its kind; figures are also reported by them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentText:
    """Text of a document, as offsets of evidence count it."""

    text: str
    pages: tuple[Page, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDocument:
    """A document of a dataset."""

    id: str
    title: str = ""
    """Title; empty for the one of the file."""
    path: Path | None = None
    """File that is parsed as by `KnowledgeBase.add`; None if `text` is given."""
    text: str | None = None
    """Text, as offsets of evidence count it; None if `path` is given."""
    pages: tuple[Page, ...] = ()
    """Pages of the text in order; empty for a text without pages and for a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Questions of a dataset that cannot be used."""

    count: int = 0
    reasons: tuple[str, ...] = ()
    """Reasons for the first of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Questions and the documents they are about."""

    name: str
    questions: tuple[LabelledQuestion, ...]
    documents: tuple[DatasetDocument, ...] = ()
    """Documents; empty if they are in a knowledge base already."""
    left_out: LeftOut | None = None
    """Unusable questions of a published dataset; None for a dataset without tolerance."""
