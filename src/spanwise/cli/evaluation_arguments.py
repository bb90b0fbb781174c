"""Arguments of `eval`: options, the methods they name, and checks before anything is opened."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

import click
from click.core import ParameterSource

from spanwise.cli.arguments import (
    budgets_option,
    json_option,
    knowledge_base_option,
    llm_option,
    max_cost_option,
    with_options,
)
from spanwise.config import setting

if TYPE_CHECKING:
    from spanwise.evaluation.retrievers.methods import Method


DEFAULT_METHODS = ("bm25+headers", "top-k+headers", "exact+headers")
"""Methods that are measured by default. Each is compared with the first one."""
_NEEDS = {
    "explain": "report",
    "llm": "answers",
    "judge": "answers",
    "repeats": "answers",
    "grading_sheet": "answers",
    "dry_run": "answers",
}
"""Parameters that require another parameter, and the name of that parameter."""
_FROM_SETTINGS: tuple[tuple[Literal["rerank", "tuning"], str, str], ...] = (
    ("rerank", "rerank", "rerank.model"),
    ("tuning", "tuned", "search.tuning"),
)
"""Options for methods with an addition: option, addition, and the setting that is the default."""


class EvalArguments(TypedDict):
    """Arguments of the command line, by parameter name."""

    questions: Path | None
    kb: str | None
    budget: tuple[int, ...]
    compare: str | None
    retriever: tuple[str, ...]
    rerank: str
    tuning: str
    work: Path | None
    limit: int | None
    tokenizer: str | None
    metric: str
    report: Path | None
    explain: int
    keep: bool
    answers: bool
    llm: str
    judge: str
    repeats: int
    grading_sheet: Path | None
    max_cost: float | None
    dry_run: bool
    as_json: bool


def method_names(arguments: EvalArguments) -> tuple[str, ...]:
    """Return the names of the methods to measure; `--retriever` objects are not included."""
    methods = arguments["compare"]
    if methods is None:
        return DEFAULT_METHODS
    return tuple(dict.fromkeys(name.strip() for name in methods.split(",") if name.strip()))


def work_folder(arguments: EvalArguments) -> Path:
    """Return the work folder: by default, `.spanwise-eval` next to the report."""
    if arguments["work"] is not None:
        return arguments["work"]
    report = arguments["report"]
    return (Path() if report is None else report.parent) / ".spanwise-eval"


eval_options = with_options(
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
        help="Maximum number of questions to use, evenly spaced over the file. Default: all.",
    ),
    budgets_option("Maximum tokens of text that each method returns for a question."),
    click.option(
        "--compare",
        metavar="METHODS",
        help="Methods to measure, separated by commas; each is compared with the first. Chunks: "
        "bm25, top-k (by relevance), sentence-window, parent-document. Longer texts: exact (as "
        "`search` selects them; also exact:precise, exact:comprehensive), greedy, excerpts. Add "
        "+headers to search titles and headings too, as `search` does, +rerank to use the "
        "reranker, and +tuned to use the tuning file. Settings of `search` do not change a method "
        "unless its name says so. Default: "
        f"{','.join(DEFAULT_METHODS)}.",
    ),
    click.option(
        "--retriever",
        multiple=True,
        metavar="MODULE:NAME",
        help="Additional retriever to measure: a Python function in the working folder that takes "
        "the question and returns texts or (document_id, start, end), or a retriever of LangChain, "
        "LlamaIndex or Haystack. Repeatable.",
    ),
    click.option(
        "--rerank",
        metavar="MODEL",
        default="",
        help='Reranker for methods with +rerank in their name, such as "cohere:rerank-v3.5". '
        "Default: the setting rerank.model.",
    ),
    click.option(
        "--tuning",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        default="",
        help="Tuning file written by `spanwise tune`, for methods with +tuned in their name. "
        "Default: the setting search.tuning.",
    ),
    click.option(
        "--tokenizer",
        metavar="NAME",
        help="Tokenizer for the token budgets, such as o200k_base; headers are not counted. "
        "Default: the tokenizer of the knowledge base.",
    ),
    click.option(
        "--metric",
        metavar="NAME",
        default="recall",
        show_default=True,
        help="Metric of the comparisons, such as precision, iou, ndcg or page_recall. An unknown "
        "name lists all metrics.",
    ),
    click.option(
        "--report",
        metavar="FILE.html",
        type=click.Path(dir_okay=False, path_type=Path),
        help="HTML file for the report; a Markdown and a JSON file are written next to it. The "
        "report contains document text.",
    ),
    click.option(
        "--explain",
        metavar="NUMBER",
        type=click.IntRange(min=0, max=1_000),
        default=10,
        show_default=True,
        help="Number of questions to explain: those with the worst results of the first exact "
        "method. Their explain pages are written to a folder next to the report.",
    ),
    click.option(
        "--keep",
        is_flag=True,
        help="Add the figures to the archive of the knowledge base, a folder next to it. The web "
        "page of `spanwise serve` shows them. The archive contains questions, but no document "
        "text.",
    ),
    click.option(
        "--work",
        metavar="FOLDER",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder for finished results and copies of the knowledge base; an interrupted run "
        "continues from it. Default: .spanwise-eval in the folder of the report, or in the working "
        "folder.",
    ),
    click.option(
        "--answers",
        is_flag=True,
        help="Also answer the questions with --llm and grade the answers with --judge. Questions "
        "are answered as by `spanwise ask`; with --compare or --retriever, from the texts that "
        "each method returns at the largest budget.",
    ),
    llm_option(purpose="for the answers"),
    click.option(
        "--judge",
        metavar="MODEL",
        default="",
        help="Language model that grades the answers; it should differ from --llm.",
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
        help="CSV file for a sample of answers to grade by hand. The grades of the judge are "
        "written to a second file.",
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
    json_option,
)
"""The argument and all options of `eval`."""


def _methods(arguments: EvalArguments) -> list[Method]:
    """Return the methods to measure.

    Raises:
        OptionError: If a name is unknown.
    """
    from spanwise.evaluation.retrievers import read_method

    return [read_method(name) for name in method_names(arguments)]


def without_unused_settings(arguments: EvalArguments) -> EvalArguments:
    """Return the arguments without a reranker or tuning of the settings that no method uses."""
    context = click.get_current_context()
    methods = _methods(arguments)
    used = arguments.copy()
    for option, part, _ in _FROM_SETTINGS:
        is_setting = context.get_parameter_source(option) is ParameterSource.DEFAULT_MAP
        if is_setting and not any(getattr(method, part) for method in methods):
            used[option] = ""
    return used


def setting_notes(arguments: EvalArguments) -> Iterator[str]:
    """Yield a note for each setting that `search` uses and no measured method does."""
    methods = [method for method in _methods(arguments) if method.way in ("exact", "excerpts")]
    if not methods:
        return
    for _, part, name in _FROM_SETTINGS:
        if setting(name) and not any(getattr(method, part) for method in methods):
            yield (
                f"`search` uses the setting {name} ({setting(name)}), and no measured method does; "
                f"name one with +{part}, such as exact+headers+{part}"
            )
    preset, default = setting("search.preset"), "balanced"
    if preset not in {method.preset or default for method in methods}:
        yield (
            f"`search` uses the setting search.preset ({preset}), and no measured method does; "
            f"name one, such as exact:{preset}+headers"
        )


def check_arguments(arguments: EvalArguments) -> None:
    """Check the arguments before anything is opened or paid for.

    Raises:
        UsageError: If an option is missing or has no effect.
        OptionError: If a method or metric is unknown, or a file name is invalid.
    """
    context = click.get_current_context()
    for name, needed in _NEEDS.items():
        is_explicit = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_explicit and not arguments.get(needed):
            raise click.UsageError(f"--{name.replace('_', '-')} is of no use without --{needed}")
    methods = _methods(arguments)
    if not methods and not arguments["retriever"]:
        raise click.UsageError(
            f"--compare is {arguments['compare']!r}; name methods, such as top-k,exact+headers"
        )
    _check_metric(arguments["metric"])
    for option, part, name in _FROM_SETTINGS:
        if any(getattr(method, part) for method in methods) != bool(arguments[option]):
            raise click.UsageError(
                f"--{option} and methods with +{part} need each other; without --{option}, the "
                f"setting {name} is used"
            )
    is_explicit = context.get_parameter_source("explain") is ParameterSource.COMMANDLINE
    if is_explicit and arguments["explain"] and not any(one.way == "exact" for one in methods):
        raise click.UsageError(
            "--explain is of no use without the method exact, the only one that can be explained"
        )
    _check_report(arguments)
    _check_judging(arguments)


def _check_metric(metric: str) -> None:
    from spanwise.errors import OptionError
    from spanwise.evaluation.metrics import METRICS

    if metric not in METRICS:
        near = difflib.get_close_matches(metric, METRICS, n=1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        raise OptionError(f"metric is {metric!r}; {guess}it must be one of {', '.join(METRICS)}")


def _check_report(arguments: EvalArguments) -> None:
    """Check that the report does not replace an input file.

    Raises:
        OptionError: If the name of the report is invalid.
        UsageError: If a file of the report is also the file of questions or the tuning file.
    """
    from spanwise.evaluation.report import report_paths

    if arguments["report"] is None:
        return
    reports = report_paths(arguments["report"])
    inputs = {
        Path(path).resolve() for path in (arguments["questions"], arguments["tuning"]) if path
    }
    for path in (reports.page, reports.markdown, reports.data):
        if path.resolve() in inputs:
            raise click.UsageError(f"the report would replace {path}; give it another name")


def _check_judging(arguments: EvalArguments) -> None:
    """Check the options of graded answers.

    Raises:
        UsageError: If a model is missing, or an option cannot be estimated in a dry run.
        OptionError: If the grading sheet or its key exists, or their folder does not.
    """
    if arguments["answers"] and not (arguments["llm"] and arguments["judge"]):
        raise click.UsageError(
            "--answers needs a model that answers and one that grades: --llm and --judge"
        )
    for option, value in (("rerank", arguments["rerank"]), ("retriever", arguments["retriever"])):
        if arguments["dry_run"] and value:
            raise click.UsageError(
                f"--dry-run cannot estimate the cost of --{option}; leave out --{option} and its "
                "methods"
            )
    sheet = arguments["grading_sheet"]
    if sheet is not None:
        from spanwise.evaluation.answers.sheet import check_new_sheet

        check_new_sheet(sheet)
