"""Laws of known answers."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.core.ranking.features import build_rows
from spanwise.core.ranking.known_answers import (
    AnsweredQuestion,
    EvidencePiece,
    KnownAnswers,
    answer_lift,
    learn_kinds,
    term_rarities,
)
from spanwise.core.ranking.scan import PassageRange

TERMS = st.frozensets(st.sampled_from("abcdefgh"), max_size=6)
RARITIES: defaultdict[str, float] = defaultdict(lambda: 1.0)


@st.composite
def answered_questions(draw: st.DrawFn) -> list[AnsweredQuestion]:
    """Return some questions about four documents, in no order."""
    pieces = st.builds(
        EvidencePiece,
        document_id=st.sampled_from("1234"),
        terms=TERMS,
        chars=st.integers(1, 99),
    )
    found = [
        AnsweredQuestion(
            id=f"{number:02}",
            terms=draw(TERMS),
            evidence=tuple(draw(st.lists(pieces, min_size=1, max_size=3))),
        )
        for number in range(draw(st.integers(0, 12)))
    ]
    return draw(st.permutations(found))


@given(answered_questions())
@settings(max_examples=60)
def test_kinds_do_not_depend_on_the_order_of_the_questions(
    answered: list[AnsweredQuestion],
) -> None:
    kinds = learn_kinds(answered, rarities=RARITIES)
    ordered = sorted(answered, key=lambda one: one.id)
    assert learn_kinds(ordered, rarities=RARITIES) == kinds


@given(answered_questions())
def test_words_of_answers_stood_in_two_documents(answered: list[AnsweredQuestion]) -> None:
    for kind in learn_kinds(answered, rarities=RARITIES):
        assert kind.documents >= 2
        assert kind.questions <= len(answered)
        assert kind.terms
        assert kind.answers
        for word, share in kind.answers.items():
            assert 0 < share <= 1
            assert len(_documents(answered, word)) >= 2


def _documents(answered: list[AnsweredQuestion], word: str) -> set[str]:
    """Return the documents with evidence that contains a word."""
    pieces = (piece for one in answered for piece in one.evidence)
    return {piece.document_id for piece in pieces if word in piece.terms}


@given(answered_questions())
@settings(max_examples=200)
def test_questions_of_a_kind_are_found_as_if_all_were_compared(
    answered: list[AnsweredQuestion],
) -> None:
    """Only those that share a heavy term are compared: no other can overlap by half."""
    asked = sorted((one for one in answered if one.terms), key=lambda one: one.id)
    weights = term_rarities([sorted(one.terms) for one in asked])
    groups: list[list[AnsweredQuestion]] = []
    for one in asked:
        likes = []
        for group in groups:
            shared = sum(weights[term] for term in sorted(group[0].terms & one.terms))
            likes.append(shared / sum(weights[t] for t in sorted(group[0].terms | one.terms)))
        if likes and max(likes) >= 0.5:
            groups[likes.index(max(likes))].append(one)
        else:
            groups.append([one])
    expected = Counter(
        len(group) for group in groups if any(len(_documents(group, one)) > 1 for one in "abcdefgh")
    )
    found = Counter(one.questions for one in learn_kinds(answered, rarities=RARITIES))
    assert found == expected


@given(answered_questions(), TERMS)
def test_a_question_never_looks_for_its_own_words(
    answered: list[AnsweredQuestion], own: frozenset[str]
) -> None:
    known = KnownAnswers(kinds=learn_kinds(answered, rarities=RARITIES))
    sought = known.expansion(sorted(own))
    if sought is None:
        return
    assert not own & sought.shares.keys()
    assert all(0 < share <= 1 + 1e-9 for share in sought.shares.values())
    assert list(sought.shares) == sorted(sought.shares)
    assert 0 < sought.similarity <= 1


@given(answered_questions(), st.frozensets(st.sampled_from("xyz"), max_size=3))
def test_a_question_without_a_word_of_a_kind_is_not_expanded(
    answered: list[AnsweredQuestion], own: frozenset[str]
) -> None:
    known = KnownAnswers(kinds=learn_kinds(answered, rarities=RARITIES))
    assert known.expansion(sorted(own)) is None


@given(
    st.lists(st.lists(st.floats(0, 2, width=32), min_size=1, max_size=6), min_size=1, max_size=5),
    st.floats(0.01, 2),
)
def test_a_lift_takes_at_most_six_deviations_and_nothing_from_the_best_of_a_document(
    documents: list[list[float]], weight: float
) -> None:
    rows = build_rows([(at, PassageRange(at, 0, len(one))) for at, one in enumerate(documents)])
    impacts = np.array([[value for one in documents for value in one]], dtype=np.float32)
    lift = answer_lift(impacts, term_weights=np.array([1.0]), rows=rows, weight=weight)
    assert (lift <= 0).all()
    assert (lift >= -6 * weight - 1e-9).all()
    for at in range(len(documents)):
        assert lift[rows.documents == at].max() == 0
