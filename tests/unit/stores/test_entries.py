"""Entries that do not fit together are refused, each with its own reason."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from spanwise.core.documents.chunk_table import ChunkTable
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
        (replace(ENTRY, chunks=(FIRST, replace(SECOND, index=2), THIRD)), "has the index of"),
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


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({}, ""),
        ({"ends": [6, 13]}, "its chunks end at 13, its text at 18"),
        ({"ends": [6, 6, 18]}, "is not chunk 1 from 6 on"),
        ({"ends": [13, 6, 18]}, "is not inside of its|is not chunk"),
        ({"ends": [6, 13, 19]}, "does not match the text|is not inside of its"),
        ({"sections": [0, 0, 5]}, "names no section"),
        ({"sections": [-1, 0, 1]}, "names no section"),
        ({"sections": [1, 0, 1]}, "is not inside of its"),
        ({"tokens": [1, 0, 1]}, "has no tokens"),
        ({"text": "first\nsecond\nthirD"}, "does not match the text"),
        ({"ends": [], "sections": [], "tokens": []}, "its chunks end at 0, its text at 18"),
    ],
)
def test_tables_are_checked_like_chunks(changed: dict[str, Any], message: str) -> None:
    """A table of chunks fails for the same reasons as a sequence of them."""
    parts: dict[str, Any] = {
        "text": DOCUMENT.text,
        "ends": [6, 13, 18],
        "sections": [chunk.section for chunk in ENTRY.chunks],
        "tokens": [1, 1, 1],
        **changed,
    }
    table = ChunkTable(parts.pop("text"), **parts, table_heads={})
    vectors = np.ones((len(table), DIMENSION), dtype=np.float16)
    entry = replace(ENTRY, chunks=table, vectors=vectors)
    if not message:
        check_entry(entry, dimension=DIMENSION)
        return
    with pytest.raises(OptionError, match=message):
        check_entry(entry, dimension=DIMENSION)


def test_vectors_without_a_dimension_are_refused() -> None:
    """The knowledge base is for keywords alone."""
    with pytest.raises(OptionError, match=r"with vectors, .* dimension 0"):
        check_entry(ENTRY, dimension=0)
