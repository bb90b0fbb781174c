"""Warnings of a search: its limits, and things that the question names and the result lacks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from spanwise import filters
from spanwise.core.ranking.comparisons import find_comparison
from spanwise.core.ranking.documents_question import read_request
from spanwise.core.ranking.named_things import YEAR, ShownDocument, find_missing
from spanwise.core.ranking.phrases import read_phrases
from spanwise.filters import record_fields, value_texts
from spanwise.search.documents_spread import absent_words
from spanwise.search.phrases import required_phrases
from spanwise.search.section_shares import missing_section

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from spanwise.core.ranking.question import Question
    from spanwise.core.ranking.relevance import RelevanceModel
    from spanwise.filters import Filter
    from spanwise.models.ports import Embedder
    from spanwise.search.evidence import Evidence
    from spanwise.search.question_evidence import QuestionEvidence
    from spanwise.stores.port import Snapshot, Store
    from spanwise.types import DocumentRecord, Excerpt, Segment

_YEAR_FIELD = re.compile("year|period|fiscal|quarter|date|filed", re.IGNORECASE)
_FILE_FIELD = re.compile("creat|modif|updat|access|print", re.IGNORECASE)  # dates of the file


def limit_warnings(
    outcome: QuestionEvidence, *, store: Store, embedder: Embedder | None, model: RelevanceModel
) -> tuple[str, ...]:
    """Return warnings about the limits of a search.

    Args:
        outcome: Evidence of the question.
        store: Store of the documents, which is read if none of them passes the filter.
        embedder: Embedder of the knowledge base; None for a keyword search.
        model: Relevance model.
    """
    evidence, scope = outcome.evidence, outcome.scope
    warnings: list[str] = []
    if evidence is not None:
        warnings += _question_warnings(evidence)
        warnings += _negation(evidence.questions[0])
        warnings += _absent_words(evidence, is_weak=outcome.assessment.is_weak)
    elif scope.where is not None and outcome.no_document_passes:
        warnings.append(unmatched_filter(scope.where, store, documents=scope.documents))
    if embedder is None:
        warnings.append("searched by keywords alone: this knowledge base has no embedder")
    elif model.embedder not in ("", embedder.name):
        warnings.append(
            f"uncalibrated: no weights were trained with the embedder {embedder.name}; "
            f"the weights for {model.embedder} are used, and relevances may be too high "
            "or too low"
        )
    return tuple(warnings)


def unmatched_filter(where: Filter, store: Store, *, documents: Sequence[str] | None = None) -> str:
    """Return a message that no document passes a filter, with near values of its fields.

    Args:
        where: Filter that no document passes.
        store: Store of the documents.
        documents: Ids of the documents that were searched; None for all.
    """
    ids = None if documents is None else frozenset(documents)
    return filters.no_match_message(
        where,
        [
            record_fields(record)
            for record in store.list_records()
            if ids is None or record.id in ids
        ],
        subject="no document" if ids is None else "none of the chosen documents",
    )


def _question_warnings(evidence: Evidence) -> Iterator[str]:
    """Yield warnings about words and phrases of the queries."""
    for question in evidence.questions:
        if question.original_words > len(question.terms):
            yield (
                f"the question has {question.original_words} different words; "
                f"the search used the {len(question.terms)} most informative ones"
            )
        if not question.phrases and read_phrases(question.original_text):
            yield "the question is very long; its quoted phrases were not required"
    yield from dict.fromkeys(
        f'no document contains "{correction.word}"; searched for "{correction.found}"'
        for question in evidence.questions
        for correction in question.corrections
    )
    for number, scored, _ in evidence.queries():
        if not scored.phrases.required:
            continue
        named = find_comparison(evidence.questions[number], scored.scan).named
        if named and not np.isin(scored.rows.documents, named).any():
            phrases = " or ".join(f'"{phrase}"' for phrase in scored.phrases.required)
            yield f"no document that the question names contains {phrases}"
    for phrase in required_phrases(evidence)[1]:
        yield f'no searched document contains "{phrase}"; searched without it'


def _absent_words(evidence: Evidence, *, is_weak: bool) -> Iterator[str]:
    """Yield warnings about words of a topic that no document contains: names, or all if weak."""
    for number, scored, _ in evidence.queries():
        question = evidence.questions[number]
        for word in absent_words(question, scored.scan) if question.by_document else ():
            if is_weak or word[0].isupper():
                yield f'no searched document contains "{word}"'


def _negation(question: Question) -> Iterator[str]:
    """Yield a warning if the question asks for documents that do not contain something."""
    request = read_request(question.shown_text) if question.by_document else None
    if request is not None and request.is_negated:
        yield (
            "the question asks what documents do not contain, which a search cannot find; the "
            "documents that are shown contain it"
        )


def missing_things(
    outcome: QuestionEvidence, shown: Sequence[Segment | Excerpt | None], snapshot: Snapshot
) -> tuple[str, ...]:
    """Return warnings about what the question names and the shown documents lack."""
    evidence = outcome.evidence
    if evidence is None or evidence.questions[0].by_document:
        return ()
    parts = [part for part in shown if part is not None]
    texts: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        texts.setdefault((part.knowledge_base, part.document_id), []).append(
            f"{part.header}\n{part.text}"
        )
    warnings = [
        f'the question lists "{name}", but no title of a document contains it'
        for name in evidence.questions[0].unmatched
    ]
    warnings += [
        f"no named document covers the period that ends at {date}"
        for date in evidence.questions[0].uncovered
    ]
    if section := missing_section(evidence, snapshot):
        warnings.append(f'found no heading of "{section}"; searched for the words')
    served = {number for part in parts for number in part.queries}
    records = {span.handle: snapshot.record(span.handle) for span in evidence.ranges}
    for number, query in enumerate(evidence.questions):
        if query.thing and number not in served:
            warnings.append(f'nothing about "{query.thing}" is shown within the budget')
        if query.thing or number == 0:
            warnings += _missing_in(outcome, number, texts, records, snapshot)
    return tuple(dict.fromkeys(warnings))


def _missing_in(
    outcome: QuestionEvidence,
    number: int,
    texts: Mapping[tuple[str, str], Sequence[str]],
    records: Mapping[int, DocumentRecord],
    snapshot: Snapshot,
) -> tuple[str, ...]:
    """Return warnings about what one query names and the shown documents lack.

    Args:
        outcome: Evidence of all queries.
        number: Position of the query.
        texts: Shown texts of each document, by name of the knowledge base and id.
        records: Records of the documents that were read, by handle.
        snapshot: Snapshot that was searched.
    """
    evidence = outcome.evidence
    scored = None if evidence is None else evidence.scored[number]
    if evidence is None or scored is None:
        return ()
    scan = scored.scan
    documents = [
        _shown_document(record, shown, position=int(np.searchsorted(scan.handles, at)))
        for at, record in records.items()
        if (shown := texts.get((record.knowledge_base, record.id))) and at in scan.handles
    ]
    missing = find_missing(
        evidence.questions[number],
        scan,
        documents,
        passages=scored.passages,
        rows=scored.rows,
        assessment=outcome.assessment,
    )
    handles = scan.handles.tolist()
    return tuple(
        thing.warning([snapshot.record(handles[at]).id for at in thing.elsewhere])
        for thing in missing
    )


def _shown_document(
    record: DocumentRecord, texts: Sequence[str], *, position: int
) -> ShownDocument:
    dates = [
        text
        for name, value in record.metadata.items()
        for text in value_texts({name: value})
        if _YEAR_FIELD.search(name) and not _FILE_FIELD.search(name)
    ]
    names = [record.title, record.id]
    years = {int(year) for text in (*names, *dates) for year in YEAR.findall(text)}
    return ShownDocument(
        position=position,
        names="\n".join([*names, *value_texts(record.metadata)]),
        years=frozenset(years),
        text="\n".join(texts),
    )
