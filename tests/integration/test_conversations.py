"""Questions that refer to citations of earlier answers, and conversations that switch documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.scripted_answers import answer_of, model_of, statement, two_sources

from spanwise import KnowledgeBase
from spanwise.models.ports import ModelRequest
from spanwise.testing.models import ScriptedModel

SPENDING = "Capital spending was $1,577 million in 2018"
LETTER = "came to $1,612 million, with the berth at Northport and two cranes"
FIRST = "What was the capital spending of Quay Works in 2018?"


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    with two_sources() as opened:
        yield opened


def cites(request: ModelRequest) -> list[tuple[int, str]]:
    """Return the quotes of the report and the letter, with the number of any segment."""
    del request
    return [(1, SPENDING), (1, LETTER)]


def talking(**standalone: str) -> ScriptedModel:
    """Return a model that cites the report and the letter, and rewrites questions as specified."""

    def answer(request: ModelRequest) -> str:
        if request.task == "queries":
            rewritten = next((v for k, v in standalone.items() if k in request.prompt), "")
            form: dict[str, Any] = {
                "standalone": rewritten,
                "queries": ["capital spending berth"],
                "conditions": [],
            }
            return json.dumps(form)
        first, second = (statement("It is so.", quote) for quote in cites(request))
        return json.dumps(answer_of(first, second))

    return ScriptedModel(answer)


def last_prompt(model: ScriptedModel, task: str = "answer") -> str:
    return next(one.prompt for one in reversed(model.requests) if one.task == task)


def test_a_number_refers_to_the_citation_of_the_last_answer(base: KnowledgeBase) -> None:
    model = talking()
    first = base.ask(FIRST, llm=model, write_queries=False, thread="a")
    assert [cited.document_id for cited in first.citations] == ["report.md", "letter.md"]
    answer = base.ask("What else does [2] say?", llm=model, write_queries=False, thread="a")
    assert "Letter to the owners of Quay Works 2018" in answer.standalone
    assert "[2]" not in answer.standalone
    assert answer.queries[0] == answer.standalone
    assert answer.question == "What else does [2] say?"
    assert not any("[2]" in warning for warning in answer.warnings)
    prompt = last_prompt(model)
    conversation = prompt[prompt.index("<conversation>") : prompt.index("</conversation>")]
    assert LETTER in conversation
    assert "[2] is in Letter to the owners" in conversation
    assert base.threads.get("a").turns[0].answer == first, "the stored turn is unchanged"


def test_a_number_is_resolved_before_the_model_writes_queries(base: KnowledgeBase) -> None:
    model = talking()
    base.ask(FIRST, llm=model, thread="a")
    base.ask("What else does [2] say about the berth?", llm=model, thread="a")
    prompt = last_prompt(model, "queries")
    question = prompt[prompt.index("<question>") :]
    assert "Letter to the owners of Quay Works 2018" in question
    assert "[2]" not in question
    assert LETTER in prompt


def test_several_numbers_and_an_older_answer(base: KnowledgeBase) -> None:
    model = talking()
    base.ask(FIRST, llm=model, write_queries=False, thread="a")
    one = model_of(answer_of(statement("It is so.", (1, LETTER))))
    base.ask("And the letter on capital spending?", llm=one, write_queries=False, thread="a")
    answer = base.ask("Compare [1, 2], please.", llm=model, write_queries=False, thread="a")
    assert answer.standalone.count("Letter to the owners") == 1, "both are in the letter"
    assert "Compare Letter" in answer.standalone


def test_an_unknown_number_is_reported(base: KnowledgeBase) -> None:
    model = talking()
    base.ask(FIRST, llm=model, write_queries=False, thread="a")
    answer = base.ask("What does [7] say of spending?", llm=model, write_queries=False, thread="a")
    assert "[7]" in answer.warnings[0]
    assert answer.standalone == ""
    stored = base.threads.get("a").turns[-1]
    assert stored.answer.warnings == answer.warnings


def test_a_failed_quote_cannot_be_referred_to(base: KnowledgeBase) -> None:
    model = model_of(
        answer_of(statement("It is so.", (1, "Nobody ever wrote this sentence here."))),
        answer_of(statement("It is so.", (1, SPENDING))),
    )
    base.ask(FIRST, llm=model, write_queries=False, thread="a")
    answer = base.ask("Capital spending by [1]?", llm=model, write_queries=False, thread="a")
    assert "[1] was not found" in answer.warnings[0]


def test_brackets_without_a_conversation_are_not_resolved(base: KnowledgeBase) -> None:
    model = talking()
    base.ask(FIRST, llm=model, write_queries=False, thread="a")
    threads: tuple[str | None, ...] = (None, "new")
    for thread in threads:
        answer = base.ask("Capital spending by [2]?", llm=model, write_queries=False, thread=thread)
        assert answer.standalone == ""
        assert answer.queries[0] == "Capital spending by [2]?"


def test_the_rewritten_question_is_part_of_the_answer(base: KnowledgeBase) -> None:
    rewritten = "What was the capital spending of Quay Works in 2017?"
    model = talking(**{"And in 2017?": rewritten})
    first = base.ask(FIRST, llm=model, thread="a")
    assert first.standalone == ""
    answer = base.ask("And in 2017?", llm=model, thread="a")
    assert (answer.question, answer.standalone) == ("And in 2017?", rewritten)
    assert rewritten in answer._repr_html_()


def test_a_conversation_switches_documents(base: KnowledgeBase) -> None:
    model = talking()
    scopes: list[dict[str, Any]] = [
        {"documents": ["report.md"]},
        {"where": 'title contains "letter"'},
        {},
    ]
    for arguments in scopes:
        base.ask(FIRST, llm=model, write_queries=False, thread="a", **arguments)
    turns = base.threads.get("a").turns
    assert [turn.documents for turn in turns] == [("report.md",), None, None]
    assert [bool(turn.where) for turn in turns] == [False, True, False]
    read = [{source.document_id for source in turn.answer.sources} for turn in turns]
    assert read == [{"report.md"}, {"letter.md"}, {"report.md", "letter.md"}]
