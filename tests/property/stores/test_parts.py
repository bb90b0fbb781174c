"""Laws of index parts: building, merging, files, and the selection of the best."""

import dataclasses
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from spanwise.core.arrays import run_indexes
from spanwise.core.ranking.vectors import unit_rows
from spanwise.core.text.terms import text_terms
from spanwise.stores import build as build_module
from spanwise.stores.build import Vocabulary, build_part
from spanwise.stores.database import IndexedDocument
from spanwise.stores.dot_products import _plain_products, dot_products
from spanwise.stores.merge import MergeSource, merge_parts
from spanwise.stores.part import (
    Part,
    check_part_file,
    open_part,
    term_hashes,
    write_part,
)
from spanwise.stores.scan import best_rows

WORDS = ["lease", "Häuser", "margin,", "FY2018", "the", "naïve", "1,577.0", "收益", "\n"]
texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


@st.composite
def stored_documents(draw: st.DrawFn) -> list[IndexedDocument]:
    numbers = draw(st.lists(st.integers(1, 99), unique=True, max_size=6).map(sorted))
    made = []
    for number in numbers:
        chunks = draw(st.lists(texts, max_size=4))
        rows = [[float(len(text)), number % 5 - 2.0, 1.0] for text in chunks]
        made.append(
            IndexedDocument(
                number=number,
                language=draw(st.sampled_from(["", "de", "zh"])),
                title_words=draw(texts),
                texts=tuple(chunks),
                searched=tuple(f"{draw(texts)}\n{text}" for text in chunks),
                tokens=tuple(len(text) + 1 for text in chunks),
                sections=tuple(sorted(draw(st.integers(0, 3)) for _ in chunks)),
                headers=tuple(draw(texts) for _ in range(4)),
                vectors=unit_rows(np.array(rows).reshape(-1, 3)),
            )
        )
    return made


def build(documents: Iterable[IndexedDocument]) -> Part:
    return build_part(tuple(documents), vocabulary=Vocabulary(), dimension=3, reference_terms=4.0)


def arrays(part: Part) -> dict[str, Any]:
    """Return the contents of all arrays, without their types."""
    found = {f.name: getattr(part, f.name) for f in dataclasses.fields(part) if f.name != "body"}
    found |= {f"body_{f.name}": getattr(part.body, f.name) for f in dataclasses.fields(part.body)}
    return {
        name: (array.shape, array.tolist())
        for name, array in found.items()
        if isinstance(array, np.ndarray)
    }


@given(stored_documents())
def test_postings_are_those_of_the_texts(documents: list[IndexedDocument]) -> None:
    part = build(documents)
    held_terms = [
        [
            set(text_terms(f"{document.headers[section]} {text}", language=document.language))
            for text, section in zip(document.searched, document.sections, strict=True)
        ]
        for document in documents
    ]
    rows = [found for chunks in held_terms for found in chunks]
    terms = sorted({term for held in rows for term in held}, key=lambda t: int(term_hashes([t])[0]))
    assert part.body.terms.tolist() == term_hashes(terms).tolist()
    for h, term in enumerate(terms):
        held = part.body.rows[part.body.ends[h] : part.body.ends[h + 1]]
        assert held.tolist() == [row for row, found in enumerate(rows) if term in found]
        place = slice(part.body.document_ends[h], part.body.document_ends[h + 1])
        counts = [
            (ordinal, count)
            for ordinal, chunks in enumerate(held_terms)
            if (count := sum(term in found for found in chunks))
        ]
        assert (
            list(
                zip(
                    part.body.documents[place].tolist(),
                    part.body.chunks[place].tolist(),
                    strict=True,
                )
            )
            == counts
        )


@given(stored_documents())
def test_openings_are_those_of_each_document_alone(documents: list[IndexedDocument]) -> None:
    """A section of one document is never that of the document before."""
    part = build(documents)
    alone = [opening for d in documents for opening in build([d]).openings.tolist()]
    assert part.openings.tolist() == alone
    firsts = part.starts[:-1][np.diff(part.starts) > 0]
    assert part.openings[firsts].all()


@pytest.mark.slow
@given(stored_documents(), stored_documents(), st.booleans())
def test_what_was_learnt_before_does_not_show(
    first: list[IndexedDocument], second: list[IndexedDocument], forgets: bool
) -> None:
    vocabulary = Vocabulary()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_module, "_MAX_RUNS", 2 if forgets else 1_000)
        for documents in (first, second, first):
            part = build_part(documents, vocabulary=vocabulary, dimension=3, reference_terms=4.0)
            assert arrays(part) == arrays(build(documents))


@given(stored_documents(), st.integers(1, 5))
def test_how_many_texts_are_taken_at_once_does_not_show(
    documents: list[IndexedDocument], rows: int
) -> None:
    whole = build(documents)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_module, "_RUN_ROWS", rows)
        assert arrays(build(documents)) == arrays(whole)


@given(stored_documents(), st.data())
def test_merging_gives_what_building_the_kept_documents_gives(
    documents: list[IndexedDocument], data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(documents)), max_size=3)))
    pieces = [documents[a:b] for a, b in zip([0, *cuts], [*cuts, len(documents)], strict=True)]
    kept = {document.number: data.draw(st.booleans()) for document in documents}
    sources = [
        MergeSource(build(piece), np.array([kept[d.number] for d in piece], dtype=bool))
        for piece in pieces
    ]
    merged = merge_parts(sources)
    assert arrays(merged) == arrays(build(d for d in documents if kept[d.number]))


@given(stored_documents())
@settings(max_examples=30, deadline=None)
def test_a_part_comes_back_from_its_file(documents: list[IndexedDocument]) -> None:
    part = build(documents)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.part"
        size = write_part(part, path)
        assert path.stat().st_size == size
        check_part_file(path)
        assert arrays(open_part(path)) == arrays(part)
        assert [file.name for file in Path(folder).iterdir()] == ["a.part"]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=20))
def test_run_indexes_are_the_runs_joined(runs: list[tuple[int, int]]) -> None:
    starts = np.array([start for start, _ in runs], dtype=np.int64)
    lengths = np.array([length for _, length in runs], dtype=np.int64)
    expected = [i for start, length in runs for i in range(start, start + length)]
    assert run_indexes(starts, lengths).tolist() == expected


@given(st.integers(0, 2**32 - 1), st.integers(0, 3_000), st.integers(1, 9), st.integers(0, 40))
def test_the_best_rows_are_those_of_a_stable_sort(
    seed: int, count: int, levels: int, hits: int
) -> None:
    scores = np.random.default_rng(seed).integers(0, 10**levels, count).astype(np.float64)
    expected = np.sort(np.argsort(-scores, kind="stable")[:hits])
    assert best_rows(scores, hits).tolist() == expected.tolist()


@given(st.integers(0, 2**32 - 1), st.integers(1, 3_000), st.integers(1, 40))
@settings(max_examples=30, deadline=None)
def test_every_way_to_multiply_gives_the_same_integers(seed: int, columns: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    table: NDArray[np.int8] = rng.integers(-127, 128, (rows, columns), dtype=np.int8)
    query: NDArray[np.int8] = rng.integers(-127, 128, columns, dtype=np.int8)
    table[0], query[0] = 127, 127
    exact = table.astype(np.int64) @ query.astype(np.int64)
    expected = exact.astype(np.float32).tolist()
    assert dot_products(table, query).tolist() == expected
    assert _plain_products(table, query).tolist() == expected
