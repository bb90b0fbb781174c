"""What is searched for a question when a model writes it, and when it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

import pytest
from tests.filing_records import as_answer, turn

from spanwise import KnowledgeBase
from spanwise.errors import (
    CostLimitError,
    DocumentNotFoundError,
    FilterError,
    ModelError,
    ModelKeyError,
    QueryError,
)
from spanwise.models.ports import ModelRequest
from spanwise.options import AnswerOptions, ModelOptions, QueryOptions
from spanwise.testing.models import ScriptedModel
from spanwise.types import WrittenQueries

QUESTION = "What did 3M spend on capital in 2018?"
CONDITIONS = [
    {"field": "company", "operator": "=", "values": ["3M"]},
    {"field": "year", "operator": "=", "values": ["2018"]},
]
GOOD = as_answer(["purchases of property"], standalone=QUESTION, conditions=CONDITIONS)


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", embedder=None) as made:
        for company in ("3M", "Apple"):
            for year in (2017, 2018):
                made.add_text(
                    f"In {year}, {company} spent money on capital: purchases of property.",
                    document_id=f"{company}-{year}",
                    title=f"{company} report {year}",
                    metadata={"company": company, "year": year},
                )
        yield made


def failing(error: ModelError) -> Callable[[ModelRequest], str]:
    def answer(_: ModelRequest) -> str:
        raise error

    return answer


def test_written_queries_can_be_searched(base: KnowledgeBase) -> None:
    written = base.write_queries(QUESTION, llm=ScriptedModel(lambda _: GOOD))
    assert (written.question, written.standalone) == (QUESTION, QUESTION)
    assert written.more_queries == ("purchases of property",)
    assert written.where == 'company = "3M" and year = 2018'
    assert written.warnings == ()
    assert written.usage.calls == 1
    result = base.search(written.standalone, more_queries=written.more_queries, where=written.where)
    assert result.queries == (QUESTION, *written.more_queries)
    assert result.where == written.where
    assert {segment.document_id for segment in result.segments} == {"3M-2018"}


def test_the_filter_of_the_user_is_included(base: KnowledgeBase) -> None:
    written = base.write_queries(QUESTION, llm=ScriptedModel(lambda _: GOOD), where="year > 2017")
    assert written.where == 'year > 2017 and company = "3M" and year = 2018'


def test_a_filter_that_no_document_passes_keeps_the_company(base: KnowledgeBase) -> None:
    model = ScriptedModel(lambda _: GOOD)
    written = base.write_queries(QUESTION, llm=model, documents=["3M-2017", "Apple-2018"])
    assert written.where == written.model_filter == 'company = "3M"'
    (warning,) = written.warnings
    assert warning.startswith('no document passes the filter `company = "3M" and year = 2018`')
    assert "searched without `year = 2018`" in warning
    assert "3M report 2018" not in model.requests[0].prompt


def test_a_repeated_question_costs_nothing(base: KnowledgeBase) -> None:
    model = ScriptedModel(lambda _: GOOD)
    first = base.write_queries(QUESTION, llm=model)
    second = base.write_queries(QUESTION, llm=model)
    assert len(model.requests) == 1
    assert second.usage.calls == 0
    assert second.usage.cached_calls == 1
    assert (second.more_queries, second.where) == (first.more_queries, first.where)


@pytest.mark.parametrize(
    "answer",
    [
        lambda _: "I'm sorry, but I can't help with that.",
        failing(ModelError("it is busy", provider="p", model="m", status=429, retryable=True)),
        failing(CostLimitError("it costs too much", provider="p", model="m")),
    ],
)
def test_a_model_that_fails_leaves_the_question_alone(
    answer: Callable[[ModelRequest], str], base: KnowledgeBase
) -> None:
    written = base.write_queries(QUESTION, llm=ScriptedModel(answer), where="year >= 2018")
    assert (written.standalone, written.more_queries) == (QUESTION, ())
    assert written.where == "year >= 2018"
    assert written.warnings[0].startswith("no queries were written, the question alone is searched")


def test_a_key_that_is_refused_is_an_error(base: KnowledgeBase) -> None:
    refused = ModelKeyError("the key is refused", provider="p", model="m", status=401)
    with pytest.raises(ModelKeyError):
        base.write_queries(QUESTION, llm=ScriptedModel(failing(refused)))


def test_the_cost_limit_is_respected() -> None:
    model = ScriptedModel(lambda _: GOOD, dollars_a_token=1.0)
    with KnowledgeBase(":memory:", models=ModelOptions(max_cost=0.01)) as made:
        made.add_text("Alder ships freight.", document_id="a")
        written = made.write_queries(QUESTION, llm=model)
    assert model.requests == []
    assert "max_cost of 0.01" in written.warnings[0]


def test_the_model_is_not_called_without_documents() -> None:
    model = ScriptedModel(lambda _: GOOD)
    with KnowledgeBase(":memory:", embedder=None) as made:
        written = made.write_queries(QUESTION, llm=model)
    assert model.requests == []
    assert (written.standalone, written.more_queries, written.warnings) == (QUESTION, (), ())


@pytest.mark.parametrize("question", ["", "  ", "?!", None])
def test_a_question_without_words_is_refused_before_a_call(
    question: str, base: KnowledgeBase
) -> None:
    model = ScriptedModel(lambda _: GOOD)
    with pytest.raises(QueryError):
        base.write_queries(question, llm=model)
    assert model.requests == []


def test_an_unknown_document_is_an_error_before_a_call(base: KnowledgeBase) -> None:
    model = ScriptedModel(lambda _: GOOD)
    with pytest.raises(DocumentNotFoundError, match="'none'"):
        base.write_queries(QUESTION, llm=model, documents=["none"])
    with pytest.raises(FilterError, match="sector"):
        base.write_queries(QUESTION, llm=model, where='sector = "industry"')
    assert model.requests == []


def test_a_follow_up_is_searched_by_its_standalone_form(base: KnowledgeBase) -> None:
    standalone = "What did Apple spend on capital in 2018?"
    answer = as_answer(["purchases of property"], standalone=standalone, conditions=CONDITIONS)
    written = base.write_queries(
        "And Apple?",
        llm=ScriptedModel(lambda _: answer),
        history=[turn(QUESTION, "It spent money.")],
        options=QueryOptions(queries=1),
    )
    assert written.standalone == standalone
    # The question says another company, and no other year.
    assert written.where == "year = 2018"


def test_queries_for_each_compared_item_find_each() -> None:
    texts = [
        "Net sales of the cloud grew as more customers of Amazon moved to the cloud. ",
        "Azure and server products earned more, and Office less, than a year ago. ",
    ]
    question = "Compare the cloud net sales of Amazon and Microsoft"
    answer = as_answer(["Amazon cloud net sales", "Azure and server products revenue"])
    with KnowledgeBase(":memory:", embedder=None) as made:
        for number, text in enumerate(texts):
            made.add_text(
                "\n\n".join([text * 6] * 4), document_id=f"report-{number}", title="Report"
            )
        written = made.write_queries(question, llm=ScriptedModel(lambda _: answer))
        alone = made.search(question, budget_tokens=600)
        result = made.search(question, more_queries=written.more_queries, budget_tokens=600)
    assert {segment.document_id for segment in alone.segments} == {"report-0"}
    assert {segment.document_id for segment in result.segments} == {"report-0", "report-1"}


def written_for(base: KnowledgeBase, where: str) -> WrittenQueries:
    return WrittenQueries(
        question="q", standalone=QUESTION, more_queries=("purchases",), model_filter=where
    )


def test_a_filter_of_the_model_that_finds_nothing_is_relaxed_everywhere(
    base: KnowledgeBase,
) -> None:
    written = written_for(base, 'company = "3M" and year = 1907')
    results = (
        base.search("q", more_queries=written, where="year >= 2000"),
        base.explain("q", more_queries=written, where="year >= 2000").result,
        base.excerpts("q", more_queries=written, where="year >= 2000"),
    )
    for result in results:
        assert not result.not_found
        assert result.where == 'year >= 2000 and company = "3M"'
        assert result.queries == (QUESTION, "purchases")
        assert "searched without `year = 1907`" in " ".join(result.warnings)


def test_a_filter_of_the_user_is_never_dropped(base: KnowledgeBase) -> None:
    written = written_for(base, "year = 2018")
    result = base.search("q", more_queries=written, where="year = 1907")
    assert result.not_found
    assert result.where == "year = 1907"


def test_a_listener_receives_the_calls_of_query_writing_and_of_answers() -> None:
    steps: list[str] = []

    class Listening:
        def on_step(self, name: str, *, seconds: float, counts: Mapping[str, int]) -> None:
            steps.append(name)

    with KnowledgeBase(":memory:", listener=Listening()) as base:
        base.add_text("Freight fell.", document_id="a")
        model = ScriptedModel(lambda _: GOOD)
        base.write_queries("What fell?", llm=model)
        assert [step for step in steps if step.startswith("model.")] == ["model.queries"]
        with suppress(ModelError):
            base.ask("What fell?", llm=model, write_queries=False)
        assert steps[-1] == "model.answer"


def test_the_model_is_called_with_weak_evidence_unless_abstaining() -> None:
    model = ScriptedModel(lambda _: GOOD)
    question = "What is the capital of France?"
    with KnowledgeBase(":memory:") as base:
        base.add_text("The tide rises twice a day for the moon pulls the sea.", document_id="d")
        with suppress(ModelError):
            base.ask(question, llm=model, write_queries=False)
        calls = len(model.requests)
        assert calls > 0
        options = AnswerOptions(abstain=True)
        answer = base.ask(question, llm=model, write_queries=False, options=options)
    assert answer.refused
    assert len(model.requests) == calls
