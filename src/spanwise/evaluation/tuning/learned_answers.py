"""Known answers learned from labelled questions: terms of the evidence, by kind of question.

A question is never searched with answers learned from its own documents: folds share no document.
If that is impossible, nothing is learned.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.documents.titles import title_words
from spanwise.core.ranking.bm25 import inverse_frequencies
from spanwise.core.ranking.known_answers import (
    AnsweredQuestion,
    EvidencePiece,
    KnownAnswers,
    learn_kinds,
)
from spanwise.core.ranking.question import read_question
from spanwise.core.text.terms import content_words, text_terms, word_terms
from spanwise.evaluation.tuning.examples import (
    Example,
    collect_examples,
    evidence_ranges,
    fold_questions,
)
from spanwise.knowledge_base.internals import store_of
from spanwise.search.scoring import select_search_terms

if TYPE_CHECKING:
    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.evaluation.dataset import LabelledQuestion
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ledger import Ledger
    from spanwise.stores.port import Snapshot
    from spanwise.types import Chunk


_FOLDS = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answers:
    """Terms of all questions and of their evidence."""

    answered: Mapping[str, AnsweredQuestion]
    """Terms of each question and its evidence, by question id."""
    rarities: Mapping[str, float]
    """Inverse document frequency of each evidence term; 0 for a term in no chunk."""

    def learn(self, questions: Sequence[LabelledQuestion]) -> KnownAnswers:
        """Return the known answers learned from some questions."""
        chosen = [self.answered[question.id] for question in questions]
        return KnownAnswers(kinds=learn_kinds(chosen, rarities=self.rarities))


def read_answers(base: KnowledgeBase, questions: Sequence[LabelledQuestion]) -> Answers:
    """Return the terms of questions and of their evidence.

    Args:
        base: Knowledge base with the documents.
        questions: Questions with evidence in characters or pages, with unique ids.

    Raises:
        DocumentNotFoundError: If a question names an unknown document.
    """
    with store_of(base).snapshot() as snapshot:
        answered = {one.id: one for one in _answered(base, questions, snapshot)}
        pieces = (piece.terms for one in answered.values() for piece in one.evidence)
        terms = sorted(frozenset[str]().union(*pieces))
        holders, chunks = snapshot.term_counts(terms)
    rarities = np.where(holders > 0, inverse_frequencies(holders, chunks), 0.0)
    return Answers(answered=answered, rarities=dict(zip(terms, rarities.tolist(), strict=True)))


def _answered(
    base: KnowledgeBase, questions: Sequence[LabelledQuestion], snapshot: Snapshot
) -> Iterator[AnsweredQuestion]:
    """Yield the terms of each question and its evidence; documents are read one at a time."""
    wanted: defaultdict[str, list[tuple[str, int, int]]] = defaultdict(list)
    for question in questions:
        for name, ranges in evidence_ranges(question, base).items():
            wanted[name] += [(question.id, start, end) for start, end in ranges if end > start]
    pieces: defaultdict[str, list[EvidencePiece]] = defaultdict(list)
    titles: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for name in sorted(wanted):
        source = _read_source(base, name)
        for asked, start, end in wanted[name]:
            pieces[asked] += source.pieces(start, end)
            titles[asked] |= source.titles
    languages = snapshot.languages()
    for question in questions:
        terms = select_search_terms(read_question(question.text, languages=languages), snapshot)
        yield AnsweredQuestion(
            id=question.id,
            terms=frozenset(terms) - titles[question.id],
            evidence=tuple(pieces[question.id]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Chunks, title terms and language of one document."""

    id: str
    chunks: Sequence[Chunk]
    titles: frozenset[str]
    """Terms of the title."""
    language: str

    def pieces(self, start: int, end: int) -> Iterator[EvidencePiece]:
        """Yield the terms of each chunk that overlaps a character range."""
        first = bisect_right(self.chunks, start, key=lambda chunk: chunk.end)
        last = bisect_left(self.chunks, end, key=lambda chunk: chunk.start)
        for chunk in self.chunks[first:last]:
            begin, stop = max(start, chunk.start), min(end, chunk.end)
            text = chunk.text[begin - chunk.start : stop - chunk.start]
            words = content_words(text, language=self.language)
            terms = (term for one in words for term in word_terms(one, language=self.language))
            yield EvidencePiece(
                document_id=self.id, terms=frozenset(terms) - self.titles, chars=stop - begin
            )


def _read_source(base: KnowledgeBase, name: str) -> _Source:
    record = base.record(name)
    language = record.language or "en"  # the default when terms were extracted
    words = title_words(base.get(name), title=record.title)
    return _Source(
        id=name,
        chunks=base.chunks(name),
        titles=frozenset(text_terms(words, language=language)),
        language=language,
    )


def examples_with_answers(
    base: KnowledgeBase,
    questions: Sequence[LabelledQuestion],
    *,
    answers: Answers,
    model: RelevanceModel,
    tokenizer: str | None,
    ledger: Ledger | None = None,
) -> list[Example]:
    """Return training examples; each question is searched with answers learned in other folds.

    Args:
        base: Knowledge base to search.
        questions: Questions with evidence.
        answers: Terms of at least these questions.
        model: Relevance model; its known answers are replaced.
        tokenizer: Tokenizer for token counts; None for the tokenizer of the knowledge base.
        ledger: Ledger for calls of the embedder, with the cost limit; None for no limit.

    Returns:
        Examples; empty if there are too few documents for folds.
    """
    folds = fold_questions(questions, folds=_FOLDS)
    if not folds.by_document:
        return []
    examples: list[Example] = []
    for number in folds.numbers:
        inside, others = folds.split(questions, number)
        known = replace(model, known_answers=answers.learn(others))
        examples += collect_examples(base, inside, model=known, tokenizer=tokenizer, ledger=ledger)
    return examples
