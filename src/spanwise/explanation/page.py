"""One self-contained page from an explanation; the page's own script draws it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise.explanation.decisions import DECISIONS
from spanwise.explanation.explanation import SPREAD
from spanwise.explanation.single_file import SingleFile, asset

if TYPE_CHECKING:
    from spanwise.explanation.explanation import (
        CandidateExplanation,
        DocumentExplanation,
        Explanation,
        QueryScores,
    )
    from spanwise.plain import Plain
    from spanwise.types import Segment

__all__ = ["render_page"]

_PACKAGE = "spanwise.explanation"
_STYLES = ("ground.css", "page.css")
_SCRIPTS = (
    "elements.js",
    "solver.js",
    "data.js",
    "choice.js",
    "cards.js",
    "plots.js",
    "candidates.js",
    "page.js",
)
"""One module, in this order."""
_MOST_BYTES = 950_000
_MEASURES = ((400, 600), (300, 400), (200, 300), (100, 240), (50, 160), (20, 80), (0, 0))
"""How many candidates are listed and how many characters of each, from what is best downwards."""
_CHOICES = {
    "greedy": "The segments were chosen by the greedy method.",
    "whole": "The document that was asked fits whole, so it is given whole.",
}
_TITLE_CHARS, _PATH_CHARS, _QUESTION_CHARS = 200, 120, 2_000


def render_page(explanation: Explanation) -> str:
    """Return the page; it lists as many candidates as fit into a million bytes."""
    page = SingleFile.of(
        asset(_PACKAGE, "page.html"),
        styles=[asset(_PACKAGE, name) for name in _STYLES],
        scripts=[asset(_PACKAGE, name) for name in _SCRIPTS],
    )
    written = ""
    for listed, chars in _MEASURES:
        written = page.with_data(_Data.of(explanation, listed=listed, chars=chars).plain())
        if len(written.encode("utf-8")) <= _MOST_BYTES:
            break
    return written


@dataclass(frozen=True, slots=True)
class _Data:
    """What the script reads: rows are the chunks that were read, as the choice orders them."""

    explanation: Explanation
    listed: tuple[CandidateExplanation, ...]
    chars: int
    rows: dict[str, list[tuple[int, int]]]
    """First chunk of each run and its row, ascending, by document id."""

    @classmethod
    def of(cls, explanation: Explanation, *, listed: int, chars: int) -> _Data:
        """Return what is shown when so many candidates are listed."""
        rows: dict[str, list[tuple[int, int]]] = {}
        row = 0
        for document in sorted(explanation.documents, key=lambda one: one.position):
            for run in document.runs:
                rows.setdefault(document.document_id, []).append((run.start, row))
                row += len(run.tokens)
        shown = tuple(
            one
            for place, one in enumerate(explanation.candidates)
            if place < listed or (listed and one.segment is not None)
        )
        return cls(explanation, shown, chars, rows)

    def plain(self) -> dict[str, Plain]:
        """Return it all."""
        explanation = self.explanation
        result = explanation.result
        runs = [
            run
            for document in sorted(explanation.documents, key=lambda one: one.position)
            for run in document.runs
        ]
        edges = [0]
        for run in runs:
            edges.append(edges[-1] + len(run.tokens))
        paths = sorted({one.section_path for one in self.listed})
        places = {path: place for place, path in enumerate(paths)}
        names = list(explanation.features)
        return {
            "question": result.question[:_QUESTION_CHARS],
            "queries": [query[:_QUESTION_CHARS] for query in result.queries],
            "notices": self._notices(),
            "weighed": result.candidates,
            "unlisted": len(explanation.candidates) - len(self.listed),
            "tokens_used": result.tokens,
            "refused": result.not_found,
            "terms": self._terms(),
            "features": list(explanation.features.values()),
            "groups": [
                [label, [names.index(name) for name in members]]
                for label, members in explanation.groups.items()
            ],
            "spread": SPREAD,
            "reasons": {str(decision): words for decision, words in DECISIONS.items()},
            "typical": {
                str(query): [round(mean[name], 3) for name in names]
                for query, mean in explanation.typical.items()
            },
            "documents": [self._document(document) for document in explanation.documents],
            "edges": list(edges),
            "tokens": [tokens for run in runs for tokens in run.tokens],
            "shares": [share or 0 for run in runs for share in run.shares],
            "relevances": [round(one, 5) or 0 for run in runs for one in run.relevances],
            "required": [self._row(*place) for place in explanation.terms.required],
            "copies": [
                self._row(one.document_id, one.chunk)
                for one in explanation.candidates
                if one.copy_of is not None
            ],
            "segments": [self._segment(segment) for segment in result.segments],
            "paths": [[part[:_PATH_CHARS] for part in path] for path in paths],
            "candidates": [
                self._candidate(one, path=places[one.section_path]) for one in self.listed
            ],
        }

    def _notices(self) -> list[Plain]:
        result = self.explanation.result
        notices: list[Plain] = []
        if result.not_found:
            notices.append("Nothing was found; what is shown would have been taken.")
        elif result.weak_evidence:
            notices.append("The evidence is weak: these segments may well not answer the question.")
        choice = self.explanation.terms.choice
        if choice != "exact":
            notices.append(_CHOICES[choice] + " The sliders choose exactly.")
        if self.explanation.terms.trim:
            notices.append(
                "Segments of one chunk are cut to sentences; the sliders choose whole chunks."
            )
        return [*notices, *result.warnings]

    def _terms(self) -> dict[str, Plain]:
        terms = self.explanation.terms
        return {
            "budget": terms.budget_tokens,
            "header": terms.header_tokens,
            "penalty": terms.irrelevant_chunk_penalty,
            "charge": terms.segment_charge,
            "minimum": terms.min_segment_value,
            "longest": terms.max_segment_tokens,
            "reference": terms.reference_length,
            "table": [list(column) for column in zip(*terms.table, strict=True)],
        }

    def _row(self, document_id: str, chunk: int) -> int:
        """Return the row of a chunk that was read."""
        runs = self.rows[document_id]
        start, row = runs[bisect_right(runs, chunk, key=lambda run: run[0]) - 1]
        return row + chunk - start

    def _document(self, document: DocumentExplanation) -> dict[str, Plain]:
        return {
            "id": document.document_id[:_TITLE_CHARS],
            "title": document.title[:_TITLE_CHARS],
            "chunks": document.chunks,
            "runs": [
                {"start": run.start, "row": row, "count": len(run.tokens)}
                for run, (_, row) in zip(
                    document.runs, self.rows[document.document_id], strict=True
                )
            ],
        }

    def _segment(self, segment: Segment) -> dict[str, Plain]:
        first = self._row(segment.document_id, segment.first_chunk)
        return {
            "rows": [first, first + segment.last_chunk - segment.first_chunk],
            "tokens": segment.tokens,
            "value": segment.value,
            "pages": segment.citation.page_range,
            "queries": list(segment.queries),
            "also_in": len(segment.also_in),
        }

    def _candidate(self, one: CandidateExplanation, *, path: int) -> dict[str, Plain]:
        text = one.text if len(one.text) <= self.chars else one.text[: self.chars].rstrip() + " …"
        return {
            "row": self._row(one.document_id, one.chunk),
            "start": one.start,
            "end": one.end,
            "path": path,
            "text": text,
            "terms": list(one.terms),
            "decision": one.decision,
            "copy": None if one.copy_of is None else list(one.copy_of),
            "scores": [_scores(scores) for scores in one.scores],
        }


def _scores(scores: QueryScores) -> dict[str, Plain]:
    return {
        "query": scores.query,
        "keyword": round(scores.keyword, 2),
        "cosine": round(scores.cosine, 3),
        "contributions": [round(amount, 3) for amount in scores.contributions.values()],
        "score": round(scores.score, 2),
        "spread": round(scores.spread, 3),
        "share": round(scores.share, 6),
        "relevance": round(scores.relevance, 5),
    }
