"""The right answer of another question, which no honest judge passes an answer against."""

from __future__ import annotations

import pytest

from spanwise.evaluation.answers.grader import control_golds, control_of
from spanwise.models.prompts.answer_grades import Gradable

PIER = Gradable(question="How long is the pier?", answer="It has 90 metres.", gold="90 m")


def test_it_is_one_that_has_no_word_in_common() -> None:
    golds = ["90 m", "The pier was sold.", "Ottilie Brandt", ""]
    control = control_of(PIER, golds=control_golds(golds))
    assert (control.gold, control.rubric) == ("Ottilie Brandt", "")
    assert (control.question, control.answer) == (PIER.question, PIER.answer)


def test_it_is_made_up_where_there_is_none() -> None:
    control = control_of(PIER, golds=control_golds(["90 m"]))
    assert control.gold.startswith("The code is ")
    assert control != control_of(
        Gradable(question="How long is the pier?", answer="Ninety metres.", gold="90 m"), golds={}
    )


def test_it_is_a_rubric_for_what_a_rubric_grades() -> None:
    essay = Gradable(question="Why?", answer="Storms.", rubric="Names storms.")
    control = control_of(essay, golds=control_golds(["Ottilie Brandt"]))
    assert control.by_rubric
    assert control.rubric.endswith("Ottilie Brandt")


def test_the_same_answer_has_the_same_control() -> None:
    golds = [f"Word{number}" for number in range(50)]
    one, other = control_golds(golds), control_golds(golds[::-1])
    assert control_of(PIER, golds=one) == control_of(PIER, golds=other)


@pytest.mark.parametrize("gold", ["No", "Yes, in 2021.", "**No**", "Nein.", "sí"])
def test_it_is_no_yes_or_no(gold: str) -> None:
    """An honest judge passes "It fell." against the "No" of another question about a rise."""
    assert control_golds([gold]) == {}


def test_words_that_begin_like_a_no_are_shown() -> None:
    assert list(control_golds(["Norway", "Not before 2020."])) == ["Norway", "Not before 2020."]
