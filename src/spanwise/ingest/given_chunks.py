"""Documents from chunks and vectors that another engine made.

Rules:
    The chunks are stored as they are given. Their concatenation is the text of the document.
    A separator is added to the end of every chunk but the last one.
    Removed overlaps: the repeated text at the start of a chunk is left out, and there is no
    separator before the rest, because it continues the chunk before it. A chunk that only repeats
    the end of the chunk before it is left out, with its vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, islice, pairwise
from numbers import Integral
from typing import TYPE_CHECKING, get_args

import numpy as np

from spanwise.core.documents.summary import extract_title
from spanwise.core.ranking.vectors import unit_rows
from spanwise.core.text.overlap import overlap_chars
from spanwise.errors import OptionError, shown
from spanwise.ingest.given_parts import given_document
from spanwise.ingest.job import IngestJob
from spanwise.ingest.pipeline import Ingestor
from spanwise.types import (
    Document,
    GivenChunk,
    GivenParts,
    IngestReport,
    MetadataValue,
    Overlap,
    Page,
    Section,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from spanwise.options import ParseOptions

_MAX_CHUNKS = 1_000_000
_MAX_CHUNK_CHARS = 100_000
_MAX_SEPARATOR_CHARS = 100


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GivenChunks:
    """Chunks of one document, with the arguments of `KnowledgeBase.add_chunks`."""

    document_id: str
    """Id of the document."""
    chunks: Iterable[str | GivenChunk]
    """Chunks in reading order."""
    vectors: ArrayLike | None
    """One vector per chunk; None to compute them."""
    title: str
    """Title of the document; empty for a heading of the text or the words of the id."""
    metadata: Mapping[str, MetadataValue] | None
    """Metadata fields; None to keep the stored ones."""
    separator: str
    """Text between two chunks."""
    overlap: Overlap
    """Treatment of chunks that repeat the end of the chunk before them."""
    replace: bool
    """Whether a document from a file or URL may be replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _JoinedChunks:
    """Chunks whose texts, joined, are the text of a document."""

    chunks: tuple[GivenChunk, ...]
    """Chunks with their separators."""
    kept: tuple[int, ...]
    """Index of each chunk among the given ones."""

    @property
    def text(self) -> str:
        """Text of the document."""
        return "".join(chunk.text for chunk in self.chunks)

    @property
    def ends(self) -> tuple[int, ...]:
        """End of each chunk in the text."""
        return tuple(accumulate(len(chunk.text) for chunk in self.chunks))


def add_chunks(ingestor: Ingestor, given: GivenChunks) -> IngestReport:
    """Add a document that consists of the given chunks.

    Raises:
        OptionError: If a chunk, the vectors or an argument is invalid, or chunks overlap and
            `overlap` is "refuse".
        DocumentError: As `Ingestor.add_document`.
        CostLimitError: As `Ingestor.add_document`.
        ModelKeyError: As `Ingestor.add_document`.
    """
    chunks = _checked_chunks(given.chunks, limits=ingestor.parse)
    vectors = _checked_vectors(given.vectors, count=len(chunks), ingestor=ingestor)
    joined = _join(chunks, separator=_checked_separator(given.separator), overlap=given.overlap)
    text, document_id = joined.text, given.document_id

    def make(fields: Mapping[str, MetadataValue]) -> Document:
        document = given_document(
            text,
            document_id=document_id,
            title=given.title,
            metadata=fields,
            media_type="text/plain",
        )
        return replace(document, pages=_pages(joined))

    job = IngestJob(
        metadata=given.metadata,
        given={document_id: GivenParts(sections=_sections(joined, text), chunk_ends=joined.ends)},
        vectors={} if vectors is None else {document_id: vectors[list(joined.kept)]},
        replace_other=given.replace,
    )
    report = ingestor.add_given(make, document_id=document_id, title=given.title, job=job)
    if len(joined.kept) == len(chunks):
        return report
    left_out = f"{len(chunks) - len(joined.kept)} chunks only repeat the end of the chunk before "
    return replace(report, warnings=(*report.warnings, f"{document_id}: left out: {left_out}them"))


def _checked_chunks(
    given: Iterable[str | GivenChunk], *, limits: ParseOptions
) -> tuple[GivenChunk, ...]:
    if isinstance(given, str | GivenChunk | Mapping) or not isinstance(given, Iterable):
        raise OptionError(f"chunks is {shown(given)}; give a list of texts or GivenChunk")
    items = tuple(islice(given, _MAX_CHUNKS + 1))
    if not 1 <= len(items) <= _MAX_CHUNKS:
        number = "no" if not items else f"more than {_MAX_CHUNKS:,}"
        raise OptionError(f"there are {number} chunks; give 1 to {_MAX_CHUNKS:,}")
    chunks = tuple(
        item if isinstance(item, GivenChunk) else GivenChunk(text=item) for item in items
    )
    for index, chunk in enumerate(chunks):
        _check_chunk(chunk, index=index, max_pages=limits.max_pages)
    pages = [chunk.page for chunk in chunks if chunk.page is not None]
    for page, following in pairwise(pages):
        if following < page:
            raise OptionError(
                f"a chunk of page {following} follows one of page {page}; give the chunks of a "
                "document in reading order"
            )
    size = sum(len(chunk.text.encode()) for chunk in chunks)
    if size > limits.max_text_bytes:
        raise OptionError(
            f"the chunks have {size} bytes, and the limit is max_text_bytes="
            f"{limits.max_text_bytes}; raise that limit, or split the document"
        )
    return chunks


def _check_chunk(chunk: GivenChunk, *, index: int, max_pages: int) -> None:
    if not isinstance(chunk.text, str):
        raise OptionError(f"chunk {index} is {shown(chunk.text)}; give a text or a GivenChunk")
    if not chunk.text.strip() or len(chunk.text) > _MAX_CHUNK_CHARS:
        raise OptionError(
            f"chunk {index} has {len(chunk.text):,} characters: {shown(chunk.text)}; give texts "
            f"that are not blank, of at most {_MAX_CHUNK_CHARS:,} characters"
        )
    page, headings = chunk.page, chunk.headings
    is_number = isinstance(page, Integral) and not isinstance(page, bool)
    if page is not None and not (is_number and 1 <= page <= max_pages):
        raise OptionError(
            f"chunk {index} is on page {shown(page)}; give a number from 1 to max_pages={max_pages}"
        )
    is_list = isinstance(headings, Sequence) and not isinstance(headings, str)
    if not is_list or not all(isinstance(title, str) for title in headings):
        raise OptionError(
            f"the headings of chunk {index} are {shown(headings)}; give a tuple of titles, "
            "outermost first"
        )
    try:
        "".join((chunk.text, *headings)).encode()
    except UnicodeEncodeError as error:
        raise OptionError(
            f"chunk {index} has a lone surrogate; decode it with errors='replace' first"
        ) from error


def _checked_separator(separator: str) -> str:
    if not isinstance(separator, str) or separator.strip() or len(separator) > _MAX_SEPARATOR_CHARS:
        raise OptionError(
            f"separator is {shown(separator)}; give at most {_MAX_SEPARATOR_CHARS} characters of "
            "white space, or an empty text for none"
        )
    return separator


def _checked_vectors(
    vectors: ArrayLike | None, *, count: int, ingestor: Ingestor
) -> NDArray[np.float16] | None:
    """Return the vectors of the chunks at unit length, (count, dimension); None if none are given.

    Raises:
        OptionError: If they have another shape or are not finite, or the knowledge base has no
            embedder.
    """
    if vectors is None:
        return None
    dimension = int(ingestor.store.ensure_settings({})["dimension"])
    if not dimension:
        raise OptionError(
            "vectors are given, and this knowledge base has no embedder for questions; create it "
            "with the embedder that made them (`embedder=`), or leave the vectors out"
        )
    try:
        rows = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"vectors cannot be read as numbers ({error}); give one list of {dimension} numbers "
            "for each chunk"
        ) from error
    if rows.shape != (count, dimension):
        raise OptionError(
            f"vectors have the shape {rows.shape}; give {(count, dimension)}, one row for each "
            "chunk, of the embedder of this knowledge base; if another one made them, create a new "
            "knowledge base with it (`embedder=`), or leave the vectors out"
        )
    if not np.isfinite(rows).all():
        bad = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise OptionError(
            f"the vector of chunk {bad} has a value that is not finite; compute it again"
        )
    return unit_rows(rows)


def _join(chunks: Sequence[GivenChunk], *, separator: str, overlap: Overlap) -> _JoinedChunks:
    """Return chunks with separators, and without overlaps if these are removed.

    Raises:
        OptionError: If chunks overlap and `overlap` is "refuse", or `overlap` is unknown.
    """
    if overlap not in get_args(Overlap):
        raise OptionError(f"overlap is {shown(overlap)}; it must be one of {get_args(Overlap)}")
    kept, texts = [0], [chunks[0].text]
    repeated: list[tuple[int, str]] = []
    for index, chunk in enumerate(chunks[1:], start=1):
        length = 0 if overlap == "keep" else overlap_chars(chunks[kept[-1]].text, chunk.text)
        rest = chunk.text[length:]
        if length:
            repeated.append((index, chunk.text[:length]))
        else:
            texts[-1] += separator
        if rest.strip():
            kept.append(index)
            texts.append(rest)
    if repeated and overlap == "refuse":
        index, text = repeated[0]
        raise OptionError(
            f"{len(repeated)} of {len(chunks)} chunks begin with the end of the chunk before them; "
            f'the first is chunk {index}: {shown(text)}; give overlap="remove" to store repeated '
            'text once, or overlap="keep" to store the chunks as they are'
        )
    joined = (replace(chunks[at], text=text) for at, text in zip(kept, texts, strict=True))
    return _JoinedChunks(chunks=tuple(joined), kept=tuple(kept))


def _sections(joined: _JoinedChunks, text: str) -> tuple[Section, ...]:
    """Return one section for consecutive chunks with the same headings."""
    paths: list[tuple[str, ...]] = []
    for chunk in joined.chunks:
        path = tuple(" ".join(title.split()) for title in chunk.headings if title.strip())
        paths.append(path or (paths[-1] if paths else ()))
    sections: list[Section] = []
    for path, group in groupby(zip(paths, joined.ends, strict=True), key=lambda pair: pair[0]):
        start, end = sections[-1].end if sections else 0, [end for _, end in group][-1]
        full = path or (extract_title(text, start=start, stop=end),)
        sections.append(
            Section(start=start, end=end, title=full[-1], path=full, extracted_title=not path)
        )
    return tuple(sections)


def _pages(joined: _JoinedChunks) -> tuple[Page, ...]:
    """Return the pages of the text; empty if no chunk names one."""
    chunks = joined.chunks
    if all(chunk.page is None for chunk in chunks):
        return ()
    starts, page = [0], 1  # offset of the first character of each page
    for chunk, start in zip(chunks, (0, *joined.ends), strict=False):
        page = chunk.page or page
        starts += [start] * (page - len(starts))
    length = joined.ends[-1]
    return tuple(Page(start=start, end=end) for start, end in pairwise((*starts, length)))
