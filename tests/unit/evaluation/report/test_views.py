"""Explain views beside a report, and the commands that draw the others."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.evaluations import made_evaluation
from tests.explanations import QUESTION, filled_base

from spanwise import KnowledgeBase
from spanwise.evaluation.report import (
    Summary,
    drawing_commands,
    question_words,
    summarise,
    write_views,
)
from spanwise.evaluation.retrievers import EvaluationContext
from spanwise.options import SegmentOptions
from spanwise.search.shipped_model import shipped_model
from spanwise.search.tuned_options import Measured, Tuning
from spanwise.testing.models import ScriptedReranker


@pytest.fixture(scope="module")
def base() -> Iterator[KnowledgeBase]:
    with filled_base(2) as opened:
        yield opened


NOTHING_MEASURED = Measured(questions=10, source="labelled", is_shown=False, figures=())


def summary_of(**methods: float) -> Summary:
    return summary_of_names(
        [name.replace("_", "-").replace("--", "+") for name in methods], budgets=(600, 900)
    )


def summary_of_names(names: Sequence[str], *, budgets: Sequence[int] = (600,)) -> Summary:
    methods = dict.fromkeys(names, 0.5)
    evaluation = made_evaluation(6, datasets=["mill"], methods=methods, budgets=budgets)
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
    addresses = write_views(summary, {"mill": EvaluationContext(base)}, page, views=2)
    recalls = {
        one.question.id: one.metrics["recall"]
        for one in summary.evaluation.select(retriever="exact+headers", budget_tokens=600).scores
    }
    worst = sorted(recalls, key=lambda identity: recalls[identity])[:2]
    assert list(addresses) == [("mill", identity, "exact+headers") for identity in worst]
    assert set(addresses.values()) == {f"my%20report-explain/00{place}.html" for place in (1, 2)}
    written = (tmp_path / "my report-explain" / "001.html").read_text("utf-8")
    assert f"{QUESTION} {worst[0]}" in written
    assert '"budget":600' in written


def test_every_exact_search_that_was_measured_is_explained(
    base: KnowledgeBase, tmp_path: Path
) -> None:
    """With its preset, reranker and tuning, and without headers from the copy that has none."""
    asked: list[str] = []

    def rate(query: str, _text: str) -> float:
        asked.append(query)
        return 1.0

    tuning = Tuning(
        model=shipped_model(),
        segments=SegmentOptions.COMPREHENSIVE,
        embedder=base.info().settings["embedder"],
        measured=NOTHING_MEASURED,
    )
    names = ["exact", "exact:precise+headers", "exact+headers+rerank", "exact+headers+tuned"]
    others = ["bm25", "excerpts+headers", "greedy+headers", "exact_of_mine"]
    summary = summary_of_names([*others, *names])
    with EvaluationContext(base, reranker=ScriptedReranker(rate), tuning=tuning) as context:
        addresses = write_views(summary, {"mill": context}, tmp_path / "r.html", views=2)
    questions = list(dict.fromkeys(identity for _, identity, _ in addresses))
    assert set(addresses) == {("mill", one, name) for one in questions for name in names}
    assert len(questions) == 2
    assert len(set(addresses.values())) == 8
    written = {
        name: (tmp_path / addresses["mill", questions[0], name]).read_text("utf-8")
        for name in names
    }
    assert len(set(written.values())) == 4
    assert asked


def test_a_budget_in_which_no_chunk_fits_has_no_view(base: KnowledgeBase, tmp_path: Path) -> None:
    summary = summary_of_names(["exact+headers"], budgets=(1,))
    views = write_views(summary, {"mill": EvaluationContext(base)}, tmp_path / "r.html", views=2)
    assert views == {}


def test_none_are_written_where_none_are_wanted(base: KnowledgeBase, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert (
        write_views(
            summary_of(exact__headers=0.5), {"mill": EvaluationContext(base)}, page, views=0
        )
        == {}
    )
    assert write_views(summary_of(bm25=0.5), {"mill": EvaluationContext(base)}, page, views=3) == {}
    assert list(tmp_path.iterdir()) == []


def test_views_of_an_earlier_report_do_not_stay(base: KnowledgeBase, tmp_path: Path) -> None:
    summary, page = summary_of(exact__headers=0.5), tmp_path / "report.html"
    write_views(summary, {"mill": EvaluationContext(base)}, page, views=3)
    folder = tmp_path / "report-explain"
    (folder / "mine.html").touch()
    write_views(summary, {"mill": EvaluationContext(base)}, page, views=1)
    assert sorted(one.name for one in folder.iterdir()) == ["001.html", "mine.html"]
    write_views(summary, {"mill": EvaluationContext(base)}, page, views=0)
    assert [one.name for one in folder.iterdir()] == ["mine.html"]


def test_a_command_draws_what_the_views_draw() -> None:
    names = ["bm25", "exact", "exact:precise+headers", "exact+headers+rerank+tuned"]
    commands = drawing_commands(
        summary_of_names(names), reranker="cohere:rerank-v3.5", tuning=Path("my tuned.toml")
    )
    assert (list(commands), commands["exact"]) == (names[1:], "")
    precise, other = (shlex.split(commands[name]) for name in names[2:])
    assert precise == [
        *("spanwise", "explain", "--open", "--budget", "600", "--tokenizer", "o200k_base"),
        *("--preset", "precise"),
    ]
    assert other[-4:] == ["--rerank", "cohere:rerank-v3.5", "--tuning", "my tuned.toml"]


def test_a_command_can_be_pasted_whatever_the_question() -> None:
    summary = summary_of(exact__headers=0.5)
    text = "--kb 'x'; $(rm) \"y\"?"
    scores = tuple(
        replace(one, question=replace(one.question, text=text, scope=("a b.txt",)))
        for one in summary.evaluation.scores
    )
    summary = summarise(replace(summary.evaluation, scores=scores))
    ends = question_words(summary, {"mill": Path("my reports.kb")})
    words = shlex.split(ends["mill", "q0"])
    assert words[-2:] == ["--", text]
    assert words[words.index("--kb") + 1] == "my reports.kb"
    assert words[words.index("-d") + 1] == "a b.txt"
    assert question_words(summary, {}) == {}
