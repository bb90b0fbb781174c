"""Evaluation reports of the server, and the order of its list of documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from tests.evaluations import made_evaluation
from tests.integration.commands import spanwise
from tests.integration.test_server import bearer, call, problem

from spanwise import KnowledgeBase
from spanwise.errors import OptionError
from spanwise.evaluation.report import archive_report, summarise
from spanwise.server.app import app_of
from spanwise.server.keys import KeyRing, add_key, read_keys

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
KB = "/v1/knowledge-bases/reports"


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "reports.kb") as opened:
        yield opened


@pytest.fixture
def app(base: KnowledgeBase) -> FastAPI:
    return app_of({"reports": base})


def test_a_report_that_was_kept_is_served(
    base: KnowledgeBase, app: FastAPI, tmp_path: Path
) -> None:
    base.add(EXAMPLES / "reports")
    assert call(app, "GET", f"{KB}/evaluations").json()["evaluations"] == []
    questions = str(EXAMPLES / "questions.jsonl")
    options = ("--budget", "100", "--limit", "8", "--keep")
    done = spanwise("eval", questions, "--kb", "reports.kb", *options, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    listed = call(app, "GET", f"{KB}/evaluations").json()
    assert listed["total"] == 1
    row = listed["evaluations"][0]
    assert (row["questions"], row["metric"]) == (8, "recall")
    assert row["retrievers"] == ["bm25+headers", "top-k+headers", "exact+headers"]
    response = call(app, "GET", f"{KB}/evaluations/{row['name']}")
    report = response.json()
    figure = report["figures"][0]
    assert figure["metrics"]["recall"]["low"] <= figure["metrics"]["recall"]["mean"]
    assert {"text", "evidence", "values"} <= set(report["questions"][0])
    assert report["comparisons"][0]["sentence"]
    assert str(tmp_path) not in response.text


def test_reports_are_listed_newest_first(base: KnowledgeBase, app: FastAPI, tmp_path: Path) -> None:
    summary = summarise(made_evaluation(6))
    names = {archive_report(base, summary).name for _ in range(3)}
    assert len(names) == 3
    (tmp_path / "reports.kb.evaluations" / "broken.json").write_text("[", encoding="utf-8")
    listed = call(app, "GET", f"{KB}/evaluations?limit=3&offset=1").json()["evaluations"]
    assert [one["name"] for one in listed] == sorted(names, reverse=True)


@pytest.mark.parametrize("name", ["missing", "..%2F..%2Fkeys", "%2e%2e", "a" * 300, "truth.db"])
def test_other_files_are_no_reports(app: FastAPI, name: str) -> None:
    assert problem(call(app, "GET", f"{KB}/evaluations/{name}"), 404)["code"] in (
        "evaluation_not_found",
        "not_found",
    )


def test_reports_need_a_key_that_sees_all_documents(base: KnowledgeBase, tmp_path: Path) -> None:
    name = archive_report(base, summarise(made_evaluation(6))).name
    file = tmp_path / "keys.json"
    full = add_key(file, "full", role="read")
    filtered = add_key(file, "filtered", role="admin", where='team = "hr"')
    other = add_key(file, "other", role="admin", knowledge_bases=["else"])
    guarded = app_of({"reports": base}, keys=KeyRing(read_keys(file)))
    for place in (f"{KB}/evaluations", f"{KB}/evaluations/{name}"):
        assert call(guarded, "GET", place, headers=bearer(full)).status_code == 200
        assert problem(call(guarded, "GET", place), 401)
        assert problem(call(guarded, "GET", place, headers=bearer(filtered)), 403)
        assert problem(call(guarded, "GET", place, headers=bearer(other)), 404)
    rights = call(guarded, "GET", "/v1/knowledge-bases", headers=bearer(filtered)).json()
    assert (rights["role"], rights["restricted"]) == ("admin", True)
    rights = call(guarded, "GET", "/v1/knowledge-bases", headers=bearer(full)).json()
    assert (rights["role"], rights["restricted"]) == ("read", False)


def test_a_knowledge_base_in_memory_has_no_archive() -> None:
    with KnowledgeBase(":memory:") as base:
        app = app_of({"reports": base})
        assert call(app, "GET", f"{KB}/evaluations").json()["total"] == 0
        assert problem(call(app, "GET", f"{KB}/evaluations/any"), 404)
        with pytest.raises(OptionError, match="write_reports"):
            archive_report(base, summarise(made_evaluation(6)))


def test_documents_are_found_by_words_and_sorted(base: KnowledgeBase, app: FastAPI) -> None:
    for number, title in enumerate(["Quay", "harbour", "Pier"]):
        base.add_text(
            f"A note. {'More. ' * number}",
            document_id=f"notes/{number}.md",
            title=title,
            metadata={"team": "ports" if number else "roads"},
        )

    def titles(query: str) -> list[str]:
        found = call(app, "GET", f"{KB}/documents?{query}").json()["documents"]
        return [one["title"] for one in found]

    assert titles("") == ["Quay", "harbour", "Pier"]
    assert titles("sort=title") == ["harbour", "Pier", "Quay"]
    assert titles("sort=chars&descending=true") == ["Pier", "harbour", "Quay"]
    assert titles("words=PORTS notes/") == ["harbour", "Pier"]
    assert titles("words=harb&where=team = 'roads'") == []
    assert titles("sort=title&offset=1&limit=1") == ["Pier"]
    assert problem(call(app, "GET", f"{KB}/documents?sort=size"), 422)
    for number in (10, 9):
        base.add_text("A minute.", document_id=f"{number}.md", title=f"Minutes {number}")
    assert titles("sort=title&words=minutes") == ["Minutes 9", "Minutes 10"]


def test_the_files_of_the_page_are_sent_once(app: FastAPI) -> None:
    first = call(app, "GET", "/app.js")
    tag = first.headers["etag"]
    again = call(app, "GET", "/app.js", headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert "content-security-policy" in again.headers
    assert call(app, "GET", "/app.js", headers={"If-None-Match": '"other"'}).status_code == 200
