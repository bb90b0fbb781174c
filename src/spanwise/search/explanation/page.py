"""HTML views of an explanation: an interactive self-contained page, and a notebook view."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise.loading import package_text
from spanwise.search.explanation.explanation import DECISIONS, SPREAD
from spanwise.search.explanation.word_forms import word_forms
from spanwise.types.notebook import Card, cards_html, counted
from spanwise.types.results import similar_words_notes

if TYPE_CHECKING:
    from spanwise.search.explanation.explanation import (
        CandidateExplanation,
        DocumentExplanation,
        Explanation,
        QueryScores,
    )
    from spanwise.types import Segment
    from spanwise.types.plain import Plain


@dataclass(frozen=True, slots=True)
class SingleFile:
    """Self-contained HTML page, split where its data is inserted."""

    before: str
    """HTML before the data."""
    after: str
    """HTML after the data."""

    @classmethod
    def of(cls, page: str, *, styles: Sequence[str], scripts: Sequence[str]) -> SingleFile:
        """Return a page with a content security policy that allows only its own style and script.

        Args:
            page: HTML with the placeholders `{{style}}`, `{{style_hash}}`, `{{script}}`,
                `{{script_hash}}` and `{{data}}`.
            styles: Style sheets, joined in this order.
            scripts: Scripts, joined into one module in this order, without their imports.
        """
        style, script = "\n".join(styles), _IMPORT.sub("", "\n".join(scripts))
        for name, text in (
            ("{{style_hash}}", _hash(style)),
            ("{{script_hash}}", _hash(script)),
            ("{{style}}", style),
            ("{{script}}", script),
        ):
            page = page.replace(name, text)
        before, _, after = page.partition("{{data}}")
        return cls(before, after)

    def with_data(self, data: Plain) -> str:
        """Return the page with its data as JSON, escaped for HTML."""
        return self.before + _encoded(data) + self.after


_IMPORT = re.compile(r"^import .*;\n", re.MULTILINE)
"""Import of one script by another, on a line of its own."""


def _hash(text: str) -> str:
    """Return the SHA-256 of a text as a source expression of a content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()


def _encoded(value: Plain) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


_MAX_DOCUMENTS = 8


def strips_html(explanation: Explanation) -> str:
    """Return the best documents with their relevance from the first chunk to the last."""
    shown = explanation.documents[:_MAX_DOCUMENTS]
    more = len(explanation.documents) - len(shown)
    return cards_html(
        explanation.result.question,
        summary=f"{counted(len(explanation.candidates), 'chunk')} of "
        f"{counted(len(explanation.documents), 'document')} weighed; bars are relevance, from the "
        "first chunk of a document to the last",
        cards=[_card(document, explanation) for document in shown],
        remarks=[f"{counted(more, 'further document')} not shown"] if more else [],
    )


def _card(document: DocumentExplanation, explanation: Explanation) -> Card:
    relevances = [0.0] * document.chunks
    for run in document.runs:
        relevances[run.start : run.start + len(run.relevances)] = run.relevances
    segments = [segment for segment in explanation.result.segments if document.contains(segment)]
    chosen = [_chunks(segment) for segment in segments]
    return Card(
        title=document.title or document.document_name,
        place=f"{document.document_name}, {counted(document.chunks, 'chunk')}",
        relevance=max([*relevances, *(segment.relevance for segment in segments)], default=0.0),
        relevances=tuple(relevances),
        text=f"chosen: {', '.join(chosen)}" if chosen else "nothing chosen",
    )


def _chunks(segment: Segment) -> str:
    first, last = segment.first_chunk, segment.last_chunk - 1
    return f"chunk {first}" if first == last else f"chunks {first} to {last}"


_PACKAGE = "spanwise.search.explanation"
_STYLES = ("ground.css", "selection.css", "page.css")
_SCRIPTS = (
    "elements.js",
    "solver.js",
    "choice.js",
    "settings.js",
    "contributions.js",
    "strip.js",
    "data.js",
    "cards.js",
    "candidates.js",
    "page.js",
)
"""Scripts that are joined into one module, in order."""
_MAX_BYTES = 950_000
_MEASURES = ((400, 600), (300, 400), (200, 300), (100, 240), (50, 160), (20, 80), (0, 0))
"""Maximum candidates, and characters of each; the first pair that fits the page is used."""
_CHOICES = {
    "greedy": "The segments were chosen by the greedy method.",
    "whole": "The searched document fits whole, so it is returned whole.",
}
_LISTED_WHOLE, _WHOLE_CHARS = 160, 6_000
"""Maximum candidates of `explanation_data`, and characters of each."""
_TITLE_CHARS, _PATH_CHARS, _QUESTION_CHARS = 200, 120, 2_000


def render_page(explanation: Explanation) -> str:
    """Return the page, with as many candidates as fit into a million bytes."""
    page = SingleFile.of(
        package_text(_PACKAGE, "page.html"),
        styles=[package_text(_PACKAGE, name) for name in _STYLES],
        scripts=[package_text(_PACKAGE, name) for name in _SCRIPTS],
    )
    written = ""
    for listed, chars in _MEASURES:
        written = page.with_data(_PageData.of(explanation, listed=listed, chars=chars).plain())
        if len(written.encode("utf-8")) <= _MAX_BYTES:
            break
    return written


def explanation_data(explanation: Explanation) -> dict[str, Plain]:
    """Return the data of the page with fewer, longer candidates, and the words to mark in them.

    With these data, the selection can be repeated for other settings.
    """
    data = _PageData.of(explanation, listed=_LISTED_WHOLE, chars=_WHOLE_CHARS)
    texts = [
        *(item.text for item in data.listed),
        *(segment.text for segment in explanation.result.segments),
    ]
    forms = word_forms(texts, explanation.words, languages=explanation.languages)
    return {
        **data.plain(),
        "words": {form: [match.word, match.similarity] for form, match in forms.items()},
    }


@dataclass(frozen=True, slots=True)
class _PageData:
    """Data for the script. A row is a chunk that was read; rows are in the order of the choice."""

    explanation: Explanation
    listed: tuple[CandidateExplanation, ...]
    chars: int
    rows: dict[tuple[str, str], list[tuple[int, int]]]
    """First chunk and first row of each run of a document, ascending, by knowledge base and id."""

    @classmethod
    def of(cls, explanation: Explanation, *, listed: int, chars: int) -> _PageData:
        """Return the data with the first `listed` candidates, cut to `chars` characters each."""
        rows: dict[tuple[str, str], list[tuple[int, int]]] = {}
        row = 0
        for document in sorted(explanation.documents, key=lambda item: item.position):
            for run in document.runs:
                key = (document.knowledge_base, document.document_id)
                rows.setdefault(key, []).append((run.start, row))
                row += len(run.tokens)
        shown = tuple(
            item
            for place, item in enumerate(explanation.candidates)
            if place < listed or (listed and item.segment is not None)
        )
        return cls(explanation, shown, chars, rows)

    def plain(self) -> dict[str, Plain]:
        """Return the data as JSON values."""
        explanation = self.explanation
        result = explanation.result
        runs = [
            run
            for document in sorted(explanation.documents, key=lambda item: item.position)
            for run in document.runs
        ]
        edges = [0]
        for run in runs:
            edges.append(edges[-1] + len(run.tokens))
        paths = sorted({item.section_path for item in self.listed})
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
            "borders": [part for run in runs for part in run.borders or (0,) * len(run.tokens)],
            "shares": [share or 0 for run in runs for share in run.shares],
            "relevances": [round(item, 5) or 0 for run in runs for item in run.relevances],
            "required": self._required(),
            "copies": [
                self._row(item.knowledge_base, item.document_id, item.chunk)
                for item in explanation.candidates
                if item.copy_of is not None
            ],
            "segments": [self._segment(segment) for segment in result.segments],
            "paths": [[part[:_PATH_CHARS] for part in path] for path in paths],
            "candidates": [
                self._candidate(item, path=places[item.section_path]) for item in self.listed
            ],
        }

    def _notices(self) -> list[Plain]:
        result = self.explanation.result
        notices: list[Plain] = []
        if result.not_found:
            notices.append(
                "Nothing was found; the page shows the segments that would have been taken."
            )
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
            "price": terms.token_price,
            "charge": terms.segment_charge,
            "charge_factor": terms.charge_factor,
            "named": terms.named[:_TITLE_CHARS],
            "minimum": terms.min_segment_value,
            "longest": terms.max_segment_tokens,
            "answer_chance": terms.answer_chance,
            "table": [list(column) for column in zip(*terms.table, strict=True)],
        }

    def _required(self) -> list[Plain]:
        """Return the rows of the best chunk of each query."""
        terms = self.explanation.terms
        bases = terms.required_in or ("",) * len(terms.required)
        return [
            self._row(base, document_id, chunk)
            for base, (document_id, chunk) in zip(bases, terms.required, strict=True)
        ]

    def _row(self, knowledge_base: str, document_id: str, chunk: int) -> int:
        """Return the row of a chunk that was read."""
        runs = self.rows[knowledge_base, document_id]
        start, row = runs[bisect_right(runs, chunk, key=lambda run: run[0]) - 1]
        return row + chunk - start

    def _document(self, document: DocumentExplanation) -> dict[str, Plain]:
        return {
            "id": document.document_name[:_TITLE_CHARS],
            "document_id": document.document_id,
            "knowledge_base": document.knowledge_base,
            "title": document.title[:_TITLE_CHARS],
            "chunks": document.chunks,
            "runs": [
                {"start": run.start, "row": row, "count": len(run.tokens)}
                for run, (_, row) in zip(
                    document.runs,
                    self.rows[document.knowledge_base, document.document_id],
                    strict=True,
                )
            ],
        }

    def _segment(self, segment: Segment) -> dict[str, Plain]:
        first = self._row(segment.knowledge_base, segment.document_id, segment.first_chunk)
        return {
            "rows": [first, first + segment.last_chunk - segment.first_chunk],
            "tokens": segment.tokens,
            "value": segment.value,
            "relevance": segment.relevance,
            "pages": segment.citation.page_range,
            "queries": list(segment.queries),
            "also_in": len(segment.also_in),
            "similar": list(similar_words_notes(segment.similar_words)),
        }

    def _candidate(self, candidate: CandidateExplanation, *, path: int) -> dict[str, Plain]:
        text = (
            candidate.text
            if len(candidate.text) <= self.chars
            else candidate.text[: self.chars].rstrip() + " …"
        )
        return {
            "row": self._row(candidate.knowledge_base, candidate.document_id, candidate.chunk),
            "start": candidate.start,
            "end": candidate.end,
            "path": path,
            "text": text,
            "terms": list(candidate.terms),
            "decision": candidate.decision,
            "copy": None if candidate.copy_of is None else list(candidate.copy_of),
            "scores": [_scores(scores) for scores in candidate.scores],
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
