"""Checks of generated questions against the text, without a model.

Rules:
    Quotes occur in the text, except for white space and typographic variants. They are the
    evidence.
    The quotes support the answer: they have all of its numbers and most of its other words, unless
    the answer is yes or no.
    The question is not a copy of the text, can be understood alone, and repeats no other question.
    No check searches: questions that are kept because search finds them would bias measurements.
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

if TYPE_CHECKING:
    from spanwise.evaluation.questions.generator import Place
    from spanwise.models.prompts.questions import DraftQuestion


Reason = Literal[
    "nothing to ask", "no usable answer", "quote not in the text", "answer not in the quotes",
    "copied from the text", "not understood alone", "asked before", "may be answered",
]  # fmt: skip

REASONS: dict[Reason, str] = {
    "nothing to ask": "the model found nothing to ask for there",
    "no usable answer": "the model failed, or gave no answer in the form that was asked for",
    "quote not in the text": "a quote does not stand in the text",
    "answer not in the quotes": "the answer holds a number or words that the quotes do not",
    "copied from the text": "the question repeats the text word for word",
    "not understood alone": 'the question speaks of "this passage", or names nothing',
    "asked before": "another question asks the same",
    "may be answered": "it was to have no answer, and the documents seem to hold one",
}
"""Words for each reason why a question is refused."""

_COPIED_WORDS = 8
_COPIED_SHARE = 0.8
_SAME_SHARE = 0.75
_HELD_SHARE = 0.5
_FEWEST_WORDS, _MOST_WORDS = 4, 60
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
    """A usable question."""

    question: str
    answer: str
    evidence: tuple[Evidence, ...]
    """Disjoint evidence, in order."""
    terms: frozenset[str]
    """Terms of the question, to find repetitions."""


def check_question(
    given: DraftQuestion, place: Place, *, earlier: Sequence[CheckedQuestion]
) -> CheckedQuestion | Reason:
    """Return a question with its evidence, or the reason why it is refused.

    Args:
        given: Output of the model.
        place: Place that the question is about.
        earlier: Usable questions so far.
    """
    evidence = _evidence(given.quotes, place)
    if evidence is None:
        return "quote not in the text"
    if not _is_held(given.answer, [piece.text for piece in evidence]):
        return "answer not in the quotes"
    alone = check_alone(given.question, place, earlier=[other.terms for other in earlier])
    if not isinstance(alone, frozenset):
        return alone
    return CheckedQuestion(
        question=given.question, answer=given.answer, evidence=evidence, terms=alone
    )


def check_alone(
    question: str, place: Place, *, earlier: Sequence[frozenset[str]]
) -> frozenset[str] | Reason:
    """Return the terms of a question, or the reason why it is refused whatever its answer is."""
    words = read_tokens(question).surfaces
    terms = frozenset(text_terms(" ".join(content_words(question))))
    if _is_copied(question, place.text):
        return "copied from the text"
    if (
        not _FEWEST_WORDS <= len(words) <= _MOST_WORDS
        or _POINTING.search(question)
        or not _names_something(question, place)
    ):
        return "not understood alone"
    if any(len(terms & other) >= _SAME_SHARE * len(terms | other) for other in earlier):
        return "asked before"
    return terms


def _evidence(quotes: Sequence[str], place: Place) -> tuple[Evidence, ...] | None:
    """Return the places of quotes, touching ones joined; None if a quote does not occur."""
    checker = QuoteChecker([place.text])
    found = [checker.check(quote) for quote in quotes]
    if any(item.status != "exact" for item in found):
        return None
    joined: list[tuple[int, int]] = []
    for start, end in sorted((item.start, item.end) for item in found):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(
        Evidence(
            document_id=place.document_id,
            start=place.start + start,
            end=place.start + end,
            text=place.text[start:end],
        )
        for start, end in joined
    )


def _is_held(answer: str, quotes: Sequence[str]) -> bool:
    """Return whether the quotes have the numbers of an answer and most of its words."""
    quoted = " ".join(quotes)
    if not _numbers(answer) <= _numbers(quoted):
        return False
    if is_yes_or_no(answer):
        return True
    wanted = set(text_terms(" ".join(content_words(answer))))
    held = wanted & set(text_terms(quoted))
    return len(held) >= _HELD_SHARE * len(wanted)


def _numbers(text: str) -> set[str]:
    """Return the numbers of a text as quotes compare them, without sign and percent."""
    keys = compared_words(read_tokens(text)).keys
    return {key.strip("-%‰<>=≤≥≠±≈~") for key in keys if any(map(str.isdigit, key))}


def _is_copied(question: str, text: str) -> bool:
    """Return whether the text has a run of words of a question, or nearly all of it."""
    keys = compared_words(read_tokens(question)).keys
    there = f" {' '.join(compared_words(read_tokens(text)).keys)} "
    longest = min(_COPIED_WORDS, max(_FEWEST_WORDS, round(_COPIED_SHARE * len(keys))))
    return any(
        f" {' '.join(keys[at : at + longest])} " in there for at in range(len(keys) - longest + 1)
    )


def _names_something(question: str, place: Place) -> bool:
    """Return whether a question names its subject.

    It does with a name or a number after its first word, or with three terms of the text or its
    headings. The terms decide in scripts without capital letters.
    """
    written = question.split()
    if any(word[:1].isupper() or any(map(str.isdigit, word)) for word in written[1:]):
        return True
    above = " ".join((place.title, *place.path, place.text))
    return len(set(text_terms(" ".join(content_words(question)))) & set(text_terms(above))) > 2
