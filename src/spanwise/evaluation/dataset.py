"""What is evaluated with: questions whose evidence is known, and the documents they are about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from spanwise.types import Page, Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A place that holds a part of the answer: characters, a page, or a document as a whole."""

    document_id: str
    start: int | None = None
    """First character in the text of the document; None where only pages or documents are known."""
    end: int | None = None
    """One past the last character."""
    page: int | None = None
    """From 1; None where it is not known."""
    text: str = ""
    """What stands there, as far as it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuestion:
    """A question with what is known of its answer."""

    id: str
    text: str
    evidence: tuple[Evidence, ...] = ()
    """Empty where the documents do not answer it, or nothing is known of it."""
    answer: str = ""
    """The answer that counts as right; empty where none is known."""
    rubric: str = ""
    """By what an answer is graded; empty where none is known."""
    scope: tuple[str, ...] | None = None
    """Documents that the question is about: nothing else is searched. None for all."""
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    """What else is known of it, such as its kind; figures are also told apart by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentText:
    """The text of a document, as the offsets of evidence count it."""

    text: str
    pages: tuple[Page, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDocument:
    """A document of a dataset that is not yet in a knowledge base."""

    id: str
    title: str = ""
    """Empty for the one that is found in it."""
    path: Path | None = None
    """File that is parsed as `KnowledgeBase.add` does it; None where `text` is given."""
    text: str | None = None
    """Text as the offsets of evidence count it."""
    pages: tuple[Page, ...] = ()
    """Of the text, in order; empty where it has none, or a file is parsed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Questions of a dataset that cannot be used."""

    count: int = 0
    reasons: tuple[str, ...] = ()
    """Why, of the first of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Questions, and the documents they are about."""

    name: str
    questions: tuple[LabelledQuestion, ...]
    documents: tuple[DatasetDocument, ...] = ()
    """Empty where they are in a knowledge base already."""
    left_out: LeftOut | None = None
    """Of a published dataset, the questions that cannot be used; None where all have to be."""
