"""Baselines that return what they searched, or what stands around it, best first.

`bm25` searches and returns chunks. `sentence-window` follows LlamaIndex's sentence window: each
sentence is embedded by itself and shown with three sentences on both sides; headings and rows of
tables are sentences here, where LlamaIndex joins them to what follows. `parent-document`
follows LangChain's ParentDocumentRetriever with the sizes of its guide: pieces of 400 characters
that overlap by up to 200 are embedded, and the pieces of 2,000 characters in which they stand are
shown, each once. Unlike the frameworks, nothing is shown twice, as that would cost tokens and win
nothing: what is shown of a document does not overlap, and of a window that overlaps one before it
only what is new is shown. What is best is shown until the budget is full, whatever its score.

With a reranker, the best that would be shown is read and put in the reranker's order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.headers import headed_text
from spanwise.core.titles import title_words
from spanwise.evaluation.metrics.ranges import difference, union
from spanwise.evaluation.retrieval import Retrieval, Retrieved
from spanwise.evaluation.retrievers.bm25 import Bm25
from spanwise.evaluation.retrievers.material import Headers
from spanwise.evaluation.retrievers.units import PieceSize, pieces, sentences, windows
from spanwise.evaluation.retrievers.vectors import TextVectors
from spanwise.types import Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.evaluation.metrics import Count
    from spanwise.evaluation.retrievers.material import Material
    from spanwise.evaluation.retrievers.methods import Method
    from spanwise.query.rerank import Reranking

__all__ = ["Baseline", "make_bm25", "make_parent_document", "make_sentence_window"]

_Span = tuple[str, int, int]
_Scores = Callable[[str], "tuple[NDArray[np.float64], Usage]"]

_NEIGHBOURS = 3
_CHILD = PieceSize(max_chars=400, overlap_chars=200)
_PARENT = PieceSize(max_chars=2_000)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Baseline:
    """Returns what fills a budget, best first."""

    name: str
    scores: _Scores
    """Score of each unit that is searched, (n,), higher is better; -inf is not found."""
    shown: Sequence[_Span]
    """What is shown for each unit, (n,)."""
    texts: dict[str, str]
    """Of all documents."""
    count: Count
    headers: Headers | None
    """What stands before a text where a reranker reads it; None for nothing."""
    reranking: Reranking | None

    def retrieve(
        self, question: str, *, budget_tokens: int, documents: Sequence[str] | None
    ) -> Retrieval:
        """Return the best of what is shown until the budget is full."""
        scores, usage = self.scores(question)
        scope = None if documents is None else set(documents)
        order = (row for row in np.argsort(-scores, kind="stable").tolist() if scores[row] > -inf)
        spans = (self.shown[row] for row in order)
        found = _each_once(span for span in spans if scope is None or span[0] in scope)
        if self.reranking is not None:
            best, taken = self._reranked(question, found, self.reranking)
            found, usage = _then(best, found), usage + taken
        return Retrieval(found=tuple(self._fill(found, budget_tokens)), usage=usage)

    def _reranked(
        self, question: str, found: Iterator[_Span], reranking: Reranking
    ) -> tuple[list[_Span], Usage]:
        """Return the best that a reranker read, in its order; ties stay as they were."""
        best = list(islice(found, reranking.options.chunks))
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
        """Yield what is new of each span until the budget is full; the last one may exceed it."""
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


def make_bm25(method: Method, material: Material) -> Baseline:
    """Return chunks by BM25 over their texts; with headers, over titles and headings too.

    Words of the names of files count with headers as well, as they do in Spanwise's own search.
    """
    made = _Maker(method, material)
    base = material.base
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


def make_sentence_window(method: Method, material: Material) -> Baseline:
    """Return windows of sentences by embedding.

    Raises:
        ModelError: If the embedder of the knowledge base fails.
    """
    made = _Maker(method, material)
    searched: list[_Span] = []
    shown: list[_Span] = []
    for document, text in made.texts.items():
        found = sentences(text)
        searched += [(document, start, end) for start, end in found]
        shown += [(document, *window) for window in windows(found, neighbours=_NEIGHBOURS)]
    return made.baseline(made.vectors(searched).scores, shown)


def make_parent_document(method: Method, material: Material) -> Baseline:
    """Return large pieces by the embeddings of small ones inside of them.

    Raises:
        ModelError: If the embedder of the knowledge base fails.
    """
    made = _Maker(method, material)
    searched: list[_Span] = []
    shown: list[_Span] = []
    for document, text in made.texts.items():
        for start, end in pieces(text, start=0, end=len(text), size=_PARENT):
            children = pieces(text, start=start, end=end, size=_CHILD)
            searched += [(document, *child) for child in children]
            shown += [(document, start, end)] * len(children)
    return made.baseline(made.vectors(searched).scores, shown)


class _Maker:
    """What all baselines are made of."""

    def __init__(self, method: Method, material: Material) -> None:
        base = material.base
        self._method = method
        self._material = material
        self._headers = Headers(base) if method.headers else None
        self.texts = {record.id: base.get(record.id).text for record in base.list()}

    def searched(self, span: _Span) -> str:
        """Return what is searched of a span: its text, under its header where headers count."""
        document, start, end = span
        header = "" if self._headers is None else self._headers.of(document, start)
        return headed_text(self.texts[document][start:end], header=header)

    def names(self) -> dict[str, str]:
        """Return the words of the names of each document that its title lacks."""
        base = self._material.base
        titles = {record.id: record.title for record in base.list()}
        return {
            document: title_words(base.get(document), title=title).removeprefix(title).strip()
            for document, title in titles.items()
        }

    def vectors(self, spans: Sequence[_Span]) -> TextVectors:
        """Return the vectors of spans."""
        texts = [self.searched(span) for span in spans]
        return TextVectors(texts, searcher=self._material.searcher)

    def baseline(self, scores: _Scores, shown: Sequence[_Span]) -> Baseline:
        """Return the retriever."""
        return Baseline(
            name=self._method.name,
            scores=scores,
            shown=shown,
            texts=self.texts,
            count=self._material.count,
            headers=self._headers,
            reranking=self._material.reranking(self._method),
        )
