"""Lifts: additions to the scores of chunks by packs, known answers and named documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spanwise.core.arrays import distinct
from spanwise.core.ranking.bm25 import inverse_frequencies
from spanwise.core.ranking.known_answers import answer_lift
from spanwise.packs.intents import Aim, glossary_lift, landmark_lifts, read_aims
from spanwise.packs.pack_file import recorded_packs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanwise.core.ranking.comparisons import Comparison
    from spanwise.core.ranking.features import Rows
    from spanwise.core.ranking.question import Question
    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.core.ranking.scan import PassageRange, Passages
    from spanwise.stores.port import Searchable

_KNOWN = "words that answered such questions"
NAMED_DOCUMENTS = "documents that the question names"
MINILM = "meaning by MiniLM"
"""Label of the lift of the chunks of these documents."""
_NAMED_LIFT = 4.0  # greater than the lifts of packs
_FIRST_CHUNKS = 2  # chunks at the start of a document that may name its parties
_MAX_NAMED = 0.1  # share of the read documents; a name on the first page of more names none
_OWN_SHARE = 0.9  # least share of the chunks with such a name that are in its documents
_NO_VECTORS = np.zeros((0, 0), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class LiftReader:
    """Computes the lifts of the chunks that were read for a query."""

    snapshot: Searchable
    ranges: Sequence[PassageRange]
    """Ranges of chunks that were read."""
    rows: Rows
    """Layout of the chunks in the ranges, n rows."""
    model: RelevanceModel
    passages: Passages
    """Inputs of the features, with a column for each term of the query."""

    def lifts(self, question: Question, comparison: Comparison) -> dict[str, NDArray[np.float64]]:
        """Return the lifts of the chunks, (n,) each, by label; empty if nothing applies.

        Args:
            question: The query.
            comparison: Documents that the query names.
        """
        packs = [named.pack for named in recorded_packs(self.snapshot.packs())]
        lifts: dict[str, NDArray[np.float64]] = {}
        for aim in read_aims(packs, question.text):
            lifts |= self._pack_lifts(aim)
        return lifts | self._known_lift(question) | self._named_lift(comparison)

    def _impacts(self, terms: tuple[str, ...]) -> NDArray[np.float32]:
        return self.snapshot.passages(self.ranges, terms=terms, vectors=_NO_VECTORS).impacts

    def _known_lift(self, question: Question) -> dict[str, NDArray[np.float64]]:
        expansion = self.model.known_answers.expansion(question.forms()[0])
        if expansion is None:
            return {}
        holders, chunks = self.snapshot.term_counts(tuple(expansion.shares))
        rarities = np.where(holders > 0, inverse_frequencies(holders, chunks), 0.0)
        terms, weights = expansion.best(rarities)
        if not terms:
            return {}
        lift = answer_lift(
            self._impacts(terms),
            term_weights=weights,
            rows=self.rows,
            weight=self.model.lift_weights.answers * expansion.similarity,
        )
        return {_KNOWN: lift} if lift.any() else {}

    def _pack_lifts(self, aim: Aim) -> dict[str, NDArray[np.float64]]:
        weights = self.model.lift_weights
        keys = [landmark.key for landmark in aim.pack.landmarks]
        signals = self.snapshot.signals(self.ranges, [aim.pack.signal(key) for key in keys])
        # The signals of a document without any landmark are all 0.
        known = np.logical_or.reduceat((signals != 0).any(axis=0), self.rows.starts)
        if not known.any():
            return {}
        lifts: dict[str, NDArray[np.float64]] = {}
        if aim.landmarks:
            rows_of_aim = [keys.index(landmark.key) for landmark in aim.landmarks]
            lifts |= landmark_lifts(aim, signals[rows_of_aim], weights=weights)
        if aim.terms:
            holders, chunks = self.snapshot.term_counts(aim.terms)
            lifts[f"{aim.pack.name}: words that say the same"] = glossary_lift(
                self._impacts(aim.terms),
                terms=inverse_frequencies(holders, chunks),
                rows=self.rows,
                known=np.repeat(known, self.rows.lengths),
                weights=weights,
            )
        return lifts

    def _named_lift(self, comparison: Comparison) -> dict[str, NDArray[np.float64]]:
        """Return the lift of the chunks of the documents that a question names, by label, (n,).

        If no title has a name, documents with a name of several words on their first page are used,
        if hardly any other chunk contains these words together.
        """
        if not comparison.named and not comparison.parties:
            return {}
        rows = self.rows
        named = np.isin(rows.documents, comparison.named)
        most = max(1.0, _MAX_NAMED * len(distinct(rows.documents[rows.starts])))
        for columns in () if named.any() else comparison.parties:
            together = (self.passages.impacts[list(columns)] > 0).all(axis=0)
            documents = distinct(rows.documents[together & (rows.chunks < _FIRST_CHUNKS)])
            inside = np.isin(rows.documents, documents)
            own = np.count_nonzero(together & inside)
            if len(documents) <= most and own >= _OWN_SHARE * np.count_nonzero(together):
                named |= inside
        if named.all() or not named.any():
            return {}
        return {NAMED_DOCUMENTS: np.where(named, _NAMED_LIFT, 0.0)}
