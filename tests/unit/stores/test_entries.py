"""Entries that do not fit together are refused, each with its own reason."""

from dataclasses import replace

import numpy as np
import pytest

from spanwise.errors import OptionError
from spanwise.stores.entries import check_entry
from spanwise.stores.port import DocumentEntry
from spanwise.testing.store_entries import DIMENSION, make_corpus, make_entry
from spanwise.types import Page

ENTRY = make_entry("a", ["first\n", "second\n", "third"], metadata={"year": 1})
FIRST, SECOND, THIRD = ENTRY.chunks
DOCUMENT = ENTRY.document


def test_what_fits_is_accepted() -> None:
    """With vectors and without."""
    for entry in make_corpus():
        check_entry(entry, dimension=DIMENSION)
    for entry in make_corpus(dimension=0):
        check_entry(entry, dimension=0)


def _with_vectors(vectors: object) -> DocumentEntry:
    return replace(ENTRY, vectors=vectors)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (replace(ENTRY, document=replace(DOCUMENT, id="")), "has no id or no text"),
        (replace(ENTRY, document=replace(DOCUMENT, text="")), "has no id or no text"),
        (
            replace(ENTRY, document=replace(DOCUMENT, text="x\udc00")),
            r"lone surrogate at .* 1",
        ),
        (replace(ENTRY, document=replace(DOCUMENT, pages=(Page(start=2, end=1),))), "is outside"),
        (replace(ENTRY, document=replace(DOCUMENT, metadata={"x": None})), "'x': None"),  # type: ignore[dict-item]
        (replace(ENTRY, document=replace(DOCUMENT, metadata={"": 1})), "'': 1"),
        (replace(ENTRY, sections=ENTRY.sections[:1]), "its sections end at 13, its text at 18"),
        (replace(ENTRY, sections=ENTRY.sections[1:]), "does not start at 0"),
        (replace(ENTRY, chunks=(FIRST, SECOND)), "its chunks end at 13, its text at 18"),
        (replace(ENTRY, chunks=(SECOND, THIRD)), "is not chunk 0 from 0 on"),
        (
            replace(ENTRY, chunks=(replace(FIRST, text="other\n"), SECOND, THIRD)),
            "does not match the text",
        ),
        (replace(ENTRY, chunks=(replace(FIRST, section=5), SECOND, THIRD)), "names no section"),
        (replace(ENTRY, chunks=(replace(FIRST, tokens=0), SECOND, THIRD)), "has no tokens"),
        (replace(ENTRY, chunks=(replace(FIRST, section=1), SECOND, THIRD)), "not inside of its"),
        (_with_vectors(None), f"no vectors, and the knowledge base has dimension {DIMENSION}"),
        (_with_vectors(np.ones((2, DIMENSION))), r"shape \(2, 16\); give \(3, 16\)"),
        (_with_vectors(np.full((3, DIMENSION), np.inf)), "not finite"),
    ],
)
def test_what_does_not_fit_is_refused(entry: DocumentEntry, message: str) -> None:
    """By the id of the document and the first thing that is wrong."""
    with pytest.raises(OptionError, match=f"document '{entry.document.id}' .*{message}"):
        check_entry(entry, dimension=DIMENSION)


def test_vectors_without_a_dimension_are_refused() -> None:
    """The knowledge base is for keywords alone."""
    with pytest.raises(OptionError, match=r"with vectors, .* dimension 0"):
        check_entry(ENTRY, dimension=0)
