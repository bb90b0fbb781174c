"""What grades come to."""

from __future__ import annotations

import pytest
from tests.grades import grade, graded, judged, labelled

from spanwise.evaluation.answers.figures import POINTS, answer_figures, compare_answers
from spanwise.types import Usage

ESSAY = labelled(9, rubric="Names the length.")


def test_everything_is_counted_once() -> None:
    unanswerable = labelled(6, answer="", metadata={"answerable": False})
    in_words = graded(10, question=unanswerable, answer="That is not there.")
    rows = [
        in_words,
        graded(1),
        graded(2, outcome="incorrect", swayed=True),
        graded(3, outcome="refused", refused=True, grades=()),
        graded(4, outcome="failed", error="down", grades=()),
        graded(5, outcome="ungraded", error="no grade", grades=()),
        graded(6, question=unanswerable, refused=True, grades=()),
        graded(7, control=grade("correct", verdict=None, error="cut")),
        graded(8, question=labelled(8, rubric="r"), outcome="scored", score=6.0),
        graded(9, question=ESSAY, outcome="refused", refused=True, grades=()),
    ]
    (found,) = answer_figures(judged(*rows))
    assert found.questions == 10
    outcomes = (found.correct, found.incorrect, found.refused, found.scored, found.failed)
    assert (*outcomes, found.ungraded) == (4, 1, 2, 1, 1, 1)
    assert (found.swayed, found.uncontrolled) == (1, 1)
    assert (found.unanswerable, found.rightly_refused) == (2, 2)
    assert found.accuracy is not None
    assert found.accuracy.mean == pytest.approx(4 / 7)
    assert found.points is not None
    assert found.points.mean == pytest.approx(0.3)


def test_a_rubric_does_not_hide_that_there_was_no_answer_to_give() -> None:
    """Points cannot be given for a refusal, so that such a question passes or does not."""
    question = labelled(rubric="10 points for a refusal.", metadata={"answerable": False})
    rows = [
        graded(1, question=question, refused=True, grades=()),
        graded(2, question=question, outcome="incorrect", grades=()),
        graded(3, question=question, outcome="failed", error="down", grades=()),
    ]
    (found,) = answer_figures(judged(*rows))
    assert found.accuracy is not None
    assert found.accuracy.mean == pytest.approx(1 / 3)
    assert found.points is None


def test_what_was_not_measured_has_no_figure() -> None:
    (found,) = answer_figures(judged(graded(1, outcome="ungraded", grades=())))
    assert (found.accuracy, found.points) == (None, None)


def test_quotes_and_their_documents_are_counted() -> None:
    rows = [
        graded(1, quotes=3, verified_quotes=3, quoted_documents=("pier-1.md",)),
        graded(2, quotes=4, verified_quotes=2, quoted_documents=("pier-2.md", "pier-9.md")),
        graded(3, quotes=1, verified_quotes=0),
        graded(4, question=labelled(4, evidence=()), quotes=1, verified_quotes=1,
               quoted_documents=("pier-4.md",)),
        graded(5, outcome="refused", refused=True, grades=(), usage=Usage(calls=5, cost=0.5)),
        graded(6, question=labelled(6, metadata={"answerable": False}), refused=True, grades=()),
        graded(7, outcome="failed", error="down", grades=()),
    ]  # fmt: skip
    (found,) = answer_figures(judged(*rows))
    assert found.quotes == 9
    assert found.quotes_verified is not None
    assert found.quotes_verified.mean == pytest.approx((1 + 0.5 + 0 + 1) / 4)
    assert found.other_documents is not None
    assert found.other_documents.mean == pytest.approx(1 / 2)
    assert found.refusals is not None
    assert found.refusals.mean == pytest.approx(1 / 5)
    assert found.calls == 5 / 7
    assert found.cost == pytest.approx(0.5 / 7)


def test_an_answerer_without_quotes_has_no_figures_of_quotes() -> None:
    (found,) = answer_figures(judged(graded(1), graded(2)))
    assert (found.quotes, found.quotes_verified, found.other_documents) == (0, None, None)


def test_questions_about_one_document_are_drawn_together() -> None:
    evidence = [labelled(number // 4).evidence for number in range(48)]
    rows = [
        graded(number, outcome="correct" if number // 4 % 2 else "incorrect",
               question=labelled(number, evidence=evidence[number]))
        for number in range(48)
    ]  # fmt: skip
    (found,) = answer_figures(judged(*rows))
    assert found.accuracy is not None
    assert (found.accuracy.questions, found.accuracy.clusters) == (48, 12)


def test_two_ways_to_answer_are_compared_question_by_question() -> None:
    rows = [graded(number, answerer="exact") for number in range(40)]
    rows += [
        graded(number, answerer="top-k", outcome="incorrect" if number % 2 else "correct")
        for number in range(39)
    ]
    found = compare_answers(judged(*rows), "exact", "top-k")
    assert found.difference.questions == 39
    assert found.difference.mean == pytest.approx(19 / 39)
    assert found.verdict == "first"
    assert "exact" in found.sentence
    assert "correct answers" in found.sentence


def test_scores_are_compared_too() -> None:
    rows = [
        graded(number, answerer=name, question=labelled(number, rubric="r"), outcome="scored",
               score=float(score))
        for name, score in (("a", 8), ("b", 5))
        for number in range(12)
    ]  # fmt: skip
    assert compare_answers(judged(*rows), "a", "b", metric=POINTS).difference.mean == (
        pytest.approx(0.3)
    )
    with pytest.raises(ValueError, match="no question in common"):
        compare_answers(judged(*rows), "a", "b")
