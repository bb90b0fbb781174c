"""Explain views of the questions with the worst results, next to the report.

Rules:
    A view shows the search that was measured, with its preset, reranker, tuning and headers. Only
    searches that choose segments exactly can be explained; other methods have no views.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from spanwise.errors import ModelError, OptionError
from spanwise.evaluation.metrics import METRICS
from spanwise.evaluation.retrievers.factory import make_explainable
from spanwise.evaluation.retrievers.methods import Method, read_method

if TYPE_CHECKING:
    from spanwise.evaluation.dataset import LabelledQuestion
    from spanwise.evaluation.report.summary import Summary
    from spanwise.evaluation.retrievers import EvaluationContext


_VIEW = re.compile(r"[0-9]{3,}\.html")


def explained_methods(summary: Summary) -> Iterator[Method]:
    """Yield the measured methods that have explain views, in their order."""
    for name in summary.evaluation.retrievers:
        try:
            method = read_method(name)
        except OptionError:  # somebody else's retriever
            continue
        if method.way == "exact" and method.name == name:
            yield method


def write_views(
    summary: Summary, contexts: Mapping[str, EvaluationContext], page: Path, *, views: int
) -> dict[tuple[str, str, str], str]:
    """Write the explain views of the questions with the lowest metric, and return their addresses.

    The questions are those with the lowest metric of the first method with views at the smallest
    budget. Each has a view for every such method at that budget.

    Args:
        summary: The figures.
        contexts: Contexts of the evaluation, by dataset.
        page: Path of the report. The views are written to a folder next to it.
        views: Maximum number of questions.

    Returns:
        Address of each view relative to the page, by dataset, id of the question and method.
    """
    methods = list(explained_methods(summary))
    folder = page.with_name(f"{page.stem}-explain")
    _remove_views(folder)
    if not methods or not views:
        return {}
    budget = summary.evaluation.budgets[0]
    addresses: dict[tuple[str, str, str], str] = {}
    worst = _worst(summary, methods[0].name)[:views]
    for method in methods:
        made = {name: make_explainable(method, context) for name, context in contexts.items()}
        for dataset, question in worst:
            try:
                explanation = made[dataset].explain(
                    question.text, budget_tokens=budget, documents=question.scope
                )
            # The best chunk stood in for segments, or what a reranker said is not kept any more.
            except (OptionError, ModelError):
                continue
            folder.mkdir(parents=True, exist_ok=True)
            name = f"{len(addresses) + 1:03}.html"
            (folder / name).write_bytes(explanation.to_html().encode("utf-8"))
            addresses[dataset, question.id, method.name] = f"{quote(folder.name)}/{name}"
    return addresses


def _remove_views(folder: Path) -> None:
    """Remove the views of an earlier report, which would be taken for those of this run."""
    if folder.is_dir():
        for path in folder.iterdir():
            if _VIEW.fullmatch(path.name):
                path.unlink()


def drawing_commands(
    summary: Summary, *, reranker: str = "", tuning: Path | None = None
) -> dict[str, str]:
    """Return the begin of the command that draws an explain view, by method.

    Methods without views are left out. The text is empty if no command draws the view: without
    headers, a copy of the knowledge base is searched. The command differs from the view in one
    respect: the headers of segments count too, as in any search.

    Args:
        summary: The figures.
        reranker: Name of the reranker of methods with "+rerank".
        tuning: File of the tuning of methods with "+tuned".
    """
    commands: dict[str, str] = {}
    for method in explained_methods(summary):
        words = ["spanwise", "explain", "--open", "--budget", str(summary.evaluation.budgets[0])]
        words += ["--tokenizer", summary.evaluation.tokenizer]
        if method.preset is not None:
            words += ["--preset", method.preset]
        if method.rerank:
            words += ["--rerank", reranker]
        if method.tuned:
            words += ["--tuning", str(tuning)]
        commands[method.name] = shlex.join(words) if method.headers else ""
    return commands


def question_words(summary: Summary, paths: Mapping[str, Path]) -> dict[tuple[str, str], str]:
    """Return the end of this command for each question, by dataset and id.

    Args:
        summary: The figures.
        paths: Folders of the knowledge bases, by dataset; questions of other datasets have no
            command.
    """
    ends: dict[tuple[str, str], str] = {}
    for one in summary.evaluation.scores:
        path = paths.get(one.dataset)
        if path is not None:
            words = ["--kb", str(path)]
            for document in one.question.scope or ():
                words += ["-d", document]
            # What begins with a dash would be read as an option.
            words += ["--"] * one.question.text.startswith("-") + [one.question.text]
            ends[one.dataset, one.question.id] = shlex.join(words)
    return ends


def _worst(summary: Summary, method: str) -> list[tuple[str, LabelledQuestion]]:
    """Return the questions that have the metric, worst first; ties keep their order."""
    sign = -1 if METRICS[summary.metric].higher_is_better is False else 1
    budget = summary.evaluation.budgets[0]
    rows = [
        one
        for one in summary.evaluation.scores
        if (one.retriever, one.budget_tokens) == (method, budget) and summary.metric in one.metrics
    ]
    rows.sort(key=lambda one: sign * one.metrics[summary.metric])
    return [(one.dataset, one.question) for one in rows]
