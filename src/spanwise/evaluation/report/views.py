"""Explain pages for the questions with the worst results, written next to the report.

Rules:
    A page explains the measured search, with the same preset, reranker, tuning and headers. Only
    the method "exact" can be explained; other methods have no pages.
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
    from spanwise.config import Location
    from spanwise.evaluation.dataset import LabelledQuestion
    from spanwise.evaluation.report.summary import Summary
    from spanwise.evaluation.retrievers import EvaluationContext


_VIEW = re.compile(r"[0-9]{3,}\.html")


def explained_methods(summary: Summary) -> Iterator[Method]:
    """Yield the measured methods that can be explained, in the order of the run."""
    for name in summary.evaluation.retrievers:
        try:
            method = read_method(name)
        except OptionError:  # an external retriever
            continue
        if method.way == "exact" and method.name == name:
            yield method


def write_views(
    summary: Summary, contexts: Mapping[str, EvaluationContext], page: Path, *, views: int
) -> dict[tuple[str, str, str], str]:
    """Write the explain pages of the questions with the worst results.

    Questions are ranked by the metric of the first explainable method at the smallest budget. For
    each question, one page is written per explainable method.

    Args:
        summary: Figures and measurements.
        contexts: Contexts of the evaluation, by dataset.
        page: Path of the report. The pages are written to a folder next to it.
        views: Maximum number of questions.

    Returns:
        Address of each page relative to the report, by dataset, question id and method.
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
            # The budget is smaller than every chunk, or a reranker output is no longer cached.
            except (OptionError, ModelError):
                continue
            folder.mkdir(parents=True, exist_ok=True)
            name = f"{len(addresses) + 1:03}.html"
            (folder / name).write_bytes(explanation.to_html().encode("utf-8"))
            addresses[dataset, question.id, method.name] = f"{quote(folder.name)}/{name}"
    return addresses


def _remove_views(folder: Path) -> None:
    """Remove the explain pages of an earlier report from the folder."""
    if folder.is_dir():
        for path in folder.iterdir():
            if _VIEW.fullmatch(path.name):
                path.unlink()


def drawing_commands(
    summary: Summary, *, reranker: str = "", tuning: Path | None = None
) -> dict[str, str]:
    """Return the first part of the command that writes an explain page, by method.

    The text is empty for methods without headers: they search a temporary copy of the knowledge
    base. Unlike the evaluation, the command also counts the tokens of segment headers.

    Args:
        summary: Figures and measurements.
        reranker: Name of the reranker of methods with "+rerank".
        tuning: Tuning file of methods with "+tuned".
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


def question_words(summary: Summary, paths: Mapping[str, Location]) -> dict[tuple[str, str], str]:
    """Return the last part of the explain command for each question, by dataset and question id.

    Args:
        summary: Figures and measurements.
        paths: Places of the knowledge bases, by dataset. Questions of other datasets are left out.
    """
    ends: dict[tuple[str, str], str] = {}
    for score in summary.evaluation.scores:
        path = paths.get(score.dataset)
        if path is not None:
            words = ["--kb", str(path)]
            for document in score.question.scope or ():
                words += ["-d", document]
            # Without "--", a question that begins with a dash would be parsed as an option.
            words += ["--"] * score.question.text.startswith("-") + [score.question.text]
            ends[score.dataset, score.question.id] = shlex.join(words)
    return ends


def _worst(summary: Summary, method: str) -> list[tuple[str, LabelledQuestion]]:
    """Return the questions that have the metric, worst first. Ties keep the order of the run."""
    sign = -1 if METRICS[summary.metric].higher_is_better is False else 1
    budget = summary.evaluation.budgets[0]
    rows = [
        score
        for score in summary.evaluation.scores
        if (score.retriever, score.budget_tokens) == (method, budget)
        and summary.metric in score.metrics
    ]
    rows.sort(key=lambda one: sign * one.metrics[summary.metric])
    return [(row.dataset, row.question) for row in rows]
