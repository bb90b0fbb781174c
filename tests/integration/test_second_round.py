"""The second round of an answer: queries and texts for the missing part of the first answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pydantic
import pytest
from tests.scripted_answers import Form, answer_of, statement

import spanwise
from spanwise import AnswerOptions, KnowledgeBase, ModelOptions
from spanwise.errors import ModelError
from spanwise.knowledge_base.internals import answerer_of, store_of
from spanwise.models.dry_run import dry_run_caller
from spanwise.models.ports import ModelReply, ModelRequest
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.testing.models import ScriptedModel
from spanwise.types import Answer, Usage

QUESTION = "What did Quay Works spend on capital in 2018, and what do the pilots of Northport earn?"
SPENDING = "Capital spending of Quay Works was 1,577 million in 2018."
PILOTS = "A mooring master at the estuary receives 84,000 a year."
OTHER = "The harbour library opens at nine."
MISSING = "the pay of the pilots"
DOCUMENTS = {
    "spending": SPENDING,
    "pilots": PILOTS,
    **{f"other-{number}": f"{OTHER} Rule {number} of the reading room." for number in range(5)},
}


def add(base: KnowledgeBase, **documents: str) -> KnowledgeBase:
    """Add documents, each of a few chunks; return the knowledge base."""
    for name, text in documents.items():
        base.add_text(f"{text}\n", document_id=name)
    return base


@pytest.fixture
def kb() -> Iterator[KnowledgeBase]:
    with KnowledgeBase(":memory:", embedder=None) as made:
        yield add(made, **DOCUMENTS)


def written(*queries: str) -> Form:
    """Return queries as a model gives them."""
    return {"standalone": "", "queries": list(queries), "conditions": []}


def segment_of(request: ModelRequest, text: str) -> int:
    """Return the number of the segment that contains a text; 0 for none."""
    for number, body in re.findall(r'number="(\d+)"(.*?)</segment', request.shared, re.DOTALL):
        if text in body:
            return int(number)
    return 0


Step = Form | ModelError | Callable[[ModelRequest], Form]


def model_of(queries: list[Step], answers: list[Step], **arguments: Any) -> ScriptedModel:
    """Return a model that gives these queries and these answers in turn."""
    said = {"queries": iter(queries), "answer": iter(answers)}

    def answer(request: ModelRequest) -> str:
        step = next(said[request.task])
        if isinstance(step, ModelError):
            raise step
        return json.dumps(step(request) if callable(step) else step)

    return ScriptedModel(answer, **arguments)


def first(request: ModelRequest) -> Form:
    """Answer the first half of the question."""
    found = statement("It spent 1,577 million.", (segment_of(request, SPENDING), SPENDING))
    return answer_of(found, missing=MISSING)


def second(request: ModelRequest) -> Form:
    """Answer the second half."""
    return answer_of(statement("They earn 84,000.", (segment_of(request, PILOTS), PILOTS)))


REFUSED = {"answered": False, "statements": [], "conflicts": [], "missing": MISSING}
QUERIES: list[Step] = [written("capital spending 2018"), written("mooring master estuary")]
BOTH = "It spent 1,577 million. [1] They earn 84,000. [2]"


def tasks(model: ScriptedModel) -> list[str]:
    """Return the tasks of the requests, in order."""
    return [request.task for request in model.requests]


def ask(kb: KnowledgeBase, model: ScriptedModel, **arguments: Any) -> Answer:
    """Return the answer to the question."""
    return kb.ask(QUESTION, llm=model, **arguments)


def test_what_is_missing_is_searched_and_appended(kb: KnowledgeBase) -> None:
    model = model_of(QUERIES, [first, second])
    answer = ask(kb, model)
    assert (answer.text, answer.rounds, answer.refused) == (BOTH, 2, False)
    assert tasks(model) == ["queries", "answer", "queries", "answer"]
    assert [one.document_id for one in answer.citations] == ["spending", "pilots"]
    assert answer.queries == (QUESTION, "capital spending 2018", "mooring master estuary")
    assert not any(one.startswith("not answered") for one in answer.warnings)
    assert answer.usage.calls == 4


@pytest.mark.parametrize("streams", [False, True])
def test_a_statement_is_not_repeated(kb: KnowledgeBase, *, streams: bool) -> None:
    def both(request: ModelRequest) -> Form:
        old, new = first(request), second(request)
        return {**new, "statements": [*old["statements"], *new["statements"]]}

    model = model_of(QUERIES, [first, both])
    answer = kb.ask_stream(QUESTION, llm=model).answer if streams else ask(kb, model)
    assert (answer.text, answer.rounds) == (BOTH, 2)


def test_a_stream_takes_nothing_back(kb: KnowledgeBase) -> None:
    stream = kb.ask_stream(QUESTION, llm=model_of(QUERIES, [first, second]))
    pieces = list(stream)
    assert pieces[0].startswith("It spent 1,577 million.")
    assert "".join(pieces) == stream.answer.text == BOTH


def test_numbers_of_segments_run_on(kb: KnowledgeBase) -> None:
    """The quoted segment keeps its number; the new segment gets the next unused number."""
    model = model_of(QUERIES, [first, second])
    answer = ask(kb, model)
    _, before, _, after = model.requests
    assert segment_of(before, SPENDING) == segment_of(after, SPENDING) > 0
    assert segment_of(before, PILOTS) == 0
    assert answer.sources[segment_of(after, PILOTS) - 1].document_id == "pilots"
    assert len(answer.sources) == len({(one.document_id, one.start) for one in answer.sources})


def test_the_second_call_is_told_what_is_answered_and_what_is_missing(kb: KnowledgeBase) -> None:
    model = model_of(QUERIES, [first, second])
    ask(kb, model)
    _, before, writes, after = model.requests
    assert MISSING in writes.prompt
    assert "capital spending 2018" in writes.prompt
    assert "It spent 1,577 million." in after.prompt
    assert MISSING in after.prompt
    assert MISSING not in before.prompt


def test_an_answer_may_come_from_the_second_round_alone(kb: KnowledgeBase) -> None:
    answer = ask(kb, model_of(QUERIES, [REFUSED, second]))
    assert (answer.text, answer.refused, answer.rounds) == ("They earn 84,000. [1]", False, 2)


def test_a_refusal_names_the_queries_of_both_rounds(kb: KnowledgeBase) -> None:
    answer = ask(kb, model_of(QUERIES, [REFUSED, REFUSED]))
    assert (answer.refused, answer.rounds) == (True, 2)
    assert "capital spending 2018" in answer.text
    assert "mooring master estuary" in answer.text
    assert f"{len(answer.sources)} texts were read" in answer.text


def test_a_second_round_that_adds_nothing_leaves_the_first_answer(kb: KnowledgeBase) -> None:
    answer = ask(kb, model_of(QUERIES, [first, REFUSED]))
    assert answer.text == "It spent 1,577 million. [1]"
    assert f"not answered: {MISSING}" in answer.warnings


def test_without_a_new_chunk_there_is_no_second_call(kb: KnowledgeBase) -> None:
    model = model_of([written("capital spending 2018"), written("spending on capital")], [first])
    answer = ask(kb, model, documents=["spending"])
    assert tasks(model) == ["queries", "answer", "queries"]
    assert (answer.text, answer.rounds) == ("It spent 1,577 million. [1]", 2)
    assert "spending on capital" in answer.queries


def test_queries_that_were_searched_are_not_searched_again(kb: KnowledgeBase) -> None:
    queries: list[Step] = [written("capital spending 2018"), written("Capital spending, 2018")]
    model = model_of(queries, [first])
    answer = ask(kb, model)
    assert (tasks(model), answer.rounds) == (["queries", "answer", "queries"], 1)


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("fails", ["queries", "answer"])
def test_if_the_second_round_fails_the_first_answer_stands(
    kb: KnowledgeBase, fails: str, *, streams: bool
) -> None:
    broken = ModelError("the server hung up", provider="scripted", model="model")
    model = model_of(
        [QUERIES[0], broken if fails == "queries" else QUERIES[1]],
        [first, broken if fails == "answer" else second],
    )
    answer = kb.ask_stream(QUESTION, llm=model).answer if streams else ask(kb, model)
    assert answer.text == "It spent 1,577 million. [1]"
    assert any("the server hung up" in one for one in answer.warnings)
    assert f"not answered: {MISSING}" in answer.warnings
    assert "pilots" not in [one.document_id for one in answer.sources]


def test_the_cost_limit_holds_over_both_rounds() -> None:
    price = 0.000_001

    def answer(max_cost: float | None, rounds: int) -> Answer:
        models = ModelOptions(max_cost=max_cost)
        with KnowledgeBase(":memory:", embedder=None, models=models) as kb:
            model = model_of(QUERIES, [first, second], dollars_a_token=price)
            return ask(add(kb, **DOCUMENTS), model, options=AnswerOptions(rounds=rounds))

    spent = answer(None, 1).usage.cost or 0.0
    limit = spent + AnswerOptions().max_output_tokens * price
    limited = answer(limit, 2)
    assert limited.text == "It spent 1,577 million. [1]"
    assert any("max_cost" in one for one in limited.warnings)
    assert (limited.usage.cost or 0.0) <= limit
    assert answer(2 * limit, 2).text == BOTH


@pytest.mark.parametrize(
    "arguments",
    [{"options": AnswerOptions(rounds=1)}, {"write_queries": False}],
    ids=["one round", "no queries"],
)
def test_a_second_round_can_be_turned_off(kb: KnowledgeBase, arguments: dict[str, Any]) -> None:
    model = model_of(QUERIES, [first])
    answer = ask(kb, model, **arguments)
    assert (tasks(model)[-1], answer.rounds) == ("answer", 1)
    assert f"not answered: {MISSING}" in answer.warnings


def test_a_complete_answer_has_one_round(kb: KnowledgeBase) -> None:
    model = model_of(QUERIES, [lambda request: {**first(request), "missing": ""}])
    assert (ask(kb, model).rounds, len(model.requests)) == (1, 2)


def test_quoted_evidence_stays_within_the_budget() -> None:
    """Quoted segments take at most half of the budget of the second call."""
    long = " ".join(f"Berth {n} of the port is closed in winter." for n in range(300))
    with KnowledgeBase(":memory:", embedder=None) as kb:
        add(
            kb,
            spending=f"{SPENDING} {long}",
            **{k: v for k, v in DOCUMENTS.items() if k != "spending"},
        )
        model = model_of(QUERIES, [first, second])
        answer = kb.ask(QUESTION, llm=model, budget_tokens=600, preset="comprehensive")
        after = model.requests[-1]
        assert make_tokenizer("o200k_base").count([after.shared])[0] <= 600
        assert answer.text == BOTH


class Pay(pydantic.BaseModel):
    """Pay of the pilots."""

    amount: int


def test_a_form_that_was_not_filled_in_is_tried_again(kb: KnowledgeBase) -> None:
    def filled(request: ModelRequest) -> Form:
        quote = {"field": "amount", "segment": segment_of(request, PILOTS), "quote": PILOTS}
        return {"answered": True, "data": {"amount": 84_000}, "citations": [quote]}

    nothing: Form = {"answered": False, "data": None, "citations": []}
    answer = ask(kb, model_of(QUERIES, [nothing, filled]), answer_type=Pay)
    assert (answer.data, answer.rounds) == ({"amount": 84_000}, 2)
    assert answer.citations[0].verified


def test_several_knowledge_bases_have_a_second_round() -> None:
    with (
        KnowledgeBase(":memory:", embedder=None) as one,
        KnowledgeBase(":memory:", embedder=None) as two,
    ):
        add(one, spending=SPENDING)
        add(two, **{name: text for name, text in DOCUMENTS.items() if name != "spending"})
        model = model_of(QUERIES, [first, second])
        answer = spanwise.ask([one, two], QUESTION, llm=model)
    assert answer.text == BOTH
    assert len({cited.citation.knowledge_base for cited in answer.citations if cited.citation}) == 2


def test_a_cut_second_stream_keeps_its_statements(kb: KnowledgeBase) -> None:
    class Cut(ScriptedModel):
        def stream(self, request: ModelRequest) -> Iterator[str | ModelReply]:
            pieces = [piece for piece in super().stream(request) if isinstance(piece, str)]
            is_second = len(self.requests) == 4
            yield from pieces[: -4 if is_second else None]
            if is_second:
                raise ModelError("the server hung up", provider="scripted", model="model")
            yield ModelReply(text="".join(pieces), usage=Usage(calls=1), model=self.name)

    scripted = model_of(
        QUERIES,
        [
            first,
            lambda request: {
                **second(request),
                "statements": [
                    *second(request)["statements"],
                    statement("Half a"),
                ],
            },
        ],
    )
    answer = kb.ask_stream(QUESTION, llm=Cut(scripted.answer)).answer
    assert answer.text.startswith(BOTH)
    assert any("ends before it is complete" in one for one in answer.warnings)


def test_a_second_search_has_a_filter_of_its_own() -> None:
    with KnowledgeBase(":memory:", embedder=None) as kb:
        for year, text in ((2018, SPENDING), (2017, PILOTS)):
            kb.add_text(text, document_id=f"{year}", metadata={"year": year})
        condition = {"field": "year", "operator": "=", "values": ["2018"]}
        restricted = {**written("capital spending"), "conditions": [condition]}
        model = model_of([restricted, written("mooring master")], [first, second])
        answer = ask(kb, model)
    assert segment_of(model.requests[1], PILOTS) == 0
    assert (answer.text, answer.where) == (BOTH, "")  # of all documents that were searched


def test_warnings_about_the_second_queries_are_kept(kb: KnowledgeBase) -> None:
    queries: list[Step] = [QUERIES[0], written("mooring master estuary", "1234")]
    answer = ask(kb, model_of(queries, [first, second]))
    assert "1 of 2 written queries cannot be searched by" in answer.warnings
    assert len(set(answer.warnings)) == len(answer.warnings)


def test_an_estimate_counts_both_rounds(kb: KnowledgeBase) -> None:
    model = model_of(QUERIES, [first, second], dollars_a_token=0.000_001)
    planned = answerer_of(kb, llm=model, options=AnswerOptions())
    caller = dry_run_caller(model, cache=store_of(kb), answer_retries=0)
    replace(planned, caller=caller, is_estimate=True).answer(QUESTION)
    assert model.requests == []
    foreseen, used = caller.usage, ask(kb, model).usage
    assert (foreseen.calls - foreseen.repeated_calls, used.calls) == (4, 4)
    assert foreseen.input_tokens >= used.input_tokens
    assert (foreseen.cost or 0.0) >= (used.cost or 0.0)
    again = dry_run_caller(model, cache=store_of(kb), answer_retries=0)
    replace(planned, caller=again, is_estimate=True).answer(QUESTION)
    assert (again.usage.calls, again.usage.cached_calls) == (0, 4)
