"""Evaluations from questions to scores."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from spanwise.errors import CostLimitError, ModelError, OptionError
from spanwise.evaluation import (
    Dataset,
    Evaluation,
    EvaluationProgress,
    Evidence,
    LabelledQuestion,
    Retrieval,
    Retrieved,
    adapt,
    evaluate,
)
from spanwise.knowledge_base import KnowledgeBase
from spanwise.models.ports import ModelRequest, RerankReply
from spanwise.options import ModelOptions
from spanwise.testing.models import ScriptedModel, ScriptedReranker
from spanwise.types import Usage

_YEARS = range(2011, 2021)


def _sentence(year: int) -> str:
    return f"In {year} the warehouse in town number {year - 2000} paid for {year * 3} barrels."


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    """Return ten letters, each about a year."""
    with KnowledgeBase(":memory:", tokenizer="chars:4") as made:
        for year in _YEARS:
            text = f"Dear all. Nothing was new. {_sentence(year)} Everything else stayed. " * 3
            made.add_text(text, document_id=f"{year}.txt", title=f"Letter of {year}")
        yield made


@pytest.fixture(scope="module")
def dataset(base: KnowledgeBase) -> Dataset:
    """Return a question about each letter, half of them about that letter alone."""
    questions = []
    for year in _YEARS:
        start = base.get(f"{year}.txt").text.index(_sentence(year))
        evidence = Evidence(
            document_id=f"{year}.txt", start=start, end=start + len(_sentence(year))
        )
        questions.append(
            LabelledQuestion(
                id=str(year),
                text=f"How many barrels were paid for in {year}?",
                evidence=(evidence,),
                scope=(f"{year}.txt",) if year % 2 else None,
            )
        )
    return Dataset(name="letters", questions=tuple(questions))


def _figures(evaluation: Evaluation) -> list[object]:
    """Return all that was found, without times."""
    return [
        (one.question.id, one.retriever, one.budget_tokens, one.found, dict(one.metrics))
        for one in evaluation.scores
    ]


def test_each_question_is_scored_for_each_retriever_and_budget(
    base: KnowledgeBase, dataset: Dataset
) -> None:
    """Scores come in the order that was asked for, within the budget, with what repeats them."""
    names = ["bm25", "top-k+headers", "exact+headers"]
    found = evaluate(dataset, base, retrievers=names, budgets=[100, 200])
    assert [(one.retriever, one.budget_tokens, one.question.id) for one in found.scores] == [
        (name, budget, str(year)) for name in names for budget in (100, 200) for year in _YEARS
    ]
    assert all(one.metrics["tokens"] <= one.budget_tokens + 1e-9 for one in found.scores)
    assert all(one.seconds > 0 for one in found.scores)
    for one in found.scores:
        if one.question.scope is not None:
            assert {item.document_id for item in one.found} <= set(one.question.scope)
    mean = found.interval("recall", "exact+headers", 200)
    assert mean is not None
    assert mean.mean > 0.9
    settings = found.settings
    assert found.tokenizer == "chars:4"
    assert settings["retrievers"] == names
    assert settings["budgets"] == [100, 200]
    assert settings["documents"] == len(_YEARS)
    assert isinstance(settings["versions"], dict)
    assert {"spanwise", "numpy", "python"} == settings["versions"].keys()
    json.dumps(settings)


def test_the_same_evaluation_gives_the_same_figures(base: KnowledgeBase, dataset: Dataset) -> None:
    """Nothing depends on the run but times."""
    runs = [
        evaluate(dataset, base, retrievers=["exact", "excerpts"], budgets=[100]) for _ in range(2)
    ]
    assert _figures(runs[0]) == _figures(runs[1])
    assert runs[0].settings == runs[1].settings


def test_a_limit_takes_questions_evenly(base: KnowledgeBase, dataset: Dataset) -> None:
    """Four of ten questions are spread over all of them."""
    found = evaluate(dataset, base, retrievers=["bm25"], budgets=[50], limit=4)
    assert [one.question.id for one in found.scores] == ["2011", "2013", "2016", "2018"]


def test_progress_is_told_for_every_search(base: KnowledgeBase, dataset: Dataset) -> None:
    """From none to all, in steps of at most one."""
    heard: list[EvaluationProgress] = []
    evaluate(
        dataset, base, retrievers=["bm25", "exact"], budgets=[100, 200], on_progress=heard.append
    )
    done = [one.done for one in heard]
    assert done[0] == 0
    assert done[-1] == heard[0].total == 2 * 2 * len(_YEARS)
    assert all(0 <= after - before <= 1 for before, after in pairwise(done))


class _Stopped(BaseException):
    """What a user does with Ctrl-C."""


def test_an_evaluation_goes_on_where_it_was_stopped(
    base: KnowledgeBase, dataset: Dataset, tmp_path: Path
) -> None:
    """Finished parts are not searched again; an unfinished one is, and all is as in one run."""

    def stop(progress: EvaluationProgress) -> None:
        if (progress.retriever, progress.budget_tokens) == ("exact+headers", 200):
            raise _Stopped

    names = ["bm25", "exact+headers"]
    with pytest.raises(_Stopped):
        evaluate(
            dataset, base, retrievers=names, budgets=[100, 200], work=tmp_path, on_progress=stop
        )
    heard: list[EvaluationProgress] = []
    again = evaluate(
        dataset, base, retrievers=names, budgets=[100, 200], work=tmp_path, on_progress=heard.append
    )
    searched = [one.retriever for one in heard if one.done % len(_YEARS)]
    assert set(searched) == {"exact+headers"}
    assert len(searched) == len(_YEARS) - 1
    whole = evaluate(dataset, base, retrievers=names, budgets=[100, 200])
    assert _figures(again) == _figures(whole)
    lines = (tmp_path / "measured.jsonl").read_bytes().split(b"\n")
    assert len([line for line in lines if line]) == 4


def test_what_was_kept_is_used_for_the_same_alone(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured again: with other code, a document more, another tokenizer, after a crash."""

    def searches(base: KnowledgeBase, **options: object) -> int:
        heard: list[EvaluationProgress] = []
        evaluate(
            dataset,
            base,
            retrievers=["bm25"],
            budgets=[50],
            work=tmp_path,
            on_progress=heard.append,
            **options,  # type: ignore[arg-type]
        )
        return len(heard) - 2

    with KnowledgeBase(":memory:", tokenizer="chars:4") as base:
        for year in _YEARS:
            text = f"Dear all. Nothing was new. {_sentence(year)} Everything else stayed. " * 3
            base.add_text(text, document_id=f"{year}.txt", title=f"Letter of {year}")
        all_of_them = len(_YEARS)
        assert searches(base) == all_of_them
        assert searches(base) == 0
        assert searches(base, tokenizer="chars:3") == all_of_them
        assert searches(base) == 0
        monkeypatch.setattr("spanwise.evaluation.checkpoint.code_hash", lambda: "of other code")
        assert searches(base) == all_of_them
        monkeypatch.undo()
        assert searches(base) == 0
        base.add_text("A last word.", document_id="last.txt")
        assert searches(base) == all_of_them
        path = tmp_path / "measured.jsonl"
        path.write_bytes(path.read_bytes()[:-20])
        assert searches(base) == all_of_them
        assert searches(base) == 0


def test_a_work_folder_that_cannot_be_used_is_named(
    base: KnowledgeBase, dataset: Dataset, tmp_path: Path
) -> None:
    """A file stands where the folder should be."""
    (tmp_path / "work").write_text("", encoding="utf-8")
    with pytest.raises(OptionError, match=r"the work folder .* cannot be used"):
        evaluate(dataset, base, retrievers=["bm25"], work=tmp_path / "work")


def test_functions_are_measured_each_time(
    base: KnowledgeBase, dataset: Dataset, tmp_path: Path
) -> None:
    """A function may have changed without a sign."""
    asked: list[str] = []

    def search(question: str) -> list[str]:
        asked.append(question)
        return [_sentence(int(question[-5:-1]))]

    for _ in range(2):
        found = evaluate(dataset, base, retrievers=[search], budgets=[50], work=tmp_path)
    assert len(asked) == 2 * len(_YEARS)
    mean = found.interval("recall", "search", 50)
    assert mean is not None
    assert mean.mean == 1.0


def test_a_search_that_fails_counts_as_nothing_and_three_end_it(
    base: KnowledgeBase, dataset: Dataset
) -> None:
    """A failure here and there is said; a retriever that fails throughout is not measured."""

    def moody(question: str) -> list[str]:
        if "2014" in question or "2015" in question:
            raise RuntimeError("no index for this year")
        return [_sentence(int(question[-5:-1]))]

    found = evaluate(dataset, base, retrievers=[moody], budgets=[50])
    failed = [one for one in found.scores if one.warnings]
    assert [one.question.id for one in failed] == ["2014", "2015"]
    assert all(one.metrics["recall"] == 0 for one in failed)
    assert all("RuntimeError: no index" in one.warnings[0] for one in failed)

    def broken(question: str) -> list[str]:
        raise RuntimeError("no index at all")

    with pytest.raises(OptionError, match="'broken' failed for 3 questions in a row") as caught:
        evaluate(dataset, base, retrievers=[broken], budgets=[50])
    assert isinstance(caught.value.__cause__, RuntimeError)


class _MoodyReranker(ScriptedReranker):
    """Fails for some questions while its server is down."""

    is_down = True

    def rerank(self, query: str, texts: Sequence[str]) -> RerankReply:
        if self.is_down and "2014" in query:
            raise ModelError("the server is down", provider="p", model="m")
        return super().rerank(query, texts)


def test_what_failed_is_measured_again(
    base: KnowledgeBase, dataset: Dataset, tmp_path: Path
) -> None:
    """A server that was down for a while does not count for ever; finished parts stay."""
    reranker = _MoodyReranker(lambda *_: 0.0)

    def failures() -> list[str]:
        found = evaluate(
            dataset,
            base,
            retrievers=["bm25", "exact+headers+rerank"],
            budgets=[100],
            reranker=reranker,
            work=tmp_path,
        )
        return [one.question.id for one in found.scores if "server is down" in str(one.warnings)]

    assert failures() == ["2014"]
    reranker.is_down = False
    assert failures() == []


def _rate_all(request: ModelRequest) -> str:
    passages = range(1, request.prompt.count("\nPassage ") + 2)
    return json.dumps({"ratings": [{"passage": number, "score": 5} for number in passages]})


def test_a_language_model_as_reranker_is_paid_from_one_purse(
    base: KnowledgeBase, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit holds for all questions together, ends the evaluation, and can be raised."""
    model = ScriptedModel(_rate_all, dollars_a_token=1e-6)
    monkeypatch.setattr("spanwise.models.registry.make_language_model", lambda *_, **__: model)

    def cost(max_cost: float) -> float:
        found = evaluate(
            dataset,
            base,
            retrievers=["exact+headers+rerank"],
            budgets=[100],
            reranker="llm:scripted:model",
            models=ModelOptions(max_cost=max_cost),
        )
        return sum(one.usage.cost or 0.0 for one in found.scores)

    with pytest.raises(CostLimitError):
        cost(0.008)
    asked = len(model.requests)
    assert asked > 0
    assert 0.008 < cost(1.0) < 1.0
    assert len(model.requests) > asked


def test_money_that_is_spent_ends_it_at_once(base: KnowledgeBase, dataset: Dataset) -> None:
    """No further question would be paid either."""
    asked: list[str] = []

    def search(question: str) -> list[str]:
        asked.append(question)
        raise CostLimitError("too much", provider="p", model="m")

    with pytest.raises(CostLimitError):
        evaluate(dataset, base, retrievers=[search], budgets=[50])
    assert len(asked) == 1


def test_texts_that_stand_nowhere_cost_tokens_and_hold_nothing(
    base: KnowledgeBase, dataset: Dataset
) -> None:
    """What a model made up fills the budget."""

    def summarise(question: str) -> list[str]:
        return ["A summary that nobody wrote down. " * 10, _sentence(int(question[-5:-1]))]

    found = evaluate(dataset, base, retrievers=[summarise], budgets=[50])
    assert {one.metrics["recall"] for one in found.scores} == {0.0}
    assert {one.metrics["tokens"] for one in found.scores} == {50.0}
    assert all(
        "1 of 2 returned texts occur in no document" in one.warnings[0] for one in found.scores
    )


def test_what_models_took_stands_with_each_question(base: KnowledgeBase, dataset: Dataset) -> None:
    """A reranker is asked once for each question, whatever the budget."""
    reranker = ScriptedReranker(lambda _, text: float("barrels" in text))
    found = evaluate(
        dataset,
        base,
        retrievers=["bm25+rerank", "exact+headers+rerank"],
        budgets=[100],
        reranker=reranker,
    )
    assert all(one.usage.calls + one.usage.cached_calls == 1 for one in found.scores)
    assert found.settings["reranker"] == reranker.name

    def paid(question: str) -> Retrieval:
        return Retrieval(found=(), usage=Usage(calls=1, cost=0.5))

    found = evaluate(dataset, base, retrievers=[paid], budgets=[50])
    assert {one.value("cost") for one in found.scores} == {0.5}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"retrievers": []}, "at least one"),
        ({"retrievers": ["exakt"]}, "did you mean 'exact'"),
        ({"retrievers": ["bm25", "exact+rerank"]}, "no reranker is given"),
        ({"retrievers": ["bm25", "bm25"]}, "2 retrievers are called 'bm25'"),
        ({"retrievers": ["bm25", "no_such_module:search"]}, "cannot be imported"),
        ({"retrievers": ["exact"], "reranker": ScriptedReranker(lambda *_: 0.0)}, "no method uses"),
        ({"budgets": []}, "budgets are"),
        ({"budgets": [0]}, "budgets are"),
        ({"budgets": [5, 5]}, "each once"),
        ({"limit": 0}, "limit is 0"),
        ({"tokenizer": "words"}, "tokenizer is 'words'"),
        ({"dataset": Dataset(name="none", questions=())}, "no questions"),
    ],
)
def test_all_is_checked_before_the_first_search(
    base: KnowledgeBase, dataset: Dataset, changes: dict[str, object], words: str
) -> None:
    """What cannot be measured is refused before anything is."""
    asked: list[str] = []

    def first(question: str) -> list[str]:
        asked.append(question)
        return []

    given: dict[str, object] = {"dataset": dataset, "budgets": [50], "retrievers": ["bm25"]}
    given |= changes
    if given["retrievers"]:
        assert isinstance(given["retrievers"], list)
        given["retrievers"] = [first, *given["retrievers"]]
    with pytest.raises(OptionError, match=words):
        evaluate(base=base, **given)  # type: ignore[arg-type]
    assert asked == []


def test_questions_are_checked_against_the_documents(base: KnowledgeBase) -> None:
    """Evidence that cannot be found would count as missed by all."""
    evidence = Evidence(document_id="2011.text", start=0, end=5)
    question = LabelledQuestion(id="q", text="What?", evidence=(evidence,))
    with pytest.raises(OptionError, match=r"the nearest is '2011\.txt'"):
        evaluate(Dataset(name="bad", questions=(question,)), base, retrievers=["bm25"])


@pytest.mark.slow
def test_scoring_of_many_questions_takes_little_time(base: KnowledgeBase) -> None:
    """Placing, cutting and scoring cost far less than the searches that are measured."""
    text = "".join(_sentence(year) + " " for year in range(2_000, 9_000))
    questions = tuple(
        LabelledQuestion(
            id=str(number),
            text=f"What about {number}?",
            evidence=(Evidence(document_id="long.txt", start=number * 60, end=number * 60 + 300),),
        )
        for number in range(250)
    )

    class Fixed:
        name = "fixed"

        def retrieve(
            self, question: str, *, budget_tokens: int, documents: Sequence[str] | None
        ) -> Retrieval:
            number = int(question[11:-1]) * 61
            places = range(number, number + 20_000, 500)
            return Retrieval(
                found=tuple(
                    Retrieved(document_id="long.txt", start=at, end=at + 400) for at in places
                )
            )

    with KnowledgeBase(":memory:", embedder=None) as long:
        long.add_text(text, document_id="long.txt")
        started = time.process_time()
        found = evaluate(
            Dataset(name="long", questions=questions), long, retrievers=[adapt(Fixed())]
        )
        assert len(found.scores) == 500
        assert time.process_time() - started < 15
