"""Stored prompt of a question to one document, a model's report, and the list made from it."""

from __future__ import annotations

from tests.conftest import GoldenCheck
from tests.contracts import QUESTION, add_contracts, reader

from spanwise import AnswerOptions, KnowledgeBase


def test_the_prompt_and_the_list_are_those_of_the_golden_file(golden: GoldenCheck) -> None:
    model = reader()
    options = AnswerOptions(guidance="Name the period of notice.")
    with KnowledgeBase(":memory:", embedder=None) as base:
        add_contracts(base)
        answers = base.ask_each(
            QUESTION, llm=model, documents=["harbour"], options=options, write_queries=False
        )
    request = model.requests[0]
    golden(
        "harbour",
        {
            "instructions": request.instructions.splitlines(),
            "prompt": request.prompt.splitlines(),
            "schema": request.schema,
            "text": answers.text.splitlines(),
            "documents": answers.to_dict()["documents"],
        },
    )
