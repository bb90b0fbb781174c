"""Checks of evidence against the documents, and location of quotes."""

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
"""Maximum number of occurrences of a quote that are searched and reported."""
_KEPT = 8
"""Number of documents whose quote checker is cached."""


def is_same_text(first: str, second: str) -> bool:
    """Return whether two texts are equal if white space is ignored."""
    return first == second or "".join(first.split()) == "".join(second.split())


class PlaceFinder:
    """Locator of quotes in document texts, with a cache of quote checkers."""

    def __init__(self) -> None:
        """Create a locator with an empty cache."""
        self._checker = lru_cache(maxsize=_KEPT)(lambda text: QuoteChecker([text]))

    def find(self, text: str, quote: str) -> list[tuple[int, int]]:
        """Return the character ranges of a quote in order, at most `MAX_PLACES`.

        The list is empty if the quote does not occur. Differences in white space are ignored. If
        there is no such occurrence, differences in typography, such as quotation marks and hyphens
        at line ends, are ignored too (`core.answers.quotes`): the result is the first match and all
        occurrences of the same spelling.

        Args:
            text: Text of the document.
            quote: Text to find, not blank. White space around it is ignored.
        """
        occurrences = _runs(text, quote)
        if occurrences:
            return occurrences
        checked = self._checker(text).check(quote)
        if checked.status != "exact":
            return []
        return _runs(text, text[checked.start : checked.end])


def _runs(text: str, quote: str) -> list[tuple[int, int]]:
    """Return the ranges of the words of a quote, with any white space between the words."""
    words = r"\s+".join(map(re.escape, quote.split()))
    return [match.span() for match in islice(re.finditer(words, text), MAX_PLACES)] if words else []


def check_questions(
    questions: Sequence[LabelledQuestion],
    texts: Mapping[str, DocumentText | None],
    *,
    called: str = "the questions",
) -> tuple[LabelledQuestion, ...]:
    """Return questions with checked evidence.

    The character range of a quote is added to the evidence if it is missing.

    Args:
        questions: Questions to check.
        texts: Document texts by id. For a document with the text None, only the id is checked.
        called: Name of the questions, for error messages.

    Raises:
        OptionError: If a document, range or page does not exist, a document is not among those of
            its question, or a quote does not match its range, does not occur, or occurs several
            times. The message lists the first 20 faults.
    """
    faults, checker = Faults(), EvidenceChecker(texts)
    checked = [_checked_question(question, checker, faults) for question in questions]
    faults.raise_any(called)
    return tuple(checked)


def usable_questions(
    dataset: Dataset, texts: Mapping[str, DocumentText | None], *, called: str
) -> Dataset:
    """Return a dataset with checked questions (see `check_questions`).

    In a published dataset, questions with invalid evidence are left out.

    Raises:
        OptionError: If a question is invalid; in a published dataset, if more than a tenth are.
    """
    if dataset.left_out is None:
        return replace(dataset, questions=check_questions(dataset.questions, texts, called=called))
    faults, checker = Faults(left_out=dataset.left_out), EvidenceChecker(texts)
    usable = []
    for question in dataset.questions:
        with faults.gathered(questions=1):
            own = Faults()
            checked = _checked_question(question, checker, own)
            own.raise_first()
            usable.append(checked)
    faults.raise_any(called, questions=len(usable))
    return replace(dataset, questions=tuple(usable), left_out=faults.left_out)


def _checked_question(
    question: LabelledQuestion, checker: EvidenceChecker, faults: Faults
) -> LabelledQuestion:
    """Return a question with its valid evidence; faults are added to the collection."""
    called = f"question {shown(question.id)}"
    evidence = []
    for number, piece in enumerate(question.evidence, start=1):
        with faults.gathered():
            place = f"{called}: evidence {number}"
            evidence.append(checker.checked(piece, place, scope=question.scope))
    for document_id in question.scope or ():
        with faults.gathered():
            checker.check_id(document_id, f"{called}: documents")
    return replace(question, evidence=tuple(evidence))


class EvidenceChecker:
    """Checks of evidence against the texts of the documents."""

    def __init__(self, texts: Mapping[str, DocumentText | None]) -> None:
        """Create a checker.

        Args:
            texts: Document texts by id. For a document with the text None, only the id is checked.
        """
        self._texts = texts
        self._finder = PlaceFinder()

    def checked(
        self, evidence: Evidence, place: str, *, scope: Sequence[str] | None = None
    ) -> Evidence:
        """Return evidence after checking it, with the range of its text.

        Args:
            evidence: Evidence to check.
            place: Position of the evidence, for error messages.
            scope: Ids of the documents to search; None for all.

        Raises:
            FaultError: If the evidence is not in the documents to search, or not unique.
        """
        self.check_id(evidence.document_id, place)
        if scope is not None and evidence.document_id not in scope:
            raise FaultError(
                f"{place}: {evidence.document_id!r} is not among the documents that the question "
                f"searches, {shown(list(scope))}; add it to them, or correct the evidence"
            )
        document = self._texts[evidence.document_id]
        if document is None:
            return evidence
        if evidence.page is not None:
            _check_page(evidence.page, document, evidence.document_id, place)
        if evidence.start is not None and evidence.end is not None:
            _check_range(evidence, (evidence.start, evidence.end), document, place, self._finder)
        elif evidence.text and evidence.page is None:
            return _located(evidence, document, place, self._finder)
        return evidence

    def check_id(self, document_id: str, place: str) -> None:
        """Check that there is a document with an id.

        Raises:
            FaultError: If there is none.
        """
        if document_id not in self._texts:
            raise FaultError(
                f"{place}: no document has the id {shown(document_id)}; ",
                hint=lambda: _nearest(document_id, self._texts),
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
            f"{place}: page is {page}, and {document_id!r} has {len(document.pages)} pages"
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
            f"{place}: the range {start}-{end} is empty or not inside the {len(document.text):,} "
            f"characters of {evidence.document_id!r}; count from 0, with end after the last one"
        )
    there = document.text[start:end]
    if evidence.text and not is_same_text(evidence.text, there):
        raise FaultError(
            f"{place}: the text at {start}-{end} of {evidence.document_id!r} is {shown(there)}, "
            f"not {shown(evidence.text)}; ",
            hint=lambda: _occurrences(finder.find(document.text, evidence.text)),
        )


def _occurrences(places: Sequence[tuple[int, int]]) -> str:
    return f"it occurs at {_formatted(places)}" if places else "it does not occur in the document"


def _located(
    evidence: Evidence, document: DocumentText, place: str, finder: PlaceFinder
) -> Evidence:
    occurrences = finder.find(document.text, evidence.text)
    if not occurrences:
        raise FaultError(
            f"{place}: the text {shown(evidence.text)} does not occur in {evidence.document_id!r}"
        )
    if len(occurrences) > 1:
        raise FaultError(
            f"{place}: the text {shown(evidence.text)} occurs in {evidence.document_id!r} at "
            f"{_formatted(occurrences)}; give start and end of one occurrence"
        )
    start, end = occurrences[0]
    return replace(evidence, start=start, end=end)


def _formatted(places: Sequence[tuple[int, int]]) -> str:
    ranges = ", ".join(f"{start}-{end}" for start, end in places[:3])
    if len(places) <= 3:
        return ranges
    count = f"{MAX_PLACES} or more" if len(places) == MAX_PLACES else str(len(places))
    return f"{ranges} and others ({count} places)"
