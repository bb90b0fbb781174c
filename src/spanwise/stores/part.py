"""An index part: postings and vectors of some whole documents, in arrays that never change.

Rules:
    A part holds whole documents, ascending by number; the rows of a document lie together, in
    the order of its chunks.
    A part in memory and one in a file are the same arrays, but that ordinals and counts may stand
    in two bytes in a file: widen them before you calculate.
    Terms are known by a 64-bit hash; arrays over terms are sorted by it.
    Vectors and postings of a file are verified before they are read: `check_vectors`,
    `check_terms`. The other arrays were verified when the file was opened.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.blocks import Blocks

__all__ = ["LAZY_ARRAYS", "Part", "Postings", "find_terms", "run_indexes", "term_hashes"]

LAZY_ARRAYS = ("vectors", "body_rows", "body_impacts", "body_documents", "body_chunks")
"""Names, in a file, of the large arrays that are verified when they are first read."""


def term_hashes(terms: Sequence[str]) -> NDArray[np.uint64]:
    """Return the 64-bit hashes of terms, in the order given, the same in every process."""
    return np.fromiter(map(_hash_term, terms), dtype=np.uint64, count=len(terms))


def _hash_term(term: str) -> int:
    data = term.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def run_indexes(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the integers of the runs `[start, start + length)`, one run after the other."""
    ends: NDArray[np.int64] = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    indexes = np.arange(total, dtype=np.int64)
    indexes += np.repeat(starts - (ends - lengths), lengths)
    return indexes


def find_terms(known: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the place of each wanted hash among the known ones, -1 where it is not known."""
    if not len(known):
        return np.full(len(wanted), -1, dtype=np.int64)
    places: NDArray[np.int64] = np.searchsorted(known, wanted)
    places[places == len(known)] = 0
    places[known[places] != wanted] = -1
    return places


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Postings:
    """Which rows and which documents of a part hold each of H terms."""

    terms: NDArray[np.uint64]
    """Hashes, ascending, (H,)."""
    ends: NDArray[np.int64]
    """The rows of term h are `rows[ends[h] : ends[h + 1]]`, (H + 1,)."""
    rows: NDArray[np.uint32]
    """Ascending for each term, (P,)."""
    impacts: NDArray[np.uint8]
    """BM25 saturation in steps (`core.scores`), (P,)."""
    document_ends: NDArray[np.int64]
    """Those of term h are `documents[document_ends[h] : document_ends[h + 1]]`, (H + 1,)."""
    documents: NDArray[np.uint32]
    """Ordinals of documents, ascending for each term, (Q,)."""
    chunks: NDArray[np.uint32]
    """How many chunks of each hold the term, (Q,)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """Arrays of d documents with n chunks; a row is a chunk, an ordinal a document of the part."""

    numbers: NDArray[np.int64]
    """Number of each document, ascending, (d,)."""
    starts: NDArray[np.int64]
    """The rows of document i are `[starts[i], starts[i + 1])`, (d + 1,)."""
    vectors: NDArray[np.int8]
    """Quantised vectors, (n, dimension); dimension 0 without vectors."""
    scales: NDArray[np.float32]
    """Scale of each vector, (n,)."""
    digits: NDArray[np.uint8]
    """Share of digits in steps of 1/255, (n,)."""
    chars: NDArray[np.uint32]
    """Length, (n,)."""
    tokens: NDArray[np.uint32]
    """Length under the tokenizer of the knowledge base, (n,)."""
    openings: NDArray[np.uint8]
    """1 for a chunk that begins a section of its document, 0 for others, (n,)."""
    body: Postings
    title_terms: NDArray[np.uint64]
    """Hashes of the terms of title words, ascending, (G,)."""
    title_ends: NDArray[np.int64]
    """Those of term g are `title_documents[title_ends[g] : title_ends[g + 1]]`, (G + 1,)."""
    title_documents: NDArray[np.uint32]
    """Ordinals of documents, ascending for each term."""
    blocks: Blocks | None = None
    """Checksums of the file; None for a part in memory, which the methods below pass over."""

    @property
    def name(self) -> str:
        """File name, empty for a part in memory."""
        return "" if self.blocks is None else self.blocks.name

    @property
    def documents(self) -> int:
        """Number of documents."""
        return len(self.numbers)

    @property
    def rows(self) -> int:
        """Number of chunks."""
        return len(self.scales)

    def check_size(self) -> None:
        """Compare the size of the file with that of the map.

        Raises:
            DamagedPartError: If it differs.
        """
        if self.blocks is not None:
            self.blocks.check_size()

    def check_vectors(self) -> None:
        """Verify the vectors, once.

        Raises:
            DamagedPartError: If they differ from their checksums.
        """
        if self.blocks is not None:
            self.blocks.check_array("vectors")

    def check_terms(self, places: Iterable[int]) -> None:
        """Verify the postings of some terms, each once.

        Args:
            places: Indexes into `body.terms`; negative ones stand for terms not in the part.

        Raises:
            DamagedPartError: If they differ from their checksums.
        """
        blocks = self.blocks
        if blocks is None:
            return
        body = self.body
        for place in places:
            if place < 0 or place in blocks.terms:
                continue
            start, stop = int(body.ends[place]), int(body.ends[place + 1])
            blocks.check_items("body_rows", start, stop)
            blocks.check_items("body_impacts", start, stop)
            start, stop = int(body.document_ends[place]), int(body.document_ends[place + 1])
            blocks.check_items("body_documents", start, stop)
            blocks.check_items("body_chunks", start, stop)
            blocks.terms.add(place)

    def check_all(self) -> None:
        """Verify the size and everything else, whatever was verified before.

        Raises:
            DamagedPartError: If something differs.
        """
        if self.blocks is not None:
            self.blocks.check_all()
