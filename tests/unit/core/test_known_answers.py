"""Query expansion by known answers, and its score changes."""

from __future__ import annotations

import numpy as np
import pytest

from spanwise.core.ranking.features import Rows, build_rows
from spanwise.core.ranking.known_answers import (
    ExpansionTerms,
    KnownAnswers,
    QuestionKind,
    answer_lift,
    term_rarities,
)
from spanwise.core.ranking.scan import PassageRange


def kind(*terms: str, questions: int = 4, **answers: float) -> QuestionKind:
    return QuestionKind(terms=terms, questions=questions, documents=3, answers=answers)


LAW = kind("govern", "law", construed=0.8, statute=0.4, law=0.2)
CAP = kind("cap", "law", damage=0.5)


def test_a_question_of_a_kind_looks_for_the_words_of_its_answers() -> None:
    sought = KnownAnswers(kinds=(LAW, CAP)).expansion(["which", "law", "govern", "alder"])
    assert sought is not None
    assert sought.shares == {"construed": 0.8, "statute": 0.4}
    assert sought.similarity == 1.0


def test_a_question_similar_to_no_kind_is_not_expanded() -> None:
    known = KnownAnswers(kinds=(LAW, CAP))
    assert known.expansion(["weather"]) is None
    assert known.expansion(["law"]) is None  # both kinds hold it: less than half of either
    assert known.expansion([]) is None
    assert KnownAnswers().expansion(["law", "govern"]) is None


def test_a_question_with_all_known_words_is_not_expanded() -> None:
    known = KnownAnswers(kinds=(kind("govern", "law", law=0.5),))
    assert known.expansion(["law", "govern"]) is None


def test_kinds_weigh_by_their_questions() -> None:
    few = kind("cap", "liability", questions=1, damage=0.8)
    many = kind("cap", "sum", questions=3, damage=0.4)
    sought = KnownAnswers(kinds=(few, many)).expansion(["cap", "liability", "sum"])
    assert sought is not None
    assert sought.shares["damage"] == pytest.approx((0.8 + 3 * 0.4) / 4)


def test_partial_similarity_to_a_kind_is_reported() -> None:
    known = KnownAnswers(kinds=(kind("annual", "fee", "limit", "raise", amount=0.5),))
    sought = known.expansion(["annual", "fee", "limit"])
    assert sought is not None
    assert sought.similarity == pytest.approx(0.5)


def test_rarer_terms_weigh_more() -> None:
    weights = term_rarities([["law", "cap"], ["law", "fee"], ["law"]])
    assert weights["cap"] == weights["fee"] > weights["law"] > 0


def test_the_best_words_are_those_of_most_share_and_rarity() -> None:
    sought = ExpansionTerms(shares={"a": 0.1, "b": 0.9, "c": 0.5}, similarity=1.0)
    words, worth = sought.best(np.array([1.0, 0.0, 2.0]))
    assert words == ("a", "c")  # no chunk holds b
    assert worth.tolist() == [0.1, 1.0]
    many = ExpansionTerms(shares={f"{at:02}": (at + 1) / 50 for at in range(50)}, similarity=1.0)
    words, _ = many.best(np.ones(50))
    assert words == tuple(f"{at:02}" for at in range(20, 50))


def two_documents() -> Rows:
    return build_rows([(0, PassageRange(1, 0, 3)), (1, PassageRange(2, 0, 2))])


def test_a_chunk_is_compared_with_the_best_of_its_document() -> None:
    impacts = np.array([[2.0, 0.0, 0.0, 1.0, 0.0]], dtype=np.float32)
    lift = answer_lift(impacts, term_weights=np.array([1.0]), rows=two_documents(), weight=0.5)
    score = np.array([2.0, 0.6, 0.0, 1.0, 0.3])  # with three tenths of the neighbours
    best = np.array([2.0, 2.0, 2.0, 1.0, 1.0])
    assert lift == pytest.approx(-0.5 * (best - score) / score.std())


def test_documents_are_not_ranked_against_each_other() -> None:
    """A document without any of the words ranks like one with all of them."""
    impacts = np.array([[2.0, 0.0, 0.0, 0.0, 0.0]], dtype=np.float32)
    lift = answer_lift(impacts, term_weights=np.array([1.0]), rows=two_documents(), weight=1.0)
    assert lift[0] == 0
    assert not lift[3:].any()
    assert (lift[1:3] < 0).all()


def test_words_in_every_chunk_have_no_effect() -> None:
    impacts = np.zeros((1, 5), dtype=np.float32)
    assert not answer_lift(
        impacts, term_weights=np.array([1.0]), rows=two_documents(), weight=1.0
    ).any()
