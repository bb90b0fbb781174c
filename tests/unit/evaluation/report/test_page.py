"""The page of a report, as text: its policy, its data, its size."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from tests.evaluations import made_evaluation, made_texts

from spanwise.evaluation.dataset import DocumentText, Evidence
from spanwise.evaluation.report import ReportExtras, report_page, summarise
from spanwise.evaluation.report.report_page import render_page
from spanwise.evaluation.results import Evaluation
from spanwise.evaluation.retrieval import Retrieved

HOSTILE = "</script><img src=x onerror=alert(1)><script>alert(1)//"


def data_of(page: str) -> Any:
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(found)


def page_of(evaluation: Evaluation, beside: ReportExtras | None = None) -> str:
    return render_page(summarise(evaluation), beside or ReportExtras())


def changed(evaluation: Evaluation, **fields: Any) -> Evaluation:
    """Return an evaluation with fields of all questions set."""
    return replace(
        evaluation,
        scores=tuple(
            replace(one, question=replace(one.question, **fields)) for one in evaluation.scores
        ),
    )


def test_the_policy_names_its_own_script_and_style_alone() -> None:
    page = page_of(made_evaluation(6))
    for kind, tag in (("script", '<script type="module">'), ("style", "<style>")):
        text = page.partition(tag)[2].partition(f"</{kind}>")[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=[\"'](?!#)", page)


def test_text_of_documents_ends_no_element() -> None:
    evaluation = changed(
        made_evaluation(6, datasets=[HOSTILE]),
        text=HOSTILE,
        answer=HOSTILE,
        metadata={HOSTILE: HOSTILE},
        evidence=(Evidence(document_id=HOSTILE, text=HOSTILE),),
    )
    page = page_of(evaluation)
    assert "<img" not in page
    assert page.count("<script") == page.count("</script>") == 2
    data = data_of(page)
    assert data["questions"][0]["text"] == data["datasets"][0] == HOSTILE
    assert HOSTILE in data["documents"]


def test_rows_stand_by_question_method_and_budget() -> None:
    evaluation = made_evaluation(4)
    data = data_of(page_of(evaluation))
    assert len(data["rows"]) == 4 * len(data["retrievers"]) * len(data["budgets"])
    recall = [one["name"] for one in data["metrics"]].index("recall")
    for number, question in enumerate(data["questions"]):
        for at, name in enumerate(data["retrievers"]):
            for place, budget in enumerate(data["budgets"]):
                row = data["rows"][(number * 3 + at) * 2 + place]
                (scored,) = evaluation.select(
                    retriever=name, budget_tokens=budget, question=question["id"]
                ).scores
                assert row["values"][recall] == scored.metrics["recall"]
                assert len(row["places"]) == len(scored.found)


def test_a_search_that_is_missing_is_a_row_without_figures() -> None:
    evaluation = made_evaluation(6)
    data = data_of(page_of(replace(evaluation, scores=evaluation.scores[:-1])))
    assert data["rows"][-1] is None
    assert len(data["rows"]) == 36


def test_texts_of_documents_stand_beside_places() -> None:
    texts = made_texts()
    evaluation = made_evaluation(4, datasets=["filings"])
    data = data_of(page_of(evaluation, ReportExtras(texts={"filings": texts})))
    evidence = data["questions"][0]["evidence"][0]
    document = texts[data["documents"][evidence["document"]]]
    assert evidence["text"] == document.text[evidence["start"] : evidence["end"]]
    row = data["rows"][0]
    number, start, end = row["places"][0]
    expected = texts[data["documents"][number]].text[start:end]
    assert row["texts"][0] == " ".join(expected.split())


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (Retrieved(document_id="a", start=3, end=9), [0, 3, 9]),
        (Retrieved(document_id="a", pages=(2, 4)), [0, 2, 4, 1]),
        (Retrieved(document_id="a"), [0]),
        (Retrieved(document_id="", text="nowhere"), [-1]),
    ],
)
def test_each_kind_of_place_has_its_form(found: Retrieved, place: list[int]) -> None:
    evaluation = changed(made_evaluation(2, methods={"one": 0.5}), evidence=())
    scores = tuple(replace(one, found=(found,)) for one in evaluation.scores)
    data = data_of(page_of(replace(evaluation, scores=scores)))
    assert data["rows"][0]["places"] == [place]


def test_many_questions_stay_below_the_limit_and_are_marked_as_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The page counts the texts that it does not list, and marks evidence that it cuts."""
    monkeypatch.setattr(report_page, "_MAX_BYTES", 500_000)
    evaluation = made_evaluation(50, datasets=["filings"])
    places = tuple(Retrieved(document_id="long.txt", start=at, end=at + 800) for at in range(80))
    evidence = (Evidence(document_id="long.txt", start=0, end=5_000),)
    evaluation = changed(evaluation, evidence=evidence)
    evaluation = replace(
        evaluation, scores=tuple(replace(one, found=places) for one in evaluation.scores)
    )
    texts = {"filings": {"long.txt": DocumentText(text="wheat and rye " * 1_000)}}
    page = page_of(evaluation, ReportExtras(texts=texts))
    assert len(page.encode()) <= 500_000
    data = data_of(page)
    assert len(data["questions"]) == 50
    row = data["rows"][0]
    assert row["more"] + len(row["places"]) == 80
    assert data["questions"][0]["evidence"][0]["isCut"]


def test_the_best_method_is_shown_first() -> None:
    data = data_of(page_of(made_evaluation(30, methods={"poor": 0.2, "good": 0.7})))
    assert data["retrievers"][data["best"]] == "good"


def test_warnings_that_differ_in_numbers_are_told_once() -> None:
    evaluation = made_evaluation(4, methods={"one": 0.5}, budgets=(500,))
    scores = tuple(
        replace(one, warnings=(f"no room for {number} tokens",))
        for number, one in enumerate(evaluation.scores)
    )
    data = data_of(page_of(replace(evaluation, scores=scores)))
    assert data["notices"] == ["one: no room for 0 tokens (4 such warnings)"]
    assert data["rows"][3]["warnings"] == ["no room for 3 tokens"]
