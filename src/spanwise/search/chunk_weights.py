"""Scoring of chunks passed by the caller, without a store."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.extraction.exact import by_document
from spanwise.core.ranking.collection import Collection, count_document
from spanwise.core.ranking.scan import range_signals
from spanwise.core.text.languages import detect_language
from spanwise.errors import OptionError
from spanwise.models.word_vectors import quantise_words
from spanwise.packs.landmarks import document_signals
from spanwise.packs.pack_file import default_record, shipped_packs
from spanwise.search.question_limits import read_questions
from spanwise.search.scoring import Scope, score_chunks, select_search_terms
from spanwise.search.shipped_model import shipped_model
from spanwise.types import Chunk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.extraction.exact import NumbersByDocument
    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.core.ranking.scan import PassageRange, Passages, Scan, ScanQuery
    from spanwise.core.ranking.similar_words import SimilarWord
    from spanwise.filters import Filter
    from spanwise.search.scoring import ScoredChunks


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChunkWeights:
    """Shares and relevances of the chunks passed to `weigh_chunks`."""

    shares: tuple[NDArray[np.float64], ...]
    """Share of the evidence in each chunk of each document; all shares sum to 1."""
    relevances: tuple[NDArray[np.float64], ...]
    """Probability that each chunk contains evidence, in [0, 1]."""
    candidates: tuple[tuple[int, int], ...]
    """Indexes of document and chunk of each scored chunk, ascending, (c,); others have share 0."""
    features: NDArray[np.float64]
    """Features of the candidates, (c, features), in the order of `FEATURES`."""
    model: RelevanceModel = field(repr=False)
    """Relevance model that computed the shares."""


def weigh_chunks(
    question: str,
    chunks: Sequence[str] | Sequence[Sequence[str]],
    *,
    titles: Sequence[str] = (),
    similarities: NumbersByDocument | None = None,
    sections: NumbersByDocument | None = None,
    model: RelevanceModel | None = None,
) -> ChunkWeights:
    """Return the expected share of a question's evidence in each of the given chunks.

    The chunks are searched and scored as in a knowledge base; every call searches all of them. Use
    it for the results of your own store, or for a few thousand chunks. The language of each
    document is detected from its chunks.

    Args:
        question: Text of the question.
        chunks: Texts of the chunks of each document, or of one document in a flat list. Keep their
            order: neighbours affect the scores. The model was trained on chunks of about 400
            characters.
        titles: Title of each document, with the words of file name and path if they are meaningful;
            empty for no titles.
        similarities: Cosine of each chunk to the question under your own embedder, nested like
            `chunks`; None for a keyword search.
        sections: Index of the section of each chunk, nested like `chunks`; None if each document is
            one section.
        model: Relevance model; None for the shipped one.

    Returns:
        Shares and relevances of all chunks. At most 4,000 chunks of the 256 best matching documents
        are scored. The others have share 0, as do all chunks if none contains a word of the
        question and there are no similarities.

    Raises:
        QueryError: If the question has no word, or is too long.
        OptionError: If titles, similarities or sections do not match the chunks, or have invalid
            values.
    """
    documents = _documents(chunks)
    _check_titles(titles, len(documents))
    languages = [detect_language("\n".join(texts)) for texts in documents]
    model = model or shipped_model()
    searchable = _CallerChunks(
        documents,
        _collection(documents, titles, languages, _sections(sections, documents)),
        _cosine(similarities, documents),
        languages,
    )
    (query,) = read_questions([question], searchable)
    scored = score_chunks(
        replace(query, terms=select_search_terms(query, searchable)),
        snapshot=searchable,
        embedder=None if searchable.cosine is None else _ConstantEmbedder(),
        model=model,
        scope=Scope(),
    )
    return _weights(scored, documents, model)


@dataclass(frozen=True, slots=True)
class _CallerChunks:
    """Chunks and similarities of a caller, as a `stores.port.Searchable`."""

    texts: Sequence[Sequence[str]]
    collection: Collection
    cosine: NDArray[np.float64] | None
    """Cosine of all chunks, one document after the other; None for a keyword search."""
    all_languages: Sequence[str]
    """Language of each document."""

    def languages(self) -> tuple[str, ...]:
        """Return the languages of all documents, ascending."""
        return tuple(sorted(set(self.all_languages)))

    def term_counts(self, terms: Sequence[str]) -> tuple[NDArray[np.int64], int]:
        """Return the number of chunks that contain each term, (T,), and the number of chunks."""
        return self.collection.term_counts(terms)

    def similar_words(
        self, handles: Sequence[int], words: Sequence[str]
    ) -> tuple[tuple[SimilarWord, ...], ...]:
        """Return the words of some documents that are most similar to each of some words."""
        return self.collection.similar_words(
            [self.collection.documents[handle] for handle in handles],
            words,
            languages=self.languages(),
            quantise=quantise_words,
        )

    def similar_spellings(self, words: Sequence[str]) -> tuple[SimilarWord | None, ...]:
        """Return the word of all documents with the nearest spelling to each of some words."""
        return self.collection.similar_spellings(words)

    def scan(
        self,
        query: ScanQuery,
        *,
        where: Filter | None = None,  # noqa: ARG002 - all chunks are in scope
        documents: Sequence[str] | None = None,  # noqa: ARG002
    ) -> Scan:
        """Search all chunks."""
        return self.collection.scan(
            query.terms,
            words=query.words,
            cosine=self.cosine,
            hits=query.hits,
            keyword_share=query.keyword_share,
        )

    def passages(
        self,
        ranges: Sequence[PassageRange],
        *,
        terms: Sequence[str],
        vectors: NDArray[np.float32],
    ) -> Passages:
        """Return the features of some ranges; the given similarities are used for every vector."""
        starts = np.cumsum([0, *map(len, self.texts)])
        places = [np.arange(span.start, span.end) + starts[span.handle] for span in ranges]
        similarities = np.zeros((len(vectors), sum(map(len, places))), dtype=np.float32)
        if self.cosine is not None:
            similarities[:] = self.cosine[np.concatenate(places)]
        documents = self.collection.documents
        return self.collection.passages(
            [(documents[span.handle], span.start, span.end) for span in ranges],
            terms=terms,
            similarities=similarities,
        )

    def packs(self) -> str:
        """Return the record of the shipped packs."""
        return default_record()

    def signals(
        self, ranges: Sequence[PassageRange], landmarks: Sequence[str]
    ) -> NDArray[np.float32]:
        """Return the signals of landmarks in the chunks of some ranges, (landmarks, n)."""
        packs = [named.pack for named in shipped_packs()]
        handles = {span.handle for span in ranges}
        signals = {handle: document_signals(packs, self.texts[handle]) for handle in handles}
        return range_signals(ranges, landmarks, signals)


class _ConstantEmbedder:
    """Placeholder embedder: its vectors are ignored, because the caller passes similarities."""

    name = "given"
    version = ""
    dimension = 1

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one constant vector per text."""
        return np.ones((len(texts), 1), dtype=np.float32)


def _weights(
    scored: ScoredChunks | None, documents: Sequence[Sequence[str]], model: RelevanceModel
) -> ChunkWeights:
    """Return the shares and relevances by document; the handle of a document is its index."""
    starts = np.cumsum([0, *map(len, documents)])
    shares = np.zeros(int(starts[-1]))
    candidates: list[tuple[int, int]] = []
    features = np.zeros((0, len(model.features)))
    if scored is not None:
        rows = scored.rows
        handles = np.repeat([span.handle for span in scored.ranges], rows.lengths)
        shares[starts[handles] + rows.chunks] = scored.shares
        best = scored.candidates
        candidates += zip(handles[best].tolist(), rows.chunks[best].tolist(), strict=True)
        features = scored.features
    return ChunkWeights(
        shares=_by_document(shares, starts),
        relevances=_by_document(model.relevance(shares), starts),
        candidates=tuple(candidates),
        features=features,
        model=model,
    )


def _by_document(
    values: NDArray[np.float64], starts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], ...]:
    return tuple(values[start:end] for start, end in pairwise(starts.tolist()))


def _documents(chunks: Sequence[str] | Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the texts of each document; a flat list is one document."""
    if isinstance(chunks, str):
        raise OptionError(f"chunks are the text {chunks[:80]!r}; give a list of texts")
    texts = [item for item in chunks if isinstance(item, str)]
    if texts and len(texts) < len(chunks):
        raise OptionError(
            f"of {len(chunks)} chunks {len(texts)} are texts; give texts alone, or a list for each "
            "document"
        )
    return [texts] if texts else [list(item) for item in chunks]


def _check_titles(titles: Sequence[str], documents: int) -> None:
    if isinstance(titles, str):
        raise OptionError(f"titles are the text {titles[:80]!r}; give a list of texts")
    if titles and len(titles) != documents:
        raise OptionError(
            f"there are {len(titles)} titles and {documents} documents; give one title for each"
        )


def _document_chunks(texts: Sequence[str], sections: Sequence[int]) -> list[Chunk]:
    """Return the chunks of a document; their token counts are not used."""
    ends = accumulate(map(len, texts))
    return [
        Chunk(index=index, start=end - len(text), end=end, section=section, tokens=1, text=text)
        for index, (text, end, section) in enumerate(zip(texts, ends, sections, strict=True))
    ]


def _collection(
    documents: Sequence[Sequence[str]],
    titles: Sequence[str],
    languages: Sequence[str],
    sections: Sequence[Sequence[int]],
) -> Collection:
    """Return the documents as a collection, with their mean chunk length as reference length."""
    counted = tuple(
        count_document(
            _document_chunks(texts, within), title_words=title, handle=handle, language=language
        )
        for handle, (texts, title, language, within) in enumerate(
            zip(documents, titles or [""] * len(documents), languages, sections, strict=True)
        )
    )
    lengths = [sum(terms.values()) for document in counted for terms in document.frequencies]
    return Collection(documents=counted, reference_terms=max(1.0, float(np.mean(lengths or [1]))))


def _sections(
    sections: NumbersByDocument | None, documents: Sequence[Sequence[str]]
) -> list[list[int]]:
    """Return the index of the section of each chunk of each document."""
    if sections is None:
        return [[0] * len(texts) for texts in documents]
    rows = _matching(sections, documents, "sections")
    numbers = np.concatenate([np.zeros(0), *rows])
    invalid = numbers[~np.isfinite(numbers) | (np.floor(numbers) != numbers)]
    if len(invalid):
        raise OptionError(f"a section is {invalid[0]}; give its index, a whole number")
    return [row.astype(np.int64).tolist() for row in rows]


def _cosine(
    similarities: NumbersByDocument | None, documents: Sequence[Sequence[str]]
) -> NDArray[np.float64] | None:
    """Return the cosine of all chunks, one document after the other."""
    if similarities is None:
        return None
    cosine = np.concatenate([np.zeros(0), *_matching(similarities, documents, "similarities")])
    if not np.all(np.abs(cosine) <= 1 + 1e-6):
        raise OptionError("a similarity is outside [-1, 1]; give cosines")
    return cosine


def _matching(
    numbers: NumbersByDocument, documents: Sequence[Sequence[str]], name: str
) -> list[NDArray[np.float64]]:
    """Return the caller's numbers for each document, one per chunk.

    Raises:
        OptionError: If their count differs from the number of chunks, or a value is not a number.
    """
    rows = by_document(numbers)
    for row in rows:
        if row.ndim != 1 or row.dtype.kind not in "biuf":
            raise OptionError(
                f"the {name} of a document are {row.tolist()!r:.80}; give a list of numbers"
            )
    counts = [len(row) for row in rows]
    if counts != [len(texts) for texts in documents]:
        raise OptionError(
            f"the documents have {counts!r} {name} and "
            f"{[len(texts) for texts in documents]!r} chunks; give one for each chunk"
        )
    return rows
