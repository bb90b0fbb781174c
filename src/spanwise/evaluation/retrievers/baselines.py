"""Baselines: BM25, sentence window and parent document.

`bm25` returns chunks by BM25 (S. Robertson and H. Zaragoza, 2009; k1 = 1.2, b = 0.75) with the
non-negative weights of Lucene. Terms are stems in the language of each document, as in Spanwise's
own search; function words of the question do not count.

`sentence-window` follows LlamaIndex: each sentence is embedded alone and returned with three
sentences on both sides. Here, each heading and each table row is a sentence; LlamaIndex joins them
to the text that follows.

`parent-document` follows LangChain's ParentDocumentRetriever with the sizes of its guide: pieces of
400 characters that overlap by up to 200 are embedded, and the enclosing pieces of 2,000 characters
are returned.

Unlike in the frameworks, no text is returned twice: a duplicate would cost tokens and gain nothing.
If a window overlaps an earlier one, only its new part is returned. The best texts are returned
until the budget is full, even if their scores are low. A reranker reorders the best texts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Literal

import numpy as np

from spanwise.core.documents.headers import headed_text
from spanwise.core.documents.titles import title_words
from spanwise.core.ranking.question import read_question
from spanwise.core.text.break_points import LINE, grade_of, place_of, text_ends
from spanwise.core.text.terms import text_terms
from spanwise.evaluation.metrics.ranges import difference, union
from spanwise.evaluation.retrieval import Retrieval, Retrieved
from spanwise.evaluation.retrievers.context import Headers
from spanwise.models.embed_caller import embedding_usage, make_embed_caller
from spanwise.models.ledger import Ledger
from spanwise.types import Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.evaluation.metrics import Count
    from spanwise.evaluation.retrievers.context import EvaluationContext
    from spanwise.evaluation.retrievers.methods import Method
    from spanwise.models.ports import Embedder
    from spanwise.search.pipeline import Searcher
    from spanwise.search.rerank import Reranking

Range = tuple[int, int]
"""Index of the first character, and index after the last character."""

_SEPARATORS = ("\n\n", "\n", " ")


def sentences(text: str) -> list[Range]:
    """Return the non-blank sentences of a text in order; a line end can also end a sentence."""
    ends = [
        place_of(end) for end in text_ends(text, start=0, stop=len(text)) if grade_of(end) != LINE
    ]
    return _without_blanks(text, list(zip([0, *ends], [*ends, len(text)], strict=True)))


def windows(ranges: Sequence[Range], *, neighbours: int) -> list[Range]:
    """Return each range extended by up to `neighbours` adjacent ranges on both sides."""
    last = len(ranges) - 1
    return [
        (ranges[max(0, at - neighbours)][0], ranges[min(last, at + neighbours)][1])
        for at in range(len(ranges))
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceSize:
    """Length of pieces in characters."""

    max_chars: int
    overlap_chars: int = 0
    """Maximum overlap with the previous piece, less than `max_chars`."""


def pieces(text: str, *, start: int, end: int, size: PieceSize) -> list[Range]:
    """Return a range cut into pieces of at most the maximum length.

    The range is cut into parts at blank lines. A part that is still too long is cut at line breaks,
    then at spaces, then at any character. Adjacent parts that fit into one piece are joined. The
    overlap of two pieces consists of whole parts, and does not extend into a part that was cut
    further.
    """
    return _without_blanks(text, _cut(text, (start, end), size, _SEPARATORS))


def _cut(text: str, whole: Range, size: PieceSize, separators: Sequence[str]) -> list[Range]:
    start, end = whole
    max_chars, overlap = size.max_chars, size.overlap_chars
    if end - start <= max_chars:
        return [whole]
    if not separators:
        firsts = range(start, end - overlap, max_chars - overlap)
        return [(at, min(at + max_chars, end)) for at in firsts]
    out: list[Range] = []
    open_start = start  # start of the text collected for the next piece
    starts: deque[int] = deque()  # starts of the collected parts
    for part in _parts(text, whole, separators[0]):
        if part[1] - open_start > max_chars:
            if part[0] > open_start:
                out.append((open_start, part[0]))
            if part[1] - part[0] > max_chars:
                out += _cut(text, part, size, separators[1:])
                open_start = part[1]
                starts.clear()
                continue
            while starts and (part[0] - starts[0] > overlap or part[1] - starts[0] > max_chars):
                starts.popleft()
            open_start = starts[0] if starts else part[0]
        starts.append(part[0])
    if open_start < end:
        out.append((open_start, end))
    return out


def _parts(text: str, whole: Range, separator: str) -> list[Range]:
    """Return the parts of a range, each up to the end of a separator, and the rest."""
    start, end = whole
    out: list[Range] = []
    while (found := text.find(separator, start, end)) >= 0:
        out.append((start, found + len(separator)))
        start = found + len(separator)
    return [*out, (start, end)] if start < end else out


def _without_blanks(text: str, ranges: Sequence[Range]) -> list[Range]:
    return [(start, end) for start, end in ranges if text[start:end].strip()]


_K1 = 1.2
_B = 0.75


class Bm25:
    """BM25 scores of texts."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        """Index texts, each with its language (ISO 639-1; "" if unknown)."""
        self._terms: dict[str, int] = {}
        found: list[NDArray[np.int64]] = []
        languages: set[str] = set()
        for text, language in texts:
            languages.add(language)
            terms = text_terms(text, language=language)
            known = self._terms
            found.append(np.array([known.setdefault(t, len(known)) for t in terms], dtype=np.int64))
        self._languages = sorted(languages)
        self._lengths = np.array([len(terms) for terms in found], dtype=np.float64)
        self._count = len(found)
        owners = np.repeat(np.arange(self._count), self._lengths.astype(np.int64))
        keys = np.concatenate([*found, np.zeros(0, dtype=np.int64)]) * max(self._count, 1) + owners
        pairs, self._uses = np.unique(keys, return_counts=True)
        self._owners = pairs % max(self._count, 1)
        bounds = np.arange(len(self._terms) + 1) * max(self._count, 1)
        self._starts = np.searchsorted(pairs, bounds)

    def scores(self, question: str) -> NDArray[np.float64]:
        """Return the score of each text, (n,): 0 for a text without a word of the question."""
        total = np.zeros(self._count)
        mean = max(float(self._lengths.mean()), 1.0) if self._count else 1.0
        for term in read_question(question, languages=self._languages).forms()[0]:
            number = self._terms.get(term)
            if number is None:
                continue
            part = slice(self._starts[number], self._starts[number + 1])
            owners, uses = self._owners[part], self._uses[part]
            weight = np.log1p((self._count - len(owners) + 0.5) / (len(owners) + 0.5))
            norm = _K1 * (1 - _B + _B * self._lengths[owners] / mean)
            total[owners] += weight * uses * (_K1 + 1) / (uses + norm)
        return total


_BATCH = 4_096


class TextVectors:
    """Vectors of texts, for cosine scores with a question."""

    def __init__(self, texts: Sequence[str], *, searcher: Searcher) -> None:
        """Embed texts. Vectors of remote embedders are cached in the knowledge base.

        Args:
            texts: The texts.
            searcher: Search pipeline of a knowledge base with an embedder.

        Raises:
            ModelError: If the embedder fails.
        """
        self._searcher = searcher
        side = self._side("document")
        batches = [texts[at : at + _BATCH] for at in range(0, len(texts), _BATCH)]
        self._vectors = np.concatenate(
            [np.zeros((0, side.dimension), np.float32), *(_units(side.embed(b)) for b in batches)]
        )

    def scores(self, question: str) -> tuple[NDArray[np.float64], Usage]:
        """Return the cosine of each text, (n,), and the usage of the embedder."""
        side = self._side("query")
        vector = _units(side.embed([question]))[0]
        return (self._vectors @ vector).astype(np.float64), embedding_usage(side)

    def _side(self, kind: Literal["document", "query"]) -> Embedder:
        side = make_embed_caller(
            self._searcher.embedder,
            kind,
            cache=self._searcher.store,
            ledger=Ledger(parent=self._searcher.ledger),
        )
        assert side is not None  # noqa: S101 - `check_method` looks first
        return side


def _units(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


_Span = tuple[str, int, int]
_Scores = Callable[[str], "tuple[NDArray[np.float64], Usage]"]

_NEIGHBOURS = 3
_CHILD = PieceSize(max_chars=400, overlap_chars=200)
_PARENT = PieceSize(max_chars=2_000)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Baseline:
    """Retriever that returns the best texts until the budget is full."""

    name: str
    scores: _Scores
    """Function that scores each searched unit, (n,); -inf for units that are not found."""
    shown: Sequence[_Span]
    """Span that is returned for each unit, (n,)."""
    texts: dict[str, str]
    """Texts of all documents, by id."""
    count: Count
    headers: Headers | None
    """Headers that are added to the texts for a reranker; None to add none."""
    reranking: Reranking | None

    def retrieve(
        self, question: str, *, budget_tokens: int, documents: Sequence[str] | None
    ) -> Retrieval:
        """Return the best texts until the budget is full."""
        scores, usage = self.scores(question)
        scope = None if documents is None else set(documents)
        order = (row for row in np.argsort(-scores, kind="stable").tolist() if scores[row] > -inf)
        spans = (self.shown[row] for row in order)
        found = _each_once(span for span in spans if scope is None or span[0] in scope)
        if self.reranking is not None:
            best, taken = self._reranked(question, found, self.reranking, budget_tokens)
            found, usage = _then(best, found), usage + taken
        return Retrieval(found=tuple(self._fill(found, budget_tokens)), usage=usage)

    def _reranked(
        self, question: str, found: Iterator[_Span], reranking: Reranking, budget_tokens: int
    ) -> tuple[list[_Span], Usage]:
        """Return the best spans in the order of the reranker; ties keep their order."""
        best = list(islice(found, reranking.options.count(budget_tokens)))
        numbers = {document: at for at, document in enumerate(self.texts)}
        reply = reranking.caller.rerank(
            question, [self._read(span) for span in best], [numbers[span[0]] for span in best]
        )
        order = sorted(range(len(best)), key=lambda at: -reply.scores[at])
        return [best[at] for at in order], reply.usage

    def _read(self, span: _Span) -> str:
        document, start, end = span
        header = "" if self.headers is None else self.headers.of(document, start)
        return headed_text(self.texts[document][start:end], header=header)

    def _fill(self, found: Iterator[_Span], budget_tokens: int) -> Iterator[Retrieved]:
        """Yield the new part of each span until the budget is full; the last one may exceed it."""
        taken: dict[str, list[tuple[int, int]]] = {}
        left = float(budget_tokens)
        for document, start, end in found:
            before = taken.get(document, [])
            for new_start, new_end in difference([(start, end)], before):
                yield Retrieved(document_id=document, start=new_start, end=new_end)
                left -= self.count(self.texts[document][new_start:new_end])
            taken[document] = union([*before, (start, end)])
            if left <= 0:
                return


def _each_once(spans: Iterator[_Span]) -> Iterator[_Span]:
    seen: set[_Span] = set()
    for span in spans:
        if span not in seen:
            seen.add(span)
            yield span


def _then(first: Sequence[_Span], rest: Iterator[_Span]) -> Iterator[_Span]:
    yield from first
    yield from rest


def make_bm25(method: Method, context: EvaluationContext) -> Baseline:
    """Return the BM25 baseline over chunks; with headers, over titles and headings too.

    With headers, words of file names count too, as in Spanwise's own search.
    """
    made = _Maker(method, context)
    base = context.base
    spans = [
        (record.id, chunk.start, chunk.end)
        for record in base.list()
        for chunk in base.chunks(record.id)
    ]
    languages = {record.id: record.language for record in base.list()}
    names = made.names() if method.headers else {}
    index = Bm25(
        (headed_text(made.searched(span), header=names.get(span[0], "")), languages[span[0]])
        for span in spans
    )

    def scores(question: str) -> tuple[NDArray[np.float64], Usage]:
        found = index.scores(question)
        return np.where(found > 0, found, -inf), Usage()

    return made.baseline(scores, spans)


def make_sentence_window(method: Method, context: EvaluationContext) -> Baseline:
    """Return the sentence window baseline.

    Raises:
        ModelError: If the embedder of the knowledge base fails.
    """
    made = _Maker(method, context)
    searched: list[_Span] = []
    shown: list[_Span] = []
    for document, text in made.texts.items():
        found = sentences(text)
        searched += [(document, start, end) for start, end in found]
        shown += [(document, *window) for window in windows(found, neighbours=_NEIGHBOURS)]
    return made.baseline(made.vectors(searched).scores, shown)


def make_parent_document(method: Method, context: EvaluationContext) -> Baseline:
    """Return the parent document baseline.

    Raises:
        ModelError: If the embedder of the knowledge base fails.
    """
    made = _Maker(method, context)
    searched: list[_Span] = []
    shown: list[_Span] = []
    for document, text in made.texts.items():
        for start, end in pieces(text, start=0, end=len(text), size=_PARENT):
            children = pieces(text, start=start, end=end, size=_CHILD)
            searched += [(document, *child) for child in children]
            shown += [(document, start, end)] * len(children)
    return made.baseline(made.vectors(searched).scores, shown)


class _Maker:
    """Builder of baselines, with the steps that all of them share."""

    def __init__(self, method: Method, context: EvaluationContext) -> None:
        base = context.base
        self._method = method
        self._context = context
        self._headers = Headers(base) if method.headers else None
        self.texts = {record.id: base.get(record.id).text for record in base.list()}

    def searched(self, span: _Span) -> str:
        """Return the searched text of a span, with its header if headers count."""
        document, start, end = span
        header = "" if self._headers is None else self._headers.of(document, start)
        return headed_text(self.texts[document][start:end], header=header)

    def names(self) -> dict[str, str]:
        """Return the words of the file name of each document that its title lacks."""
        base = self._context.base
        titles = {record.id: record.title for record in base.list()}
        return {
            document: title_words(base.get(document), title=title).removeprefix(title).strip()
            for document, title in titles.items()
        }

    def vectors(self, spans: Sequence[_Span]) -> TextVectors:
        """Return the vectors of spans."""
        texts = [self.searched(span) for span in spans]
        return TextVectors(texts, searcher=self._context.searcher)

    def baseline(self, scores: _Scores, shown: Sequence[_Span]) -> Baseline:
        """Return the retriever."""
        return Baseline(
            name=self._method.name,
            scores=scores,
            shown=shown,
            texts=self.texts,
            count=self._context.count,
            headers=self._headers,
            reranking=self._context.reranking(self._method),
        )
