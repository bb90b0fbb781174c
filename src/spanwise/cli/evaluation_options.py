"""Options of `spanwise eval`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypedDict, TypeVar

import click
from click.core import ParameterSource

from spanwise.cli.arguments import json_option, knowledge_base_option, llm_option, max_cost_option

_Command = TypeVar("_Command", bound=Callable[..., Any])

DEFAULT_METHODS = ("bm25+headers", "top-k+headers", "exact+headers")
"""Methods that are measured by default; the others are compared with the first."""
_BUDGETS = (1_000, 4_000)
_VIEWS = 10
_NEEDS = {
    "explain": ("report",),
    "llm": ("answers",),
    "judge": ("answers",),
    "repeats": ("answers",),
    "grading_sheet": ("answers",),
    "dry_run": ("answers",),
}
"""Options without effect unless one of others is given, by parameter name."""


class EvalArguments(TypedDict):
    """Arguments of the command line, by parameter name."""

    questions: Path | None
    kb: str | None
    budget: tuple[int, ...]
    compare: str | None
    retriever: tuple[str, ...]
    rerank: str
    tuning: Path | None
    work: Path | None
    limit: int | None
    tokenizer: str | None
    metric: str
    report: Path | None
    explain: int
    answers: bool
    llm: str
    judge: str
    repeats: int
    grading_sheet: Path | None
    max_cost: float | None
    dry_run: bool
    as_json: bool


def method_names(arguments: EvalArguments) -> tuple[str, ...]:
    """Return the methods to measure, without other retrievers."""
    named = arguments["compare"]
    if named is None:
        return DEFAULT_METHODS
    return tuple(dict.fromkeys(name.strip() for name in named.split(",") if name.strip()))


def work_folder(arguments: EvalArguments) -> Path:
    """Return the work folder."""
    if arguments["work"] is not None:
        return arguments["work"]
    report = arguments["report"]
    return (Path() if report is None else report.parent) / ".spanwise-eval"


def options_without_effect(arguments: EvalArguments) -> Iterator[tuple[str, str]]:
    """Yield each option that has no effect, with the options it needs."""
    context = click.get_current_context()
    for name, needed in _NEEDS.items():
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_given and not any(arguments.get(one) for one in needed):
            yield f"--{name.replace('_', '-')}", " or ".join(f"--{one}" for one in needed)


def eval_options(command: _Command) -> _Command:
    """Add the argument and all options of `eval`."""
    for add in reversed((*_what(), *_how(), *_output(), *_judging(), json_option)):
        command = add(command)
    return command


def _what() -> tuple[Callable[[Any], Any], ...]:
    """Return the options that select the questions."""
    return (
        click.argument(
            "questions",
            metavar="[QUESTIONS]",
            required=False,
            type=click.Path(dir_okay=False, path_type=Path),
        ),
        knowledge_base_option,
        click.option(
            "--limit",
            metavar="NUMBER",
            type=click.IntRange(min=1),
            help="Only so many questions, evenly spaced.",
        ),
    )


def _how() -> tuple[Callable[[Any], Any], ...]:
    """Return the options of the measurement."""
    return (
        click.option(
            "--budget",
            multiple=True,
            metavar="TOKENS",
            type=click.IntRange(min=1),
            default=_BUDGETS,
            show_default=True,
            help="Tokens of text, the same for every method; repeat for more.",
        ),
        click.option(
            "--compare",
            metavar="METHODS",
            help="Methods to measure, with commas between them; all are compared with the first. "
            "Chunks: bm25 (by words alone), top-k (the most relevant ones), sentence-window, "
            "parent-document. Segments: exact (what `search` returns; exact:precise, "
            "exact:comprehensive), greedy, excerpts. After any of them +headers lets titles and "
            "headings take part, as `search` does, +rerank adds the reranker, +tuned the tuning "
            f"file. Without it {','.join(DEFAULT_METHODS)}.",
        ),
        click.option(
            "--retriever",
            multiple=True,
            metavar="MODULE:NAME",
            help="Any other retriever, measured in the same run: a function in a file of this "
            "folder that takes the question and returns texts or (document_id, start, end), or a "
            "retriever of LangChain, LlamaIndex or Haystack; repeat for more.",
        ),
        click.option(
            "--rerank",
            metavar="MODEL",
            default="",
            help='Reranker of the methods with +rerank, such as "cohere:rerank-v3.5".',
        ),
        click.option(
            "--tuning",
            metavar="FILE",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Settings of `spanwise tune`, for the methods with +tuned.",
        ),
        click.option(
            "--tokenizer",
            metavar="NAME",
            help="Tokenizer used to count tokens for the budgets, such as o200k_base. Default: "
            "that of the knowledge base. Headers are not counted.",
        ),
        click.option(
            "--metric",
            metavar="NAME",
            default="recall",
            show_default=True,
            help="What methods are compared by, such as precision, iou, ndcg or page_recall; a "
            "wrong name lists them all.",
        ),
    )


def _output() -> tuple[Callable[[Any], Any], ...]:
    """Return the options of the output."""
    return (
        click.option(
            "--report",
            metavar="FILE.html",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Write the report to this file, and Markdown and JSON next to it; it holds text "
            "of the documents.",
        ),
        click.option(
            "--explain",
            metavar="NUMBER",
            type=click.IntRange(min=0, max=1_000),
            default=_VIEWS,
            show_default=True,
            help="Number of questions to explain: those with the worst results of the first exact "
            "method. Their explain views are written to a folder next to the report.",
        ),
        click.option(
            "--work",
            metavar="FOLDER",
            type=click.Path(file_okay=False, path_type=Path),
            help="Keeps methods that were finished and copies of the knowledge base, so that a run "
            "that was stopped goes on. Without it .spanwise-eval beside the report, or here.",
        ),
    )


def _judging() -> tuple[Callable[[Any], Any], ...]:
    """Return the options of graded answers."""
    return (
        click.option(
            "--answers",
            is_flag=True,
            help="Answer the questions too, as `spanwise ask` does, or with --compare or "
            "--retriever from what each of these returns, at the greatest budget; and let a model "
            "grade the answers.",
        ),
        llm_option(purpose="for the answers"),
        click.option(
            "--judge",
            metavar="MODEL",
            default="",
            help="Language model that grades; better another one than --llm.",
        ),
        click.option(
            "--repeats",
            metavar="NUMBER",
            type=click.IntRange(min=1, max=20),
            default=1,
            show_default=True,
            help="Number of times the judge grades each answer, to measure its self-consistency.",
        ),
        click.option(
            "--grading-sheet",
            metavar="FILE.csv",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Write answers to grade by hand to this file, and the grades of the judge to a "
            "second one.",
        ),
        max_cost_option(
            "Maximum total cost of the run in US dollars: answers, grades, reranker and embedder."
        ),
        click.option(
            "--dry-run",
            is_flag=True,
            help="Estimate calls, tokens and cost of answers and grades without calling any "
            "language model. Nothing is measured.",
        ),
    )
