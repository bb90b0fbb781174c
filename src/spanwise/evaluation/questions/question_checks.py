"""Checks of generated questions against the text, without a model.

Rules:
    Quotes must occur in the text; differences in white space and typography are ignored. They are
    the evidence.
    The quotes must support the answer: they contain all of its numbers, and at least half of its
    other words unless the answer is yes or no.
    The question must not copy the text, must be understandable alone, and must differ from other
    questions.
    No check runs a search: selecting questions that search can answer would bias measurements.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spanwise.core.answers.quote_words import compared_words, read_tokens
from spanwise.core.answers.quotes import QuoteChecker
from spanwise.core.text.terms import content_words, text_terms
from spanwise.evaluation.answers.grader import is_yes_or_no
from spanwise.evaluation.dataset import Evidence
from spanwise.evaluation.metrics.ranges import union

if TYPE_CHECKING:
    from spanwise.evaluation.questions.generator import Place
    from spanwise.models.prompts.questions import DraftQuestion


Reason = Literal[
    "nothing to ask", "no usable answer", "quote not in the text", "answer not in the quotes",
    "copied from the text", "not understood alone", "asked before", "may be answered",
]  # fmt: skip

REASONS: dict[Reason, str] = {
    "nothing to ask": "the model found no question for the passage",
    "no usable answer": "the model failed, or its output was invalid",
    "quote not in the text": "a quote does not occur in the text",
    "answer not in the quotes": "the quotes lack a number or most words of the answer",
    "copied from the text": "the question repeats the text word for word",
    "not understood alone": 'the question refers to "this passage", or names no subject',
    "asked before": "the question is nearly the same as another one",
    "may be answered": "the documents seem to answer a question meant to be unanswerable",
}
"""Description of each reason to reject a question."""

_COPIED_WORDS = 8
_COPIED_SHARE = 0.8
_SAME_SHARE = 0.75
_HELD_SHARE = 0.5
_MIN_WORDS, _MAX_WORDS = 4, 60
_POINTING = re.compile(
    r"\b(?:(?:this|that|these|the (?:given|above|following|provided|present))\s+"
    r"(?:text|passage|excerpt|document|section|part|paragraph|page|article|table|report|agreement"
    r"|contract|context|snippet|information)s?"
    r"|(?:the|in|from|to|of)\s+(?:text|passage|excerpt|paragraph|snippet)\b|the author"
    r"|the document\b|mentioned (?:above|here|in the)|above[- ]mentioned|described (?:above|here)"
    r"|dies(?:er|em|es|en) (?:text|abschnitt|dokument|auszug)\w*|(?:im|dem) (?:text|auszug)\b"
    r"|(?:ce|cet|cette) (?:texte|passage|document|extrait|section)"
    r"|(?:este|esta) (?:texto|pasaje|documento|sección))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedQuestion:
    """Question that passed all checks."""

    question: str
    answer: str
    evidence: tuple[Evidence, ...]
    """Disjoint pieces of evidence, in text order."""
    terms: frozenset[str]
    """Terms of the question, used to detect repeated questions."""


def check_question(
    draft: DraftQuestion, place: Place, *, earlier: Sequence[CheckedQuestion]
) -> CheckedQuestion | Reason:
    """Return a question with its evidence, or the reason to reject it.

    Args:
        draft: Output of the model.
        place: Passage that the question is about.
        earlier: Accepted questions so far.
    """
    evidence = _evidence(draft.quotes, place)
    if evidence is None:
        return "quote not in the text"
    if not _is_held(draft.answer, [piece.text for piece in evidence]):
        return "answer not in the quotes"
    alone = check_alone(draft.question, place, earlier=[other.terms for other in earlier])
    if not isinstance(alone, frozenset):
        return alone
    return CheckedQuestion(
        question=draft.question, answer=draft.answer, evidence=evidence, terms=alone
    )


def check_alone(
    question: str, place: Place, *, earlier: Sequence[frozenset[str]]
) -> frozenset[str] | Reason:
    """Check a question without its answer: return its terms, or a reason to reject it."""
    words = read_tokens(question).surfaces
    terms = frozenset(text_terms(" ".join(content_words(question))))
    if _is_copied(question, place.text):
        return "copied from the text"
    if (
        not _MIN_WORDS <= len(words) <= _MAX_WORDS
        or _POINTING.search(question)
        or not _names_something(question, place)
    ):
        return "not understood alone"
    if any(len(terms & other) >= _SAME_SHARE * len(terms | other) for other in earlier):
        return "asked before"
    return terms


def _evidence(quotes: Sequence[str], place: Place) -> tuple[Evidence, ...] | None:
    """Return the ranges of quotes, with adjacent ranges joined; None if a quote does not occur."""
    checker = QuoteChecker([place.text])
    checked = [checker.check(quote) for quote in quotes]
    if any(quote.status != "exact" for quote in checked):
        return None
    return tuple(
        Evidence(
            document_id=place.document_id,
            start=place.start + start,
            end=place.start + end,
            text=place.text[start:end],
        )
        for start, end in union((quote.start, quote.end) for quote in checked)
    )


def _is_held(answer: str, quotes: Sequence[str]) -> bool:
    """Return whether the quotes contain the numbers and at least half of the words of an answer."""
    quoted = " ".join(quotes)
    if not _numbers(answer) <= _numbers(quoted):
        return False
    if is_yes_or_no(answer):
        return True
    terms = set(text_terms(" ".join(content_words(answer))))
    return len(terms & set(text_terms(quoted))) >= _HELD_SHARE * len(terms)


def _numbers(text: str) -> set[str]:
    """Return the numbers of a text in normalised form, without signs and percent signs."""
    keys = compared_words(read_tokens(text)).keys
    return {key.strip("-%‰<>=≤≥≠±≈~") for key in keys if any(map(str.isdigit, key))}


def _is_copied(question: str, text: str) -> bool:
    """Return whether the text contains eight consecutive words or 80 % of a question."""
    keys = compared_words(read_tokens(question)).keys
    there = f" {' '.join(compared_words(read_tokens(text)).keys)} "
    longest = min(_COPIED_WORDS, max(_MIN_WORDS, round(_COPIED_SHARE * len(keys))))
    return any(
        f" {' '.join(keys[at : at + longest])} " in there for at in range(len(keys) - longest + 1)
    )


def _names_something(question: str, place: Place) -> bool:
    """Return whether a question names its subject.

    It must have a capitalised word or a number after its first word, or share three terms with the
    text or its headings. In scripts without capital letters, only the terms and numbers matter.
    """
    words = question.split()
    if any(word[:1].isupper() or any(map(str.isdigit, word)) for word in words[1:]):
        return True
    above = " ".join((place.title, *place.path, place.text))
    return len(set(text_terms(" ".join(content_words(question)))) & set(text_terms(above))) > 2
