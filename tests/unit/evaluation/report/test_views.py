"""Explain views beside a report, and the commands that draw the others."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.evaluations import made_evaluation
from tests.explanations import QUESTION, filled_base

from spanwise import KnowledgeBase
from spanwise.evaluation.report import Summary, summarise, view_commands, write_views
from spanwise.evaluation.report.views import explained_method


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with filled_base(2) as opened:
        yield opened


def summary_of(**methods: float) -> Summary:
    names = {name.replace("_", "-").replace("--", "+"): part for name, part in methods.items()}
    evaluation = made_evaluation(6, datasets=["mill"], methods=names, budgets=(600, 900))
    return summarise(
        replace(
            evaluation,
            tokenizer="o200k_base",
            scores=tuple(
                replace(one, question=replace(one.question, text=f"{QUESTION} {one.question.id}"))
                for one in evaluation.scores
            ),
        )
    )


def test_the_worst_questions_have_their_views(base: KnowledgeBase, tmp_path: Path) -> None:
    summary = summary_of(bm25=0.5, exact__headers=0.5)
    page = tmp_path / "my report.html"
    addresses = write_views(summary, {"mill": base}, page, views=2)
    recalls = {
        one.question.id: one.metrics["recall"]
        for one in summary.evaluation.select(retriever="exact+headers", budget_tokens=600).scores
    }
    worst = sorted(recalls, key=lambda identity: recalls[identity])[:2]
    assert [identity for _, identity in addresses] == worst
    assert set(addresses.values()) == {f"my%20report-explain/00{place}.html" for place in (1, 2)}
    written = (tmp_path / "my report-explain" / "001.html").read_text("utf-8")
    assert f"{QUESTION} {worst[0]}" in written
    assert '"budget":600' in written


@pytest.mark.parametrize(
    ("names", "explained"),
    [
        (["top-k+headers", "exact:precise+headers", "exact+headers"], "exact:precise+headers"),
        (["exact", "exact+headers+rerank", "exact+headers+tuned", "greedy+headers"], None),
    ],
)
def test_views_are_of_exact_search_as_it_is_by_default(
    names: list[str], explained: str | None
) -> None:
    summary = summarise(made_evaluation(4, methods=dict.fromkeys(names, 0.5)))
    assert explained_method(summary) == explained


def test_none_are_written_where_none_are_wanted(base: KnowledgeBase, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert write_views(summary_of(exact__headers=0.5), {"mill": base}, page, views=0) == {}
    assert write_views(summary_of(bm25=0.5), {"mill": base}, page, views=3) == {}
    assert list(tmp_path.iterdir()) == []


def test_views_of_an_earlier_report_do_not_stay(base: KnowledgeBase, tmp_path: Path) -> None:
    summary, page = summary_of(exact__headers=0.5), tmp_path / "report.html"
    write_views(summary, {"mill": base}, page, views=3)
    folder = tmp_path / "report-explain"
    (folder / "mine.html").touch()
    write_views(summary, {"mill": base}, page, views=1)
    assert sorted(one.name for one in folder.iterdir()) == ["001.html", "mine.html"]
    write_views(summary, {"mill": base}, page, views=0)
    assert [one.name for one in folder.iterdir()] == ["mine.html"]


def test_a_command_draws_what_the_views_draw() -> None:
    summary = summarise(
        replace(
            made_evaluation(4, datasets=["mill"], methods={"exact:precise+headers": 0.5}),
            tokenizer="o200k_base",
        )
    )
    words = shlex.split(view_commands(summary, {"mill": Path("mill.kb")})["mill", "q0"])
    assert words[words.index("--preset") + 1] == "precise"
    assert words[words.index("--tokenizer") + 1] == "o200k_base"


def test_a_command_can_be_pasted_whatever_the_question() -> None:
    summary = summary_of(exact__headers=0.5)
    text = "--kb 'x'; $(rm) \"y\"?"
    scores = tuple(
        replace(one, question=replace(one.question, text=text, scope=("a b.txt",)))
        for one in summary.evaluation.scores
    )
    summary = summarise(replace(summary.evaluation, scores=scores))
    commands = view_commands(summary, {"mill": Path("my reports.kb")})
    words = shlex.split(commands["mill", "q0"])
    assert words[:2] == ["spanwise", "explain"]
    assert words[-2:] == ["--", text]
    assert words[words.index("--kb") + 1] == "my reports.kb"
    assert words[words.index("-d") + 1] == "a b.txt"
    assert view_commands(summary, {}) == {}
