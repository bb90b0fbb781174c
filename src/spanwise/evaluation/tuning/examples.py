"""Training examples from labelled questions, and folds of questions for cross-validation.

Rules of the folds:
    If there are enough documents, no document has evidence for questions of different folds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from spanwise.core.ranking.relevance import lifted_scores
from spanwise.errors import QueryError
from spanwise.evaluation.metrics.ranges import union
from spanwise.knowledge_base.internals import searcher_of
from spanwise.models.embed_caller import make_embed_caller
from spanwise.options import SearchOptions
from spanwise.search.queries import search_whole
from spanwise.search.question_limits import read_questions
from spanwise.search.rendering import make_token_counter
from spanwise.search.rerank import rerank
from spanwise.search.scoring import Scope, ScoredChunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.evaluation.dataset import LabelledQuestion
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ledger import Ledger
    from spanwise.models.ports import Embedder
    from spanwise.search.pipeline import Searcher
    from spanwise.search.rerank import Reranking
    from spanwise.stores.port import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Folds:
    """Assignment of questions to folds."""

    of: tuple[int, ...]
    """Fold number of each question, from 0."""
    by_document: bool
    """Whether the folds share no document."""

    @property
    def numbers(self) -> range:
        """Return the numbers of all folds."""
        return range(max(self.of, default=-1) + 1)

    def split(self, items: Sequence[_Item], number: int) -> tuple[list[_Item], list[_Item]]:
        """Return the items of the questions in a fold, and the items of all other questions."""
        pairs = list(zip(items, self.of, strict=True))
        return (
            [item for item, fold in pairs if fold == number],
            [item for item, fold in pairs if fold != number],
        )


def question_groups(questions: Sequence[LabelledQuestion]) -> list[str]:
    """Return the group of each question; questions that share a document are in one group.

    A question with evidence in several documents joins their groups (union-find). The name of a
    group is its first document id in sorted order; it is "" for a question without evidence.
    """
    above: dict[str, str] = {}

    def top(name: str) -> str:
        while above.setdefault(name, name) != name:
            above[name] = above[above[name]]  # path halving keeps the chains short
            name = above[name]
        return name

    for question in questions:
        names = sorted({piece.document_id for piece in question.evidence})
        for other in names[1:]:
            first, second = sorted((top(names[0]), top(other)))
            above[second] = first
    firsts = (min((piece.document_id for piece in q.evidence), default="") for q in questions)
    return [top(name) if name else "" for name in firsts]


def fold_questions(questions: Sequence[LabelledQuestion], *, folds: int) -> Folds:
    """Return questions in folds of similar size that share no document.

    Each group of questions is assigned to the smallest fold, largest group first. If there are too
    few groups, or one has more than half of the questions, questions are assigned one by one: the
    results are then valid only for the same documents.

    Args:
        questions: Questions with evidence.
        folds: Number of folds, at least 2.
    """
    groups = question_groups(questions)
    counts = Counter(groups)
    if len(counts) < folds or max(counts.values()) * 2 > len(groups):
        return Folds(of=tuple(at % folds for at in range(len(groups))), by_document=False)
    sizes = [0] * folds
    part: dict[str, int] = {}
    for name in sorted(counts, key=lambda name: (-counts[name], name)):
        part[name] = sizes.index(min(sizes))
        sizes[part[name]] += counts[name]
    return Folds(of=tuple(part[name] for name in groups), by_document=True)


_Item = TypeVar("_Item")
Ranges = Mapping[str, Sequence[tuple[int, int]]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """Chunks read for a question: n chunks (rows) in r ranges of adjacent chunks."""

    starts: NDArray[np.int64]
    """First row of each range, (r,)."""
    tokens: NDArray[np.int64]
    """Number of tokens of each chunk, (n,)."""
    evidence: NDArray[np.float64]
    """Number of evidence characters in each chunk, (n,)."""
    all_evidence: int
    """Number of evidence characters in all documents, > 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Example:
    """Training example: the c candidates of one question."""

    question: LabelledQuestion
    features: NDArray[np.float32]
    """Features of each candidate, (c, features). The last column is the reranker score, if any."""
    lifts: NDArray[np.float64]
    """Score added to each candidate by packs and known answers, (c,)."""
    evidence: NDArray[np.float64]
    """Number of evidence characters in each candidate, (c,); not all are 0."""
    documents: NDArray[np.int64]
    """Document number of each candidate, (c,)."""
    compares: bool
    """Whether the question compares documents."""
    candidates: NDArray[np.int64]
    """Index of each candidate in `rows`, ascending, (c,)."""
    rows: Rows
    """Chunks read for the question, including those that are not candidates."""
    reranker: str | None = None
    """Name of the reranker whose score is the last feature column; None without a reranker."""

    @property
    def target(self) -> NDArray[np.float64]:
        """Return each candidate's share of the evidence in all candidates, (c,)."""
        return np.asarray(self.evidence / self.evidence.sum())


def collect_examples(
    base: KnowledgeBase,
    questions: Iterable[LabelledQuestion],
    *,
    model: RelevanceModel,
    tokenizer: str | None = None,
    reranking: Reranking | None = None,
    ledger: Ledger | None = None,
) -> list[Example]:
    """Return a training example for each question that has evidence among its candidates.

    Args:
        base: Knowledge base to search.
        questions: Questions with evidence in characters or pages; others are left out.
        model: Relevance model. Its keyword share determines the candidates. Its weights determine
            how much packs and known answers add to the scores.
        tokenizer: Tokenizer for token counts; None for the tokenizer of the knowledge base.
        reranking: Reranker whose scores become a feature; None for no reranker.
        ledger: Ledger for calls of the embedder, with the cost limit; None for no limit.

    Raises:
        DocumentNotFoundError: If a question names an unknown document.
        ModelError: If the embedder or the reranker fails.
    """
    if reranking is not None:  # the scores become a feature without a weight
        unweighed = replace(reranking.options, weight=1.0)
        reranking = replace(reranking, options=unweighed, falls_back=False)
    collector = _Collector(
        base=base,
        searcher=searcher_of(base, model, ledger=ledger),
        tokenizer=tokenizer,
        reranking=reranking,
    )
    return list(collector.collect(questions))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Collector:
    base: KnowledgeBase
    searcher: Searcher
    tokenizer: str | None
    reranking: Reranking | None
    _spans: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    def collect(self, questions: Iterable[LabelledQuestion]) -> Iterator[Example]:
        """Yield the examples in the order of the questions."""
        searcher = self.searcher
        embedder = make_embed_caller(
            searcher.embedder,
            "query",
            cache=searcher.store,
            recorded_dimension=searcher.dimension,
            ledger=searcher.ledger,
        )
        with searcher.store.snapshot() as snapshot:
            for question in questions:
                ranges = evidence_ranges(question, self.base)
                if not any(end > start for span in ranges.values() for start, end in span):
                    continue
                example = self._example(question, ranges, snapshot, embedder)
                if example is not None:
                    yield example

    def _example(
        self,
        question: LabelledQuestion,
        ranges: Ranges,
        snapshot: Snapshot,
        embedder: Embedder | None,
    ) -> Example | None:
        """Return the example of a question; None if no candidate holds evidence."""
        try:
            (asked,) = read_questions([question.text], snapshot)
        except QueryError:
            return None
        model = self.searcher.model
        hits = search_whole(
            asked,
            snapshot=snapshot,
            embedder=embedder,
            model=model,
            scope=Scope(documents=question.scope),
        )
        reranked = rerank(
            [hits],
            snapshot=snapshot,
            model=model,
            reranking=self.reranking,
            budget_tokens=SearchOptions().budget_tokens,
        )
        weighed = reranked.hits[0].scored
        if weighed is None:
            return None
        rows = self._rows(weighed, ranges, snapshot)
        evidence = rows.evidence[weighed.candidates]
        if not evidence.any():
            return None
        features, lifts = self._columns(weighed)
        return Example(
            question=question,
            features=features,
            lifts=lifts,
            evidence=evidence,
            documents=weighed.rows.documents[weighed.candidates],
            compares=asked.compares,
            candidates=weighed.candidates,
            rows=rows,
            reranker=None if self.reranking is None else self.reranking.caller.reranker.name,
        )

    def _columns(self, weighed: ScoredChunks) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return the features, including the reranker score, and the additions to the scores."""
        lifts = dict(weighed.lifts)
        columns = [weighed.features]
        if self.reranking is not None:
            name = self.reranking.caller.reranker.name
            columns.append(lifts.pop(f"reranker {name}")[:, None])
        fixed = lifted_scores(np.zeros(len(weighed.candidates)), lifts)
        return np.concatenate(columns, axis=1).astype(np.float32), fixed

    def _rows(self, weighed: ScoredChunks, ranges: Ranges, snapshot: Snapshot) -> Rows:
        """Return the tokens and the evidence of the chunks read for a question."""
        token_counter = make_token_counter(self.tokenizer, self.searcher.tokenizer)
        evidence = np.zeros(len(weighed.rows.chunks))
        first = 0
        for span in weighed.ranges:
            document_id = snapshot.record(span.handle).id
            count = span.end - span.start
            if document_id in ranges:
                chunks = self._chunk_spans(document_id)[span.start : span.end]
                evidence[first : first + count] = _overlaps(chunks, ranges[document_id])
            first += count
        return Rows(
            starts=weighed.rows.starts,
            tokens=token_counter.chunks(
                weighed.passages.tokens, weighed.passages.chars, weighed.ranges, snapshot
            ),
            evidence=evidence,
            all_evidence=sum(end - start for span in ranges.values() for start, end in span),
        )

    def _chunk_spans(self, document_id: str) -> NDArray[np.int64]:
        """Return the character range of each chunk of a document, (chunks, 2)."""
        if document_id not in self._spans:
            chunks = self.base.chunks(document_id)
            spans = np.array([(chunk.start, chunk.end) for chunk in chunks], dtype=np.int64)
            self._spans[document_id] = spans.reshape(-1, 2)
        return self._spans[document_id]


def evidence_ranges(
    question: LabelledQuestion, base: KnowledgeBase
) -> dict[str, list[tuple[int, int]]]:
    """Return the disjoint character ranges of a question's evidence, by document.

    Evidence with a page number covers the whole page. Evidence without characters or page is left
    out.

    Raises:
        DocumentNotFoundError: If the document of a page does not exist.
    """
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for piece in question.evidence:
        if piece.start is not None and piece.end is not None:
            found[piece.document_id].append((piece.start, piece.end))
        elif piece.page is not None:
            pages = base.get(piece.document_id).pages[piece.page - 1 : piece.page]
            found[piece.document_id] += [(page.start, page.end) for page in pages]
    return {document: union(ranges) for document, ranges in found.items()}


def _overlaps(chunks: NDArray[np.int64], ranges: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Return the number of characters of disjoint ranges inside each chunk, (chunks,)."""
    held = np.zeros(len(chunks))
    for start, end in ranges:
        held += np.clip(np.minimum(chunks[:, 1], end) - np.maximum(chunks[:, 0], start), 0, None)
    return held
