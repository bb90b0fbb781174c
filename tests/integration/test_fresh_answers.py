"""Repeated questions with `fresh`, and outputs of models that are removed from the cache."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.commands import read_json
from tests.scripted_answers import (
    QUESTION,
    REPORT,
    Form,
    answer_of,
    ask,
    model_of,
    statement,
    two_sources,
)
from tests.servers.scripted import ScriptedServer, chat

import spanwise
from spanwise import AnswerOptions, KnowledgeBase
from spanwise.errors import ModelAnswerError
from spanwise.models.ports import ModelRequest
from spanwise.testing.models import ScriptedModel, ScriptedReranker

LETTERS = " abc"  # numbers would be marked, because no quote contains them
QUOTE = (1, "was $1,577 million in 2018")
COMBINED: Form = {
    "answered": True,
    "statements": [{"text": "So it was.", "conclusions": [1]}],
    "conflicts": [],
    "missing": "",
}


def conclusion(text: str, quote: str) -> Form:
    """Return the conclusions of an excerpt as a model gives them."""
    return {"relevant": True, "conclusions": [{"text": text, "quotes": [quote]}]}


@pytest.fixture
def kb() -> Iterator[KnowledgeBase]:
    with two_sources() as made:
        yield made


def counting(task: str = "answer") -> ScriptedModel:
    """Return a model whose outputs for a task have a number that counts its calls."""
    said: list[ModelRequest] = []

    def answer(request: ModelRequest) -> str:
        said.append(request)
        number = sum(one.task == task for one in said)
        if request.task == "queries":
            return json.dumps({"standalone": "", "queries": [f"query {number}"], "conditions": []})
        if request.task == "conclusions":
            return json.dumps(conclusion(f"Conclusion {number}.", "the berth at Northport"))
        if request.task == "combine":
            return json.dumps(COMBINED)
        return json.dumps(answer_of(statement(f"Answer {LETTERS[number]}.", QUOTE)))

    return ScriptedModel(answer)


def test_a_fresh_answer_replaces_the_cached_one(kb: KnowledgeBase) -> None:
    model = counting()
    texts = [ask(kb, model, fresh=fresh).text for fresh in (False, False, True, False, True, False)]
    numbers = [text.split(".")[0] for text in texts]
    assert numbers == ["Answer a", "Answer a", "Answer b", "Answer b", "Answer c", "Answer c"]


def test_a_fresh_stream_replaces_the_cached_answer(kb: KnowledgeBase) -> None:
    model = counting()
    ask(kb, model)
    stream = kb.ask_stream(QUESTION, llm=model, write_queries=False, fresh=True)
    assert stream.answer.text.startswith("Answer b.")
    assert ask(kb, model).text.startswith("Answer b.")


def test_queries_and_rerankings_are_fresh_too(kb: KnowledgeBase) -> None:
    model, reranker = counting("queries"), ScriptedReranker(lambda _, text: float(len(text)))

    def asked(**arguments: Any) -> tuple[str, ...]:
        return kb.ask(QUESTION, llm=model, rerank=reranker, **arguments).queries

    assert asked()[1:] == asked()[1:] == ("query 1",)
    calls = len(reranker.requests)
    assert asked(fresh=True)[1:] == ("query 2",)
    assert len(reranker.requests) == 2 * calls > 0
    assert asked()[1:] == ("query 2",)
    assert len(reranker.requests) == 2 * calls


def test_conclusions_from_excerpts_are_fresh_too(kb: KnowledgeBase) -> None:
    model = counting("conclusions")
    options = AnswerOptions(excerpts=1)
    for fresh in (False, False, True):
        ask(kb, model, options=options, fresh=fresh)
    assert sum(request.task == "conclusions" for request in model.requests) == 2


def test_a_fresh_answer_of_several_bases_replaces_the_cached_one(kb: KnowledgeBase) -> None:
    model = counting()
    ask(kb, model)
    with two_sources() as other:

        def asked(**arguments: Any) -> str:
            return spanwise.ask(
                [other, kb], QUESTION, llm=model, write_queries=False, **arguments
            ).text

        first = asked()
        assert asked(fresh=True) != first
        assert asked() != first


def test_an_answer_without_a_checked_quote_is_not_served_again(kb: KnowledgeBase) -> None:
    invented = answer_of(statement("42.", (1, "it was 42 million")), statement("So it is."))
    good = answer_of(statement("1,577.", QUOTE))
    model = model_of(invented, good)
    assert ask(kb, model).text == "42. [1?] So it is. [?]"
    assert [ask(kb, model).text for _ in range(2)] == ["1,577. [1]"] * 2
    assert len(model.requests) == 2


def test_conclusions_without_a_checked_quote_are_not_served_again(kb: KnowledgeBase) -> None:
    model = model_of(conclusions=conclusion("It was 42.", "was 42 million"), combine=COMBINED)
    options = AnswerOptions(excerpts=1)
    for _ in range(2):
        ask(kb, model, options=options)
    assert [request.task for request in model.requests] == ["conclusions", "combine"] * 2


def test_a_refusal_stays_in_the_cache(kb: KnowledgeBase) -> None:
    refused = {"answered": False, "statements": [], "conflicts": [], "missing": ""}
    model = model_of(refused)
    assert ask(kb, model).text == ask(kb, model).text
    assert len(model.requests) == 1


def test_an_unusable_output_is_not_cached(kb: KnowledgeBase) -> None:
    model = model_of("no JSON", "no JSON", answer_of(statement("1,577.", QUOTE)))
    with pytest.raises(ModelAnswerError):
        ask(kb, model)
    assert ask(kb, model).text == "1,577. [1]"


def test_a_failed_fresh_call_keeps_the_cached_answer(kb: KnowledgeBase) -> None:
    model = model_of(answer_of(statement("1,577.", QUOTE)), "no JSON", "no JSON")
    ask(kb, model)
    with pytest.raises(ModelAnswerError):
        ask(kb, model, fresh=True)
    assert ask(kb, model).text == "1,577. [1]"


def test_the_command_asks_anew(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "spanwise.kb", embedder=None) as made:
        made.add_text(REPORT, document_id="report.md", media_type="text/markdown")
    replies = [chat(json.dumps(answer_of(statement(f"Answer {n}.", QUOTE)))) for n in "ab"]
    with ScriptedServer(replies) as server:
        llm = f"compatible:scripted@{server.url}/v1"
        arguments = ("ask", QUESTION, "--llm", llm, "--no-write-queries")
        texts = [
            read_json(*arguments, *options, folder=tmp_path)["text"]
            for options in ((), (), ("--fresh",), ())
        ]
    assert [text.split(".")[0] for text in texts] == ["Answer a"] * 2 + ["Answer b"] * 2
