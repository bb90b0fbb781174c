"""Filters written by a model that leave no result, in searches and answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanwise import KnowledgeBase
from spanwise.models.ports import ModelRequest
from spanwise.testing.models import ScriptedModel
from spanwise.types import WrittenQueries

QUESTION = "How much capital did Best Buy spend in 10-K reports of 2020?"
SALES = "{} spent $ {} million of capital on its stores in the year, and opened ten stores."
WHOLE = 'company = "Best Buy" and form = "10-K" and year = 2020'


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "a.kb", embedder=None) as made:
        for at, (company, form, year) in enumerate(
            [
                ("Best Buy", "10-K", 2018),
                ("Best Buy", "10-K", 2023),
                ("Target", "10-K", 2020),
                ("Walmart", "10-K", 2020),
            ]
        ):
            made.add_text(
                SALES.format(company, 700 + at),
                document_id=f"{company} {year}",
                metadata={"company": company, "form": form, "year": year},
            )
        yield made


def written(model_filter: str, where: str = "") -> WrittenQueries:
    return WrittenQueries(
        question=QUESTION,
        standalone=QUESTION,
        more_queries=(),
        where=where or model_filter,
        model_filter=model_filter,
    )


def documents(kb: KnowledgeBase, model_filter: str, where: str = "") -> tuple[set[str], str, str]:
    """Return the documents shown, the filter that was applied, and the warning about it."""
    result = kb.search(QUESTION, more_queries=written(model_filter), where=where)
    shown = {segment.document_id for segment in result.segments}
    return shown, result.where, next(text for text in result.warnings if "filter" in text)


def test_a_search_keeps_the_company_and_says_what_it_dropped(kb: KnowledgeBase) -> None:
    shown, where, warning = documents(kb, WHOLE)
    assert shown == {"Best Buy 2018", "Best Buy 2023"}
    assert where == 'company = "Best Buy" and form = "10-K"'
    assert WHOLE in warning
    assert "without `year = 2020`" in warning


def test_conditions_of_the_user_are_never_dropped(kb: KnowledgeBase) -> None:
    shown, where, warning = documents(kb, 'company = "Best Buy"', "year = 2020")
    assert shown == {"Target 2020", "Walmart 2020"}
    assert where == "year = 2020"
    assert 'without `company = "Best Buy"`' in warning


def test_a_filter_of_the_user_that_no_document_passes_is_not_relaxed(kb: KnowledgeBase) -> None:
    shown, where, warning = documents(kb, 'company = "Best Buy"', "year = 1999")
    assert shown == set()
    assert where == "year = 1999"
    assert warning.startswith("no document passes the filter `year = 1999`")
    assert "searched without" not in warning


def test_documents_that_pass_without_any_evidence_do_not_count(kb: KnowledgeBase) -> None:
    poems: dict[str, str | int] = {"company": "Nobody", "form": "letter", "year": 2020}
    kb.add_text("Verses about the sea.", document_id="poems", metadata=poems)
    shown, where, warning = documents(kb, 'form = "letter" and year = 2020')
    assert shown == {"Target 2020", "Walmart 2020"}
    assert where == "year = 2020"
    assert warning.startswith("nothing was found with the filter")


def test_excerpts_and_explanations_are_relaxed_in_the_same_way(kb: KnowledgeBase) -> None:
    for result in (
        kb.excerpts(QUESTION, more_queries=written(WHOLE)),
        kb.explain(QUESTION, more_queries=written(WHOLE)).result,
    ):
        assert result.where == 'company = "Best Buy" and form = "10-K"'
        assert any("without `year = 2020`" in warning for warning in result.warnings)


def test_an_answer_reads_the_reports_of_the_company(kb: KnowledgeBase) -> None:
    def answer(request: ModelRequest) -> str:
        if request.task == "queries":
            conditions = [
                {"field": "company", "operator": "=", "values": ["Best Buy"]},
                {"field": "year", "operator": "=", "values": ["2020"]},
            ]
            queries = ["capital spent on stores"]
            return json.dumps({"standalone": "", "queries": queries, "conditions": conditions})
        assert "Best Buy spent" in request.shared
        assert "Target" not in request.shared
        said = {"answered": False, "statements": [], "conflicts": [], "missing": "the year 2020"}
        return json.dumps(said)

    answered = kb.ask(QUESTION, llm=ScriptedModel(answer))
    assert answered.where == 'company = "Best Buy"'
    assert any("searched without `year = 2020`" in warning for warning in answered.warnings)
    assert 'where company = "Best Buy"' in answered.text
