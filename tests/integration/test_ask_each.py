"""`KnowledgeBase.ask_each`: a question put to each document separately."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts import CONTRACTS, QUESTION, add_contracts, document_of, reader, report

import spanwise
from spanwise import AsyncKnowledgeBase, DocumentAnswers, KnowledgeBase
from spanwise.errors import (
    CostLimitError,
    DocumentNotFoundError,
    ModelError,
    OptionError,
    QueryError,
)
from spanwise.options import AnswerOptions, ModelOptions
from spanwise.testing.models import ScriptedModel
from spanwise.types.plain import from_plain


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:") as opened:
        add_contracts(opened)
        yield opened


def failing(model: str = "scripted:model") -> ModelError:
    return ModelError("the server failed", provider="scripted", model=model)


def verdicts(answers: DocumentAnswers) -> dict[str, str]:
    return {document.document_id: document.verdict for document in answers.documents}


def test_each_document_is_read_by_itself_and_all_are_listed(base: KnowledgeBase) -> None:
    model = reader()
    answers = base.ask_each(QUESTION, llm=model)
    assert verdicts(answers) == {
        "harbour": "yes",
        "mill": "no",
        "quarry": "not stated",
        "vessel": "yes",
    }
    assert answers.summary == "read 4 of 4 documents: 2 yes, 1 no, 1 not stated"
    reads = [request for request in model.requests if request.task == "document"]
    assert sorted(map(document_of, reads)) == sorted(CONTRACTS)
    for request in reads:
        others = set(CONTRACTS) - {document_of(request)}
        assert not any(CONTRACTS[name].splitlines()[2] in request.prompt for name in others)
    assert [request.task for request in model.requests].count("queries") == 1


def test_citation_numbers_run_on_over_the_documents(base: KnowledgeBase) -> None:
    answers = base.ask_each(QUESTION, llm=reader())
    assert [cited.number for cited in answers.citations] == [1, 2, 3]
    assert all(cited.status == "exact" for cited in answers.citations)
    for document in answers.documents:
        for cited in document.citations:
            assert cited.document_id == document.document_id
            assert any(cited.mark in statement for statement in document.statements)
    marks = re.findall(r"\[\d+\??\]", answers.text)
    assert sorted(marks) == ["[1]", "[2]", "[3]"]
    assert answers.text.startswith("Read 4 of 4 documents: 2 yes, 1 no, 1 not stated.")
    for name in CONTRACTS:
        assert base.record(name).title in answers.text


def test_a_small_document_is_read_whole(base: KnowledgeBase) -> None:
    answers = base.ask_each(QUESTION, llm=reader())
    assert {document.read_share for document in answers.documents} == {1.0}
    base.add_text("Nothing is said here. " * 3_000, document_id="long")
    long = base.ask_each(QUESTION, llm=reader(), documents=["long"], budget_tokens=500)
    assert 0 < long.documents[0].read_share < 0.5


def test_a_quote_of_another_document_is_not_accepted(base: KnowledgeBase) -> None:
    foreign = "Either party may terminate for convenience at any time."
    answers = base.ask_each(QUESTION, llm=reader(quarry=report("yes", foreign)))
    quarry = next(one for one in answers.documents if one.document_id == "quarry")
    assert quarry.verdict == "yes"
    assert not quarry.verified
    assert [cited.status for cited in quarry.citations] == ["failed"]
    assert quarry.citations[0].mark in quarry.statements[0]
    assert any("without a quote" in warning for warning in answers.warnings)


def test_a_failed_document_does_not_stop_the_others(base: KnowledgeBase) -> None:
    answers = base.ask_each(QUESTION, llm=reader(mill=failing(), harbour="no JSON"))
    assert verdicts(answers) == {
        "harbour": "failed",
        "mill": "failed",
        "quarry": "not stated",
        "vessel": "yes",
    }
    assert [one.document_id for one in answers.failed] == ["harbour", "mill"]
    assert "the server failed" in answers.failed[1].reason
    assert "the server failed" in answers.text


def test_a_failure_of_all_documents_is_raised(base: KnowledgeBase) -> None:
    model = reader(**dict.fromkeys(CONTRACTS, failing()))
    with pytest.raises(ModelError, match="the server failed"):
        base.ask_each(QUESTION, llm=model)


def test_interrupted_work_continues(tmp_path: Path) -> None:
    interrupt = KeyboardInterrupt()

    def stop(_: object) -> str:
        raise interrupt

    with KnowledgeBase(tmp_path / "a.kb") as base:
        add_contracts(base)
        model = reader(vessel=stop)
        model.concurrency = 1
        with pytest.raises(KeyboardInterrupt):
            base.ask_each(QUESTION, llm=model)
    again = reader()
    with KnowledgeBase(tmp_path / "a.kb") as base:
        answers = base.ask_each(QUESTION, llm=again)
    assert len(answers.yes) == 2
    assert [document_of(request) for request in again.requests] == ["vessel"]
    assert answers.usage.cached_calls == 4


def test_a_cost_limit_returns_the_documents_that_were_read() -> None:
    model = reader()
    model.dollars_a_token, model.concurrency = 0.000_001, 1
    with KnowledgeBase(":memory:") as base:
        add_contracts(base)
        whole = base.ask_each(QUESTION, llm=model, write_queries=False)
    assert whole.usage.cost
    options = AnswerOptions(max_output_tokens=100)
    limit = whole.usage.cost * 0.7
    limited = ModelOptions(max_cost=limit)
    with KnowledgeBase(":memory:", models=limited) as base:
        add_contracts(base)
        answers = base.ask_each(QUESTION, llm=model, write_queries=False, options=options)
    assert answers.not_read
    assert answers.yes
    assert answers.usage.cost is not None
    assert answers.usage.cost <= limit
    assert answers.cost_limit_reached
    assert not whole.cost_limit_reached
    assert "cost limit" in answers.warnings[0]
    assert "max_cost" in answers.not_read[0].reason


def test_a_cost_limit_below_the_first_call_is_an_error() -> None:
    model = reader()
    model.dollars_a_token = 0.001
    with KnowledgeBase(":memory:", models=ModelOptions(max_cost=0.001)) as base:
        add_contracts(base)
        with pytest.raises(CostLimitError):
            base.ask_each(QUESTION, llm=model, write_queries=False)
    assert not model.requests


@pytest.mark.parametrize("write_queries", [False, True])
def test_the_estimate_is_a_bound_and_calls_no_model(
    base: KnowledgeBase, *, write_queries: bool
) -> None:
    base.add_text(
        "\n\n".join(f"Clause {n}: ends at any time." for n in range(900)), document_id="long"
    )
    model = reader()
    model.dollars_a_token = 0.000_001
    estimate = base.ask_each(
        QUESTION, llm=model, write_queries=write_queries, budget_tokens=600, dry_run=True
    )
    assert not model.requests
    assert {one.verdict for one in estimate.documents} == {"not read"}
    assert len(estimate.documents) == 5
    real = base.ask_each(QUESTION, llm=model, write_queries=write_queries, budget_tokens=600)
    first_calls = estimate.usage.calls - estimate.usage.repeated_calls
    assert first_calls == real.usage.calls == 5 + write_queries
    assert estimate.usage.input_tokens >= real.usage.input_tokens
    assert estimate.usage.cost is not None
    assert real.usage.cost is not None
    assert estimate.usage.cost >= real.usage.cost
    again = base.ask_each(
        QUESTION, llm=model, write_queries=write_queries, budget_tokens=600, dry_run=True
    )
    assert (again.usage.calls, again.usage.cached_calls) == (0, 5 + write_queries)


def test_the_estimate_counts_documents_that_only_a_written_query_finds() -> None:
    queries = json.dumps({"standalone": "", "queries": ["terminate", "dollars"], "conditions": []})
    readers = reader()
    model = ScriptedModel(
        lambda request: queries if request.task == "queries" else readers.answer(request)
    )
    options = ModelOptions(answer_retries=0)
    with KnowledgeBase(":memory:", embedder=None, models=options) as base:
        add_contracts(base)
        estimate = base.ask_each("Who may leave early?", llm=model, dry_run=True)
        real = base.ask_each("Who may leave early?", llm=model)
    assert estimate.usage.calls == real.usage.calls == 5
    assert estimate.usage.input_tokens >= real.usage.input_tokens


def test_the_estimate_counts_every_repeated_request_that_the_options_allow() -> None:
    model = reader(mill="", harbour="", quarry="", vessel="")
    options = ModelOptions(answer_retries=3)
    with KnowledgeBase(":memory:", models=options) as base:
        add_contracts(base)
        estimate = base.ask_each(QUESTION, llm=model, write_queries=False, dry_run=True)
        with pytest.raises(ModelError):
            base.ask_each(QUESTION, llm=model, write_queries=False)
    assert estimate.usage.calls >= len(model.requests) == 16


def test_progress_is_reported_for_each_document(base: KnowledgeBase) -> None:
    seen: list[tuple[int, int]] = []
    base.ask_each(
        QUESTION, llm=reader(), on_progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_only_documents_in_scope_are_read(base: KnowledgeBase) -> None:
    model = reader()
    answers = base.ask_each(QUESTION, llm=model, where='name = "mill" or name = "vessel"')
    assert list(verdicts(answers)) == ["mill", "vessel"]
    assert answers.where
    one = base.ask_each(QUESTION, llm=model, documents=["vessel"])
    assert list(verdicts(one)) == ["vessel"]
    with pytest.raises(DocumentNotFoundError):
        base.ask_each(QUESTION, llm=model, documents=["missing"])


def test_a_filter_that_no_document_passes_is_reported(base: KnowledgeBase) -> None:
    model = reader()
    answers = base.ask_each(QUESTION, llm=model, where='name = "mil"')
    assert answers.documents == ()
    assert "mill" in answers.warnings[0]
    assert not model.requests


def test_a_document_without_any_word_of_the_question_is_not_read_by_keywords_alone() -> None:
    model = reader()
    with KnowledgeBase(":memory:", embedder=None) as base:
        add_contracts(base)
        answers = base.ask_each("Which contracts mention tenants?", llm=model, write_queries=False)
    assert verdicts(answers)["harbour"] == "yes"
    assert [one.document_id for one in answers.not_read] == ["mill", "quarry", "vessel"]
    assert [document_of(request) for request in model.requests] == ["harbour"]
    assert any("no passage" in warning for warning in answers.warnings)


def test_a_yes_needs_a_quote_and_a_no_without_one_counts_as_not_stated(
    base: KnowledgeBase,
) -> None:
    bare = report("yes")
    answers = base.ask_each(QUESTION, llm=reader(harbour=bare, mill=report("no")))
    assert verdicts(answers)["harbour"] == "failed"
    assert verdicts(answers)["mill"] == "not stated"


def test_the_value_of_each_document_is_listed_and_checked(base: KnowledgeBase) -> None:
    quote = "The licensee pays 4,000 dollars a year, due in March."
    quarry = report("yes", quote, text="The fee is 4,000 dollars a year.", value="4,000 dollars")
    vessel = report("yes", CONTRACTS["vessel"].splitlines()[2], value="77 dollars")
    answers = base.ask_each("What is the fee?", llm=reader(quarry=quarry, vessel=vessel))
    documents = {one.document_id: one for one in answers.documents}
    assert documents["quarry"].value == "4,000 dollars"
    assert documents["quarry"].warnings == ()
    assert "4,000 dollars. The fee is" in answers.text
    assert any("'77 dollars'" in warning for warning in documents["vessel"].warnings)


@pytest.mark.parametrize(
    ("value", "is_supported"),
    [
        ("4,000 dollars", True),
        ("4000", True),
        ("four thousand dollars", True),
        ("March", True),
        ("4", False),
        ("000", False),
        ("forty dollars", False),
        ("paid to Ada Smith", False),
        ("due in May 2019", False),
    ],
)
def test_numbers_dates_and_names_of_a_value_are_in_its_quotes(
    base: KnowledgeBase, value: str, *, is_supported: bool
) -> None:
    quote = "The licensee pays 4,000 dollars a year, due in March."
    model = reader(quarry=report("yes", quote, text="It states a fee.", value=value))
    answers = base.ask_each("What is the fee?", llm=model, documents=["quarry"])
    assert (answers.documents[0].warnings == ()) == is_supported


def test_several_knowledge_bases_are_listed_together(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "a.kb") as first, KnowledgeBase(tmp_path / "b.kb") as second:
        add_contracts(first)
        second.add_text(
            "# Barge\n\nThe barge owner may terminate for convenience.", document_id="vessel"
        )
        model = reader()
        answers = spanwise.ask_each([first, second], QUESTION, llm=model)
    assert [(one.knowledge_base, one.document_id) for one in answers.documents][-1] == (
        "b.kb",
        "vessel",
    )
    assert len(answers.yes) == 3
    for document in answers.yes:
        for cited in document.citations:
            assert cited.citation is not None
            assert cited.citation.knowledge_base == document.knowledge_base
    reads = [request.prompt for request in model.requests if request.task == "document"]
    assert not any("barge owner" in prompt and "Either party" in prompt for prompt in reads)


def test_the_asynchronous_method_returns_the_same(base: KnowledgeBase) -> None:
    async def run() -> DocumentAnswers:
        return await AsyncKnowledgeBase(base).ask_each(QUESTION, llm=reader())

    assert asyncio.run(run()).documents == base.ask_each(QUESTION, llm=reader()).documents


def test_the_result_can_be_written_as_json_and_read_again(base: KnowledgeBase) -> None:
    answers = base.ask_each(QUESTION, llm=reader(mill=failing()))
    plain = json.loads(json.dumps(answers.to_dict()))
    assert plain["counts"]["failed"] == 1
    assert from_plain(DocumentAnswers, plain) == answers


def test_a_notebook_shows_the_list_escaped(base: KnowledgeBase) -> None:
    html = base.ask_each(f"{QUESTION} <b>", llm=reader())._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "2 yes" in html


def test_arguments_are_checked_before_a_call(base: KnowledgeBase) -> None:
    model = reader()
    with pytest.raises(OptionError):
        base.ask_each(QUESTION)
    with pytest.raises(OptionError):
        base.ask_each(QUESTION, llm=model, options=AnswerOptions(excerpts=2))
    with pytest.raises(OptionError):
        base.ask_each(QUESTION, llm=model, budget_tokens=0)
    with pytest.raises(QueryError):
        base.ask_each("?", llm=model)
    assert not model.requests
