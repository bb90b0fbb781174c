"""Kept prompts, answers as a capable model writes them, and what is used of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pytest
from tests.conftest import GoldenCheck
from tests.filing_records import as_answer, filing, filings, turn

from spanwise.models.caller import ModelCaller
from spanwise.models.prompts.queries import QueryTask, request_queries
from spanwise.options import QueryOptions
from spanwise.testing.models import ScriptedModel
from spanwise.types import DocumentRecord, Turn


@dataclass(frozen=True, kw_only=True)
class Case:
    """A question, and what a capable model answers."""

    question: str
    queries: Sequence[str]
    standalone: str = ""
    conditions: Sequence[Mapping[str, object]] = ()
    guidance: str = ""
    missing: str = ""
    searched: Sequence[str] = ()
    history: Sequence[Turn] = ()
    records: Sequence[DocumentRecord] = tuple(filings())


GERMAN = [
    replace(
        filing("Hafenwerke", year, form="Geschäftsbericht"),
        title=f"Hafenwerke Geschäftsbericht {year}",
        language="de",
    )
    for year in (2022, 2023)
]
CASES = {
    "years": Case(
        question="How did 3M's capital spending change from 2016 to 2018, and why?",
        queries=[
            "3M 10-K 2018 purchases of property, plant and equipment cash flows from investing",
            "3M capital spending priorities growth productivity discussion of liquidity",
        ],
        conditions=[
            {"field": "company", "operator": "=", "values": ["3M"]},
            {"field": "fiscal_year", "operator": "=", "values": ["2018"]},
        ],
    ),
    "comparison": Case(
        question="Compare the cloud revenue of Amazon and Microsoft",
        queries=[
            "Amazon Web Services segment net sales",
            "Microsoft Intelligent Cloud revenue, server products and cloud services",
        ],
        conditions=[
            {"field": "company", "operator": "=", "values": ["Amazon.com", "Microsoft"]},
        ],
    ),
    "one-document": Case(
        question="What does the 10-K of Apple for 2018 say about tariffs?",
        queries=["Apple risk factors international trade disputes duties import restrictions"],
        conditions=[
            {"field": "company", "operator": "=", "values": ["Apple"]},
            {"field": "form", "operator": "=", "values": ["10-K"]},
            {"field": "fiscal_year", "operator": "=", "values": ["2018"]},
        ],
    ),
    "follow-up": Case(
        question="And how much of that was in the United States in 2018?",
        standalone="How much of 3M's capital spending was in the United States in 2018?",
        queries=[
            "3M capital spending by geographic area United States 2018",
            "3M property, plant and equipment, net, United States December 31 2018",
        ],
        conditions=[
            {"field": "company", "operator": "=", "values": ["3M"]},
            {"field": "fiscal_year", "operator": "=", "values": ["2018"]},
        ],
        history=[
            turn(
                "How did 3M's capital spending change from 2016 to 2018?",
                "It rose from $1,420 million in 2016 [1] to $1,577 million in 2018 [2].",
            )
        ],
    ),
    "second-round": Case(
        question="What did 3M spend on capital in 2018, and what will it spend in 2019?",
        queries=["3M outlook 2019 expected capital spending"],
        conditions=[],
        missing="the capital spending expected for 2019",
        searched=["3M purchases of property, plant and equipment 2018"],
    ),
    "german": Case(
        question="Warum ist der Umschlag der Hafenwerke 2023 gesunken?",
        queries=[
            "Hafenwerke Containerumschlag 2023 Rückgang gegenüber Vorjahr",
            "Ursachen Ladungsrückgang Konjunktur Streik Niedrigwasser 2023",
        ],
        conditions=[{"field": "fiscal_year", "operator": "=", "values": ["2023"]}],
        guidance="Umschlag heißt Tonnen und TEU.",
        records=GERMAN,
    ),
    "plain": Case(
        question="Why do whales sing?",
        queries=["function of whale song in mating and communication"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_prompt_and_use_of_a_good_answer(name: str, golden: GoldenCheck) -> None:
    case = CASES[name]
    answer = as_answer(case.queries, standalone=case.standalone, conditions=case.conditions)
    model = ScriptedModel(lambda _: answer)
    asked = QueryTask(
        question=case.question,
        options=QueryOptions(guidance=case.guidance),
        records=case.records,
        history=case.history,
        missing=case.missing,
        searched=case.searched,
    )
    found = request_queries(asked, caller=ModelCaller(model=model))
    (request,) = model.requests
    assert found.warnings == ()
    assert found.queries == tuple(case.queries)
    golden(
        name,
        {
            "prompt": request.prompt.split("\n"),
            "answer": answer,
            "standalone": found.standalone,
            "queries": found.queries,
            "where": None if found.where is None else str(found.where),
        },
    )


def test_instructions_and_form(golden: GoldenCheck) -> None:
    model = ScriptedModel(lambda _: as_answer(["a query"]))
    asked = QueryTask(question="Why?", options=QueryOptions(), records=())
    request_queries(asked, caller=ModelCaller(model=model))
    (request,) = model.requests
    assert request.answer is not None
    golden(
        "instructions",
        {
            "instructions": request.instructions.split("\n"),
            "form": request.answer.model_json_schema(),
        },
    )
