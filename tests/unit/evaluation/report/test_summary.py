"""The figures of a report: groups, methods, budgets, and how they compare."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.evaluations import BUDGETS, METHODS, made_evaluation, with_unanswerable

from spanwise.errors import OptionError
from spanwise.evaluation.report import ALL, Summary, summarise
from spanwise.evaluation.report.summary import evidence_sentence, question_count, sentences_of


@pytest.fixture(scope="module")
def summary() -> Summary:
    return summarise(made_evaluation(60))


def test_groups_are_all_questions_then_datasets_then_kinds(summary: Summary) -> None:
    assert [(one.kind, one.name, len(one.questions)) for one in summary.groups] == [
        ("all", "all questions", 60),
        ("dataset", "filings", 30),
        ("dataset", "contracts", 30),
        ("metadata", "kind: comparison", 20),
        ("metadata", "kind: number", 20),
        ("metadata", "kind: reason", 20),
    ]


def test_one_dataset_is_no_group_of_its_own() -> None:
    summary = summarise(made_evaluation(12, datasets=["filings"]))
    assert "dataset" not in {one.kind for one in summary.groups}


def test_metadata_that_name_questions_make_no_groups() -> None:
    evaluation = made_evaluation(30, datasets=["filings"])
    named = tuple(
        replace(one, question=replace(one.question, metadata={"source": one.question.id}))
        for one in evaluation.scores
    )
    assert len(summarise(replace(evaluation, scores=named)).groups) == 1


def test_figures_are_those_of_the_evaluation(summary: Summary) -> None:
    evaluation = summary.evaluation
    figures = summary.figures[ALL, "bm25", 1_000]
    assert figures.intervals["recall"] == evaluation.interval("recall", "bm25", 1_000)
    assert figures.tokens == pytest.approx(900)
    assert figures.seconds == pytest.approx(0.024)
    assert figures.cost == 0
    part = summary.figures[1, "bm25", 4_000].intervals["recall"]
    assert part == evaluation.interval("recall", "bm25", 4_000, dataset="filings")


def test_questions_without_evidence_count_in_the_tokens_and_not_in_the_recall() -> None:
    summary = summarise(with_unanswerable(made_evaluation(24, datasets=["filings"])))

    figures = summary.figures[ALL, "bm25", 1_000]
    assert figures.tokens == pytest.approx(900)
    assert figures.intervals["recall"].questions == summary.measured(ALL, "recall") == 18
    assert question_count(summary, ALL) == "18 of 24"
    assert evidence_sentence(summary).endswith("questions with evidence: 18 of 24")


def test_each_metric_has_its_own_number_of_questions() -> None:
    evaluation = made_evaluation(24, datasets=["filings"], methods={"exact": 0.6})
    pages = tuple(
        replace(one, metrics={"page_recall": 1.0, "tokens": 900.0})
        if one.question.id == "q0"
        else one
        for one in evaluation.scores
    )
    sentence = evidence_sentence(summarise(replace(evaluation, scores=pages)))
    assert "23 of 24 for recall, precision" in sentence
    assert "1 of 24 for page recall" in sentence
    assert evidence_sentence(summarise(evaluation)) == ""


def test_each_method_is_compared_with_the_first(summary: Summary) -> None:
    assert summary.reference == next(iter(METHODS))
    over_all = {key[1:] for key in summary.comparisons if key[0] == ALL}
    assert over_all == {(name, budget) for name in list(METHODS)[1:] for budget in BUDGETS}
    assert summary.comparisons[ALL, "bm25", 1_000].difference.mean < 0


def test_a_single_method_is_compared_with_nothing() -> None:
    summary = summarise(made_evaluation(12, methods={"exact": 0.5}))
    assert summary.comparisons == {}
    assert sentences_of(summary).comparisons == ()


def test_what_holds_for_all_sentences_is_said_once(summary: Summary) -> None:
    sentences = sentences_of(summary)
    assert [one.budget_tokens for one in sentences.comparisons] == [1_000, 1_000, 4_000, 4_000]
    assert any("so far this holds" in one for one in sentences.common)
    for reservation in sentences.common:
        assert not any(reservation in one.whole for one in sentences.comparisons)
    bm25 = next(one for one in sentences.comparisons if one.retriever == "bm25")
    assert bm25.holds
    assert bm25.whole.startswith("exact+headers is better than bm25 by ")


def test_a_metric_that_no_question_has_is_refused() -> None:
    with pytest.raises(
        OptionError, match=r"no question has the metric 'page_recall'.* there are recall"
    ):
        summarise(made_evaluation(12), metric="page_recall")
    with pytest.raises(OptionError, match="there is no metric 'recal'"):
        summarise(made_evaluation(12), metric="recal")


def test_questions_without_the_metric_leave_no_gap_in_the_others() -> None:
    """A question that the documents do not answer has no recall, and is listed all the same."""
    evaluation = made_evaluation(20, datasets=["filings"])
    first = evaluation.scores[0].question.id
    scores = tuple(
        replace(one, metrics={"tokens": 10.0}) if one.question.id == first else one
        for one in evaluation.scores
    )
    summary = summarise(replace(evaluation, scores=scores))
    interval = summary.figures[ALL, "bm25", 1_000].intervals["recall"]
    assert interval.questions == 19
    assert len(summary.groups[ALL].questions) == 20
