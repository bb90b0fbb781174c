"""Parts of questions, by the documents of their evidence."""

from __future__ import annotations

from spanwise.evaluation.dataset import Evidence, LabelledQuestion
from spanwise.evaluation.tuning.examples import fold_questions, question_groups


def about(number: int, *documents: str) -> LabelledQuestion:
    """Return a question with evidence in some documents."""
    places = tuple(Evidence(document_id=one, start=0, end=1) for one in documents)
    return LabelledQuestion(id=str(number), text="?", evidence=places)


def test_questions_that_share_a_document_are_one_group() -> None:
    asked = [about(0, "a"), about(1, "a", "b"), about(2, "b", "c"), about(3, "d"), about(4)]
    assert question_groups(asked) == ["a", "a", "a", "d", ""]


def test_no_document_is_in_two_parts() -> None:
    asked = [about(number, f"d{number % 7}") for number in range(40)]
    folds = fold_questions(asked, folds=3)
    assert folds.by_document
    of_document: dict[str, set[int]] = {}
    for question, part in zip(asked, folds.of, strict=True):
        of_document.setdefault(question.evidence[0].document_id, set()).add(part)
    assert all(len(parts) == 1 for parts in of_document.values())
    assert set(folds.of) == {0, 1, 2}


def test_one_document_is_dealt_question_by_question() -> None:
    folds = fold_questions([about(number, "only") for number in range(6)], folds=3)
    assert not folds.by_document
    assert folds.of == (0, 1, 2, 0, 1, 2)
    assert list(folds.numbers) == [0, 1, 2]


def test_a_document_with_most_questions_is_dealt_too() -> None:
    asked = [about(number, "big") for number in range(8)] + [about(8, "a"), about(9, "b")]
    assert not fold_questions(asked, folds=2).by_document
