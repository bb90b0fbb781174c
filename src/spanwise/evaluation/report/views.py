"""The explain views of the questions that a method did worst on, beside the report."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from spanwise.evaluation.metrics import METRICS

if TYPE_CHECKING:
    from spanwise.evaluation.dataset import LabelledQuestion
    from spanwise.evaluation.report.summary import Summary
    from spanwise.knowledge_base import KnowledgeBase

__all__ = ["view_commands", "write_views"]

_WAY = "exact"
_HEADERS = "+headers"
_VIEW = re.compile(r"[0-9]{3,}\.html")


def explained_method(summary: Summary) -> str | None:
    """Return the method that explain views are of; None where none of its kind was measured."""
    for name in summary.evaluation.retrievers:
        way, _, _ = name.partition("+")
        if way.partition(":")[0] == _WAY and name.endswith(_HEADERS):
            return name
    return None


def write_views(
    summary: Summary, bases: Mapping[str, KnowledgeBase], page: Path, *, views: int
) -> dict[tuple[str, str], str]:
    """Write the explain views of the questions with the least of the metric, and say where.

    They draw the first method measured that is an exact search with headers and nothing else, at
    the least budget; without such a method there are none.

    Args:
        summary: The figures.
        bases: Open knowledge bases, by dataset.
        page: The report; the views go into a folder beside it.
        views: How many, at most.

    Returns:
        The address of each, as seen from the page, by dataset and id of the question.
    """
    method = explained_method(summary)
    folder = page.with_name(f"{page.stem}-explain")
    _remove_views(folder)
    if method is None or not views:
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    preset = _preset(method)
    addresses: dict[tuple[str, str], str] = {}
    for number, (dataset, question) in enumerate(_worst(summary, method)[:views], start=1):
        explanation = bases[dataset].explain(
            question.text,
            budget_tokens=summary.evaluation.budgets[0],
            preset=preset,
            documents=question.scope,
            headers=False,
            tokenizer=summary.evaluation.tokenizer,
        )
        name = f"{number:03}.html"
        (folder / name).write_bytes(explanation.to_html().encode("utf-8"))
        addresses[dataset, question.id] = f"{quote(folder.name)}/{name}"
    return addresses


def _remove_views(folder: Path) -> None:
    """Remove those of an earlier report: nothing would say of which run they are."""
    if folder.is_dir():
        for path in folder.iterdir():
            if _VIEW.fullmatch(path.name):
                path.unlink()


def _preset(method: str | None) -> str | None:
    """Return the preset in the name of a method that is explained."""
    return (method or "").removesuffix(_HEADERS).partition(":")[2] or None


def view_commands(summary: Summary, paths: Mapping[str, Path]) -> dict[tuple[str, str], str]:
    """Return the command that draws the explain view of each question, by dataset and id.

    Args:
        summary: The figures.
        paths: Folders of knowledge bases, by dataset; questions of others have none.
    """
    options = ["--budget", str(summary.evaluation.budgets[0])]
    options += ["--tokenizer", summary.evaluation.tokenizer]
    preset = _preset(explained_method(summary))
    if preset is not None:
        options += ["--preset", preset]
    commands: dict[tuple[str, str], str] = {}
    for one in summary.evaluation.scores:
        path = paths.get(one.dataset)
        if path is not None:
            words = ["spanwise", "explain", "--open", "--kb", str(path), *options]
            for document in one.question.scope or ():
                words += ["-d", document]
            # What begins with a dash would be read as an option.
            words += ["--"] * one.question.text.startswith("-") + [one.question.text]
            commands[one.dataset, one.question.id] = shlex.join(words)
    return commands


def _worst(summary: Summary, method: str) -> list[tuple[str, LabelledQuestion]]:
    """Return the questions that have the metric, worst first; equal ones in their order."""
    sign = -1 if METRICS[summary.metric].higher_is_better is False else 1
    budget = summary.evaluation.budgets[0]
    rows = [
        one
        for one in summary.evaluation.scores
        if (one.retriever, one.budget_tokens) == (method, budget) and summary.metric in one.metrics
    ]
    rows.sort(key=lambda one: sign * one.metrics[summary.metric])
    return [(one.dataset, one.question) for one in rows]
