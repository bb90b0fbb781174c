"""What follows from the scores of a run."""

from dataclasses import replace

import pytest

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import Evidence, LabelledQuestion
from spanwise.evaluation.results import Evaluation, Scored, merged
from spanwise.evaluation.statistics import document_clusters, mean_interval
from spanwise.types import Usage

LARGE, SMALL = 60, 20


def scored(
    dataset: str, number: int, retriever: str, recall: float, *, budget: int = 1000
) -> Scored:
    document = f"{dataset}{number // 2}"
    question = LabelledQuestion(
        id=f"q{number}",
        text="What?",
        evidence=(Evidence(document_id=document, start=0, end=10),),
        metadata={"kind": "local" if number % 3 else "global", "hops": 1 - number % 2},
    )
    return Scored(
        dataset=dataset,
        question=question,
        retriever=retriever,
        budget_tokens=budget,
        found=(),
        metrics={"recall": recall, "wrong_doc": 1 - recall},
        seconds=0.25,
        usage=Usage(calls=1, cost=0.5),
    )


def recall_of(retriever: str, number: int) -> float:
    return (0.8 if retriever == "exact" else 0.5) + 0.1 * (number % 3 - 1)


EVALUATION = Evaluation(
    scores=tuple(
        scored(dataset, number, retriever, recall_of(retriever, number), budget=budget)
        for dataset, count in (("large", LARGE), ("small", SMALL))
        for budget in (4000, 1000)
        for retriever in ("exact", "bm25")
        for number in range(count)
    ),
    tokenizer="chars:4",
    settings={"seed": 0},
)


def test_names_in_order() -> None:
    assert EVALUATION.datasets == ("large", "small")
    assert EVALUATION.retrievers == ("exact", "bm25")
    assert EVALUATION.budgets == (1000, 4000)
    assert EVALUATION.metrics == ("recall", "wrong_doc", "seconds", "cost")
    assert EVALUATION.metadata_fields == ("kind", "hops")


def test_nothing_measured_has_no_names() -> None:
    empty = Evaluation(scores=(), tokenizer="chars:4")
    assert empty.metrics == empty.datasets == empty.retrievers == ()
    assert empty.budgets == ()


def test_cost_is_no_metric_where_no_model_was_asked() -> None:
    free = [replace(one, usage=Usage()) for one in EVALUATION.scores]
    assert replace(EVALUATION, scores=tuple(free)).metrics == ("recall", "wrong_doc", "seconds")


def test_a_figure_that_is_not_known_to_us_comes_last() -> None:
    scores = (replace(EVALUATION.scores[0], metrics={"grade": 1.0, "recall": 0.5}),)
    found = replace(EVALUATION, scores=scores).metrics
    assert found == ("recall", "seconds", "cost", "grade")


def test_a_part_is_an_evaluation() -> None:
    part = EVALUATION.select(dataset="small", retriever="exact", budget_tokens=1000)
    assert len(part.scores) == SMALL
    assert part.datasets == ("small",)
    assert part.settings == EVALUATION.settings
    assert len(EVALUATION.select(question="q3").scores) == 2 * 2 * 2
    assert EVALUATION.select() == EVALUATION


def test_parts_by_what_questions_are() -> None:
    parts = EVALUATION.by_metadata("kind")
    assert list(parts) == ["global", "local"]
    assert sum(len(part.scores) for part in parts.values()) == len(EVALUATION.scores)
    assert {one.question.metadata["kind"] for one in parts["global"].scores} == {"global"}
    assert list(EVALUATION.by_metadata("hops")) == [0, 1]
    assert EVALUATION.by_metadata("colour") == {}


def test_a_figure_over_datasets_is_the_mean_of_their_means() -> None:
    scores = [
        replace(one, metrics={"recall": 1.0 if one.dataset == "large" else 0.0})
        for one in EVALUATION.scores
    ]
    interval = replace(EVALUATION, scores=tuple(scores)).interval("recall", "exact", 1000)
    assert interval is not None
    assert interval.mean == 0.5
    assert interval.questions == LARGE + SMALL


def test_an_interval_draws_documents() -> None:
    interval = EVALUATION.interval("recall", "exact", 1000, dataset="large")
    values = [recall_of("exact", number) for number in range(LARGE)]
    documents = [f"large{number // 2}" for number in range(LARGE)]
    assert interval == mean_interval(values, clusters=document_clusters(documents).ids)
    assert interval is not None
    assert interval.clusters == LARGE // 2


def test_time_and_money_are_figures() -> None:
    for metric, mean in (("seconds", 0.25), ("cost", 0.5)):
        interval = EVALUATION.interval(metric, "bm25", 4000)
        assert interval is not None
        assert interval.mean == mean


def test_a_figure_that_nobody_has_is_none() -> None:
    assert EVALUATION.interval("page_recall", "exact", 1000) is None
    assert EVALUATION.interval("recall", "exact", 2000) is None
    assert EVALUATION.compare("exact", "top-k", budget_tokens=1000) is None
    unknown = replace(EVALUATION.scores[0], usage=Usage(calls=1, cost=None))
    assert replace(EVALUATION, scores=(unknown,)).interval("cost", "exact", 4000) is None


def test_two_retrievers_are_compared_question_by_question() -> None:
    found = EVALUATION.compare("exact", "bm25", budget_tokens=1000)
    assert found is not None
    assert found.difference.mean == pytest.approx(0.3)
    assert found.difference.questions == LARGE + SMALL
    assert found.verdict == "first"
    assert found.sentence == (
        "exact is better than bm25 by 30.0 points of recall, 95 % interval 30.0 to 30.0"
    )


def test_only_questions_with_both_figures_are_compared() -> None:
    scores = [
        one for one in EVALUATION.scores if one.retriever == "exact" or one.question.id == "q7"
    ]
    found = replace(EVALUATION, scores=tuple(scores)).compare(
        "exact", "bm25", budget_tokens=1000, metric="wrong_doc", dataset="large"
    )
    assert found is not None
    assert found.difference.questions == 1
    assert found.difference.mean == pytest.approx(-0.3)


def test_too_few_documents_are_said() -> None:
    scores = [
        replace(
            one,
            question=replace(one.question, evidence=(Evidence(document_id="one", page=1),)),
        )
        for one in EVALUATION.scores
    ]
    found = replace(EVALUATION, scores=tuple(scores)).compare(
        "exact", "bm25", budget_tokens=1000, dataset="large"
    )
    assert found is not None
    assert found.difference.clusters == LARGE
    assert found.sentence.endswith("so far this holds for the 1 document of large alone")


def test_a_metric_must_be_known_to_be_compared() -> None:
    with pytest.raises(OptionError, match="metric is 'recal'; it must be one of recall"):
        EVALUATION.compare("exact", "bm25", budget_tokens=1000, metric="recal")


def test_comparisons_count_each_other() -> None:
    third = tuple(
        replace(one, retriever="third") for one in EVALUATION.scores if one.retriever == "bm25"
    )
    evaluation = replace(EVALUATION, scores=EVALUATION.scores + third)
    found = evaluation.comparisons("exact", budget_tokens=1000)
    assert [one.wording.second for one in found] == ["bm25", "third"]
    assert [one.comparisons for one in found] == [2, 2]
    assert "all 2 comparisons counted (Holm), it holds" in found[0].sentence


def test_runs_are_merged() -> None:
    parts = [EVALUATION.select(dataset=name) for name in EVALUATION.datasets]
    assert merged(parts) == EVALUATION
    parts[1] = replace(parts[1], settings={"seed": 1})
    assert merged(parts).settings == {"run 1": {"seed": 0}, "run 2": {"seed": 1}}


def test_a_note_of_several_runs_of_one_dataset_is_told_once() -> None:
    whole = replace(EVALUATION, notes=("large: 1 of 13 questions left out",))
    parts = [whole.select(retriever=name) for name in whole.retrievers]
    assert len(parts) > 1
    assert merged(parts).notes == whole.notes


def test_runs_that_do_not_go_together_are_not_merged() -> None:
    with pytest.raises(OptionError, match="'q0' of 'large' was scored twice for 'exact' at 4000"):
        merged([EVALUATION, EVALUATION])
    with pytest.raises(OptionError, match="chars:4, o200k_base"):
        merged([EVALUATION, replace(EVALUATION, tokenizer="o200k_base")])
    with pytest.raises(OptionError, match="none"):
        merged([])


def test_runs_that_asked_different_questions_are_not_merged() -> None:
    """Pairs of them would be differences between questions, not between retrievers."""
    other = tuple(
        replace(one, retriever="other", question=replace(one.question, text="Who?"))
        for one in EVALUATION.scores
        if one.retriever == "exact"
    )
    with pytest.raises(OptionError, match="question 'q0' of 'large' is not the same in all runs"):
        merged([EVALUATION, replace(EVALUATION, scores=other)])
