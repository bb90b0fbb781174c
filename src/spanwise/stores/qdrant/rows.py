"""Rows: everything that searches need of one chunk, in a few hundred bytes.

A row holds the quantised vector, the hash and BM25 impact of each term, the hashes of the terms of
the document's title, and the features of the chunk. Rows are the arrays of an index part
(`stores.part`), one chunk at a time, so scores computed from them are those of the embedded store
bit for bit.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.arrays import run_indexes
from spanwise.stores.part import Part, Postings
from spanwise.stores.part_lists import count_documents
from spanwise.stores.words import build_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEAD = struct.Struct("<BBIIfHHH")  # digits, opening, chars, tokens, scale, terms, titles, vector


def pack_rows(part: Part) -> list[bytes]:
    """Return the rows of the chunks of a part."""
    body = part.body
    order = np.argsort(body.rows, kind="stable")
    hashes = np.repeat(body.terms, np.diff(body.ends))[order].astype("<u8")
    impacts = body.impacts[order]
    ends = np.searchsorted(body.rows[order], np.arange(part.rows + 1))
    titles = _title_hashes(part)
    packed = []
    for document in range(part.documents):
        own = titles[document]
        for row in range(int(part.starts[document]), int(part.starts[document + 1])):
            terms = slice(int(ends[row]), int(ends[row + 1]))
            head = _HEAD.pack(
                int(part.digits[row]),
                int(part.openings[row]),
                int(part.chars[row]),
                int(part.tokens[row]),
                float(part.scales[row]),
                terms.stop - terms.start,
                len(own),
                part.vectors.shape[1],
            )
            vector = part.vectors[row].tobytes()
            packed.append(
                head + hashes[terms].tobytes() + own.tobytes() + impacts[terms].tobytes() + vector
            )
    return packed


def _title_hashes(part: Part) -> list[NDArray[np.uint64]]:
    """Return the hashes of the title terms of each document of a part, ascending."""
    hashes = np.repeat(part.title_terms, np.diff(part.title_ends))
    order = np.argsort(part.title_documents, kind="stable")
    ends = np.searchsorted(part.title_documents[order], np.arange(part.documents + 1))
    ordered = hashes[order].astype("<u8")
    return [ordered[ends[i] : ends[i + 1]] for i in range(part.documents)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowTable:
    """Rows of n chunks as arrays."""

    digits: NDArray[np.uint8]
    openings: NDArray[np.uint8]
    chars: NDArray[np.uint32]
    tokens: NDArray[np.uint32]
    scales: NDArray[np.float32]
    vectors: NDArray[np.int8]
    """Quantised vectors, (n, dimension)."""
    ends: NDArray[np.int64]
    """End offsets: the terms of row i are `hashes[ends[i] : ends[i + 1]]`, (n + 1,)."""
    hashes: NDArray[np.uint64]
    impacts: NDArray[np.uint8]
    title_ends: NDArray[np.int64]
    """End offsets of the title terms of each row, (n + 1,)."""
    title_hashes: NDArray[np.uint64]

    @classmethod
    def of(cls, packed: Sequence[bytes], *, dimension: int) -> RowTable:
        """Return the table of packed rows.

        Args:
            packed: Rows.
            dimension: Dimension of the vectors, 0 for none.
        """
        heads = [_HEAD.unpack_from(row) for row in packed]
        hashes, titles, impacts, vectors = [], [], [], []
        for row, (*_, terms, title_terms, width) in zip(packed, heads, strict=True):
            place = _HEAD.size
            hashes.append(row[place : place + 8 * terms])
            place += 8 * terms
            titles.append(row[place : place + 8 * title_terms])
            place += 8 * title_terms
            impacts.append(row[place : place + terms])
            vectors.append(row[place + terms : place + terms + width])
        table = np.array(heads, dtype=np.float64).reshape(-1, 8).T
        return cls(
            digits=table[0].astype(np.uint8),
            openings=table[1].astype(np.uint8),
            chars=table[2].astype(np.uint32),
            tokens=table[3].astype(np.uint32),
            scales=table[4].astype(np.float32),
            vectors=np.frombuffer(b"".join(vectors), dtype=np.int8).reshape(-1, dimension)
            if dimension
            else np.zeros((len(packed), 0), dtype=np.int8),
            ends=np.concatenate(([0], np.cumsum(table[5].astype(np.int64)))),
            hashes=np.frombuffer(b"".join(hashes), dtype="<u8").astype(np.uint64),
            impacts=np.frombuffer(b"".join(impacts), dtype=np.uint8),
            title_ends=np.concatenate(([0], np.cumsum(table[6].astype(np.int64)))),
            title_hashes=np.frombuffer(b"".join(titles), dtype="<u8").astype(np.uint64),
        )

    def __len__(self) -> int:
        return len(self.digits)

    def impacts_of(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """Return the quantised impact of each term in each row, 0 if absent, (T, n)."""
        table = np.zeros((len(hashes), len(self)), dtype=np.uint8)
        terms, entries = _find(hashes, self.hashes)
        rows = np.searchsorted(self.ends, entries, side="right") - 1
        table[terms, rows] = self.impacts[entries]
        return table

    def titles_of(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return whether the title of the document of each row has each term, (T, n)."""
        table = np.zeros((len(hashes), len(self)), dtype=np.bool_)
        terms, entries = _find(hashes, self.title_hashes)
        table[terms, np.searchsorted(self.title_ends, entries, side="right") - 1] = True
        return table


def _find(
    sought: NDArray[np.uint64], held: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indexes of the sought hashes and of the held ones that are equal.

    Args:
        sought: Distinct hashes in any order.
        held: Hashes of all rows, in any order.
    """
    if not len(sought) or not len(held):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    order = np.argsort(sought)
    ordered = sought[order]
    places = np.searchsorted(ordered, held)
    places[places == len(ordered)] = 0
    entries = np.flatnonzero(ordered[places] == held)
    return order[places[entries]], entries


def join_rows(
    rows: RowTable,
    *,
    numbers: Sequence[int],
    counts: Sequence[int],
    words: Sequence[Collection[tuple[str, str]]],
) -> Part:
    """Return the index part of some documents.

    Args:
        rows: Rows of all chunks, document by document.
        numbers: Number of each document, ascending.
        counts: Number of chunks of each document.
        words: Pairs of a term and a word of each document.
    """
    starts = np.concatenate(([0], np.cumsum(np.array(counts, dtype=np.int64)))).astype(np.int64)
    owners = np.repeat(np.arange(len(rows), dtype=np.uint32), np.diff(rows.ends))
    terms, ends, order = _lists(rows.hashes)
    entries = owners[order]
    document_ends, ordinals, chunks = count_documents(ends, entries, starts)
    firsts = starts[:-1]  # every document has at least one chunk
    title_lengths = np.diff(rows.title_ends)[firsts]
    held = run_indexes(rows.title_ends[firsts], title_lengths)
    title_terms, title_ends, title_order = _lists(rows.title_hashes[held])
    title_owners = np.repeat(np.arange(len(firsts), dtype=np.uint32), title_lengths)
    return Part(
        numbers=np.array(numbers, dtype=np.int64),
        starts=starts,
        vectors=rows.vectors,
        scales=rows.scales,
        digits=rows.digits,
        chars=rows.chars,
        tokens=rows.tokens,
        openings=rows.openings,
        body=Postings(
            terms=terms,
            ends=ends,
            rows=entries,
            impacts=rows.impacts[order],
            document_ends=document_ends,
            documents=ordinals,
            chunks=chunks,
        ),
        title_terms=title_terms,
        title_ends=title_ends,
        title_documents=title_owners[title_order],
        words=build_words(words),
    )


def _lists(
    hashes: NDArray[np.uint64],
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct hashes, the end offsets of their lists, and the order of the entries."""
    order = np.argsort(hashes, kind="stable")
    terms, firsts = np.unique(hashes[order], return_index=True)
    return terms, np.append(firsts, len(hashes)).astype(np.int64), order
