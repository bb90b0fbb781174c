"""Checks of the evidence of questions against the documents, and the places of quoted texts."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from spanwise.core.answers.quotes import QuoteChecker
from spanwise.evaluation.dataset import Dataset, DocumentText, Evidence, LabelledQuestion
from spanwise.evaluation.datasets.json_lines import FaultError, Faults, shown

MAX_PLACES = 10
"""Maximum number of places that are searched for, for the message about an ambiguous quote."""
_KEPT = 8
"""Number of documents whose quote checker is cached."""


def is_same_text(first: str, second: str) -> bool:
    """Return whether two texts are equal, white space aside."""
    return first == second or "".join(first.split()) == "".join(second.split())


class PlaceFinder:
    """Finds quoted texts. The quote checkers of some documents are cached."""

    def __init__(self) -> None:
        """Begin with an empty cache."""
        self._checker = lru_cache(maxsize=_KEPT)(lambda text: QuoteChecker([text]))

    def find(self, text: str, quote: str) -> list[tuple[int, int]]:
        """Return the places of a quote in order, at most `MAX_PLACES`; empty if it does not occur.

        The quote is searched character for character, then with other white space between its
        words. If it does not occur, typographic variants such as quotation marks and hyphens at
        line ends are ignored (`core.answers.quotes`): the result is the first such place and all
        with the same spelling.

        Args:
            text: Text of the document.
            quote: At least one character that is not white space; white space around it is ignored.
        """
        found = _runs(text, quote)
        if found:
            return found
        checked = self._checker(text).check(quote)
        if checked.status != "exact":
            return []
        return _runs(text, text[checked.start : checked.end])


def _runs(text: str, quote: str) -> list[tuple[int, int]]:
    """Return the places of the words of a quote, with any white space between them."""
    words = r"\s+".join(map(re.escape, quote.split()))
    return [match.span() for match in islice(re.finditer(words, text), MAX_PLACES)] if words else []


def check_questions(
    questions: Sequence[LabelledQuestion],
    texts: Mapping[str, DocumentText | None],
    *,
    called: str = "the questions",
) -> tuple[LabelledQuestion, ...]:
    """Return questions with checked evidence.

    Evidence that has only a text gets the characters of its one place.

    Args:
        questions: The questions.
        texts: Texts of all documents that may be named, by id. None for an unknown text: only the
            id of such a document is checked.
        called: Name of the questions, for messages.

    Raises:
        OptionError: If a document, range or page does not exist, or a quoted text is not at its
            place, occurs nowhere or in several places. The message has the first 20 faults.
    """
    faults, finder = Faults(), PlaceFinder()
    checked = [_checked_question(question, texts, finder, faults) for question in questions]
    faults.raise_any(called)
    return tuple(checked)


def usable_questions(
    dataset: Dataset, texts: Mapping[str, DocumentText | None], *, called: str
) -> Dataset:
    """Return a dataset with checked questions, as by `check_questions`.

    Questions of a published dataset whose evidence is not in the documents are left out.

    Raises:
        OptionError: If a question of another dataset is not usable, or more than a tenth of those
            of a published one.
    """
    if dataset.left_out is None:
        return replace(dataset, questions=check_questions(dataset.questions, texts, called=called))
    faults, finder = Faults(left_out=dataset.left_out), PlaceFinder()
    usable = []
    for question in dataset.questions:
        with faults.gathered(questions=1):
            own = Faults()
            checked = _checked_question(question, texts, finder, own)
            own.raise_first()
            usable.append(checked)
    faults.raise_any(called, questions=len(usable))
    return replace(dataset, questions=tuple(usable), left_out=faults.left_out)


def _checked_question(
    question: LabelledQuestion,
    texts: Mapping[str, DocumentText | None],
    finder: PlaceFinder,
    faults: Faults,
) -> LabelledQuestion:
    """Return a question with its usable evidence; faults are collected."""
    evidence = []
    for number, piece in enumerate(question.evidence, start=1):
        with faults.gathered():
            place = f"question {shown(question.id)}: evidence {number}"
            evidence.append(_checked(piece, texts, place, finder))
    for document_id in question.scope or ():
        with faults.gathered():
            _check_id(document_id, texts, f"question {shown(question.id)}: scope")
    return replace(question, evidence=tuple(evidence))


def _checked(
    evidence: Evidence,
    texts: Mapping[str, DocumentText | None],
    place: str,
    finder: PlaceFinder,
) -> Evidence:
    _check_id(evidence.document_id, texts, place)
    document = texts[evidence.document_id]
    if document is None:
        return evidence
    if evidence.page is not None:
        _check_page(evidence.page, document, evidence.document_id, place)
    if evidence.start is not None and evidence.end is not None:
        _check_range(evidence, (evidence.start, evidence.end), document, place, finder)
    elif evidence.text and evidence.page is None:
        return _located(evidence, document, place, finder)
    return evidence


def _check_id(document_id: str, known: Collection[str], place: str) -> None:
    if document_id in known:
        return
    raise FaultError(
        f"{place}: no document has the id {shown(document_id)}; ",
        hint=lambda: _nearest(document_id, known),
    )


def _nearest(document_id: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(document_id, known, n=1) or sorted(
        known_id
        for known_id in known
        if known_id.rpartition("/")[2].partition(".")[0] == document_id
    )
    return f"the nearest is {near[0]!r}" if near else f"there are {len(known):,} documents"


def _check_page(page: int, document: DocumentText, document_id: str, place: str) -> None:
    if not document.pages:
        raise FaultError(f"{place}: {document_id!r} has no pages; give start and end, or the text")
    if page > len(document.pages):
        raise FaultError(
            f"{place}: page {page} is named, and {document_id!r} has {len(document.pages)} pages"
        )


def _check_range(
    evidence: Evidence,
    characters: tuple[int, int],
    document: DocumentText,
    place: str,
    finder: PlaceFinder,
) -> None:
    start, end = characters
    if not 0 <= start < end <= len(document.text):
        raise FaultError(
            f"{place}: the range {start}-{end} is not inside of the {len(document.text):,} "
            f"characters of {evidence.document_id!r}, or empty; count from 0, end one past the last"
        )
    there = document.text[start:end]
    if evidence.text and not is_same_text(evidence.text, there):
        raise FaultError(
            f"{place}: at {start}-{end} of {evidence.document_id!r} stands {shown(there)}, and not "
            f"the text {shown(evidence.text)}; ",
            hint=lambda: _standing(finder.find(document.text, evidence.text)),
        )


def _standing(places: Sequence[tuple[int, int]]) -> str:
    return f"it stands at {_said(places)}" if places else "it stands nowhere in the document"


def _located(
    evidence: Evidence, document: DocumentText, place: str, finder: PlaceFinder
) -> Evidence:
    found = finder.find(document.text, evidence.text)
    if len(found) != 1:
        where = f"in {_said(found)}; give start and end of one" if found else "nowhere in it"
        raise FaultError(
            f"{place}: the text {shown(evidence.text)} of {evidence.document_id!r} stands {where}"
        )
    start, end = found[0]
    return replace(evidence, start=start, end=end)


def _said(places: Sequence[tuple[int, int]]) -> str:
    told = ", ".join(f"{start}-{end}" for start, end in places[:3])
    if len(places) <= 3:
        return told
    count = f"{MAX_PLACES} or more" if len(places) == MAX_PLACES else str(len(places))
    return f"{told} and others ({count} places)"
