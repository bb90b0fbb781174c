"""Recall of evidence by searches: what is said of a tuning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spanwise.errors import OptionError
from spanwise.evaluation.metrics.ranges import intersection, length, union
from spanwise.evaluation.tuning.examples import Ranges, evidence_ranges
from spanwise.options import SearchOptions

if TYPE_CHECKING:
    from spanwise.evaluation.dataset import LabelledQuestion
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.query import Searcher
    from spanwise.query.rerank import Reranking
    from spanwise.types import Segment

__all__ = ["Measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """How recall is measured: at equal tokens of text, without headers, nothing refused."""

    budgets: tuple[int, ...]
    tokenizer: str | None
    reranking: Reranking | None

    def recalls(
        self,
        questions: Sequence[LabelledQuestion],
        *,
        base: KnowledgeBase,
        searcher: Searcher,
        may_refuse: bool = False,
    ) -> list[tuple[float, ...]]:
        """Return the share of its evidence characters that each question finds, by budget.

        Args:
            questions: With evidence in characters or pages.
            base: Where is searched.
            searcher: What searches it.
            may_refuse: Whether a search that no relevant chunk is short enough for counts as one
                that finds nothing.

        Raises:
            OptionError: If a budget is smaller than every relevant chunk, and that does not count.
            ModelError: If the embedder or the reranker fails: what a search finds without them
                says nothing of the settings.
        """
        strict = replace(searcher, falls_back=False)
        return [
            self._recall(one, evidence_ranges(one, base), strict, may_refuse=may_refuse)
            for one in questions
        ]

    def _recall(
        self,
        question: LabelledQuestion,
        evidence: Ranges,
        searcher: Searcher,
        *,
        may_refuse: bool,
    ) -> tuple[float, ...]:
        whole = sum(length(ranges) for ranges in evidence.values())
        reached = []
        for budget in self.budgets:
            try:
                segments = self._segments(question, budget, searcher)
            except OptionError:
                if not may_refuse:
                    raise
                segments = ()
            held = 0
            for document_id, ranges in evidence.items():
                found = [(one.start, one.end) for one in segments if one.document_id == document_id]
                held += length(intersection(union(found), ranges))
            reached.append(held / whole)
        return tuple(reached)

    def _segments(
        self, question: LabelledQuestion, budget: int, searcher: Searcher
    ) -> tuple[Segment, ...]:
        return searcher.search(
            question.text,
            options=SearchOptions(
                budget_tokens=budget, headers=False, tokenizer=self.tokenizer, abstain=False
            ),
            documents=question.scope,
            reranking=self.reranking and replace(self.reranking, falls_back=False),
        ).segments
