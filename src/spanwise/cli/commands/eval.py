"""`spanwise eval`: measure retrieval on questions with known evidence, and graded answers."""

from __future__ import annotations

import difflib
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import click
from click.core import ParameterSource

from spanwise.cli.arguments import json_option, knowledge_base_option, llm_option, max_cost_option
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.evaluation_layout import draw_evaluation
from spanwise.cli.failures import ExitCode, Interrupted
from spanwise.cli.layout import Page, usage_words
from spanwise.cli.output import write_json
from spanwise.cli.progress import step_bar, waiting
from spanwise.config import fetch_options, knowledge_base_path, model_options, parse_options
from spanwise.types import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.evaluation.answers.answer_runner import JudgingOptions
    from spanwise.evaluation.answers.grader import Judged
    from spanwise.evaluation.dataset import Dataset, LabelledQuestion
    from spanwise.evaluation.report import Reports, Summary
    from spanwise.evaluation.results import Evaluation
    from spanwise.evaluation.retrievers import EvaluationContext
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ledger import Ledger


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


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSet:
    """A set of questions with its open knowledge base."""

    dataset: Dataset
    base: KnowledgeBase
    path: Path
    """Path of the knowledge base."""


def judged_sets(
    sets: Sequence[EvaluationSet],
    arguments: EvalArguments,
    *,
    methods: Sequence[str],
    budget: Ledger,
    draw: Callable[[str, int, int], None],
) -> Judged:
    """Return the graded answers to all questions.

    Args:
        sets: The questions.
        arguments: Arguments of the command line.
        methods: Retrievers whose results are answered from; none to answer as `ask` does. Both read
            as many tokens as the greatest budget.
        budget: Shared budget of the run.
        draw: Called with the progress.

    Raises:
        OptionError: If no answer of a set can be graded, a model does not fit, or the first answers
            all fail.
        ModelError: If a model cannot be reached.
        CostLimitError: If a call may cost more than is left. Answers are cached.
    """
    from spanwise.evaluation.answers.answer_runner import check_gradable

    for one in sets:
        check_gradable(one.dataset)
    parts = [_judged(one, arguments, methods=methods, budget=budget, draw=draw) for one in sets]
    return replace(
        parts[0],
        grades=tuple(grade for part in parts for grade in part.grades),
        usage=sum((part.usage for part in parts), Usage()),
        judge_usage=sum((part.judge_usage for part in parts), Usage()),
    )


def estimate_sets(
    sets: Sequence[EvaluationSet], arguments: EvalArguments, *, methods: Sequence[str]
) -> dict[str, Usage]:
    """Return an upper bound of the usage of all answers and grades.

    Raises:
        OptionError: If no answer of a set can be graded, a question is not usable, or a model does
            not fit.
        ModelKeyError: If there is no key for a model.
    """
    from spanwise.evaluation.answers.answer_runner import estimate_answers
    from spanwise.evaluation.dataset_ingest import texts
    from spanwise.evaluation.datasets import usable_questions
    from spanwise.evaluation.runner import evenly_spaced
    from spanwise.models.registry import make_language_model

    models = model_options(max_cost=arguments["max_cost"])
    llm = make_language_model(arguments["llm"], options=models)
    judge = make_language_model(arguments["judge"], options=models)
    total: dict[str, Usage] = {}
    for one in sets:
        known = texts(one.base, dataset=one.dataset)
        usable = usable_questions(one.dataset, known, called=f"the questions of {one.dataset.name}")
        asked = replace(usable, questions=evenly_spaced(usable.questions, arguments["limit"]))
        foreseen = estimate_answers(
            asked, one.base, llm=llm, judge=judge, options=_options(arguments, methods)
        )
        total = {task: total.get(task, Usage()) + usage for task, usage in foreseen.items()}
    return total


def _judged(
    one: EvaluationSet,
    arguments: EvalArguments,
    *,
    methods: Sequence[str],
    budget: Ledger,
    draw: Callable[[str, int, int], None],
) -> Judged:
    from spanwise.evaluation.answers.answer_runner import judge_answers

    return judge_answers(
        one.dataset,
        one.base,
        llm=arguments["llm"],
        judge=arguments["judge"],
        options=_options(arguments, methods),
        on_progress=draw,
        budget=budget,
    )


def _options(arguments: EvalArguments, methods: Sequence[str]) -> JudgingOptions:
    from spanwise.evaluation.answers.answer_runner import JudgingOptions
    from spanwise.options import AnswerOptions

    return JudgingOptions(
        repeats=arguments["repeats"],
        contexts=tuple(methods),
        reranker=arguments["rerank"] or None,
        tuning=arguments["tuning"],
        answers=AnswerOptions(budget_tokens=max(arguments["budget"])),
        models=model_options(max_cost=arguments["max_cost"]),
        tokenizer=arguments["tokenizer"],
        work=work_folder(arguments),
    )


_COMMAND_LINE = "spanwise.eval.command_line"


class EvaluationCommand(ExampleCommand):
    """Command that keeps its command line, which the report shows."""

    def __init__(self, *args: Any, program: str = "spanwise eval", **kwargs: Any) -> None:
        """Make the command; `program` is the beginning of the command line."""
        super().__init__(*args, **kwargs)
        self._program = program

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the command line."""
        ctx.meta[_COMMAND_LINE] = f"{self._program} {shlex.join(args)}"
        return super().parse_args(ctx, args)


@click.command(
    "eval",
    cls=EvaluationCommand,
    short_help="Measure retrieval on your own questions.",
    examples=[
        (
            "how good search is on questions whose evidence you know; and as a page",
            "spanwise eval questions.jsonl --kb reports.kb --report report.html",
        ),
        (
            "what each part adds",
            "spanwise eval questions.jsonl --compare top-k,greedy,exact,exact+headers",
        ),
        (
            "the function search(question) of ./mine.py, which returns a list of texts",
            "spanwise eval questions.jsonl --retriever mine:search",
        ),
        (
            "whole answers, graded by a model",
            "spanwise eval q.jsonl --answers --llm ollama:qwen3 --judge openai:gpt-5",
        ),
        (
            "what that would take, before it is paid",
            "spanwise eval q.jsonl --answers --llm MODEL --judge MODEL --dry-run",
        ),
        (
            "for a program: the recall of each method over all questions",
            """spanwise eval q.jsonl --json | jq '.figures[] | select(.kind == "all")'""",
        ),
    ],
    exit_codes=(
        ExitCode.OK,
        ExitCode.ERROR,
        ExitCode.USAGE,
        ExitCode.INTERRUPTED,
        ExitCode.TERMINATED,
    ),
)
@eval_options
def evaluate_retrieval(**arguments: Unpack[EvalArguments]) -> ExitCode:
    """Measure the share of each question's evidence that is retrieved, at equal token budgets.

    QUESTIONS is a file of JSON lines: questions with quotes from the documents of the knowledge
    base that answer them. `spanwise questions make` lets a model write one:

    \b
      {"question": "...", "evidence": [{"document_id": "...", "text": "..."}]}

    Every method gets the same number of tokens of text. Recall is the share of the evidence that it
    returned, precision the share of the returned text that is evidence. Figures have 95 %
    intervals, and methods are compared question by question: the sentences say which one is better,
    and how certain that is.
    """  # noqa: D301 - a backspace keeps the lines of a paragraph as they are, says click
    if arguments["questions"] is None:
        raise click.UsageError("there are no questions; name a file of them")
    return run_evaluation(arguments, open_questions)


def run_evaluation(
    arguments: EvalArguments,
    open_sets: Callable[[EvalArguments, ExitStack], Sequence[EvaluationSet]],
) -> ExitCode:
    """Measure sets of questions, and write figures, report and grading sheet.

    Args:
        arguments: Arguments of the command line.
        open_sets: Opens the questions and their knowledge bases, which the stack closes. Called
            after all other arguments are checked.

    Raises:
        UsageError: If an argument is missing or has no effect.
        SpanwiseError: If the questions cannot be measured.
    """
    _check(arguments)
    reports = None
    with ExitStack() as stack:
        sets = open_sets(arguments, stack)
        if arguments["dry_run"]:
            return _foresee(sets, arguments)
        with _resumable(arguments):
            budget = _run_budget(arguments)
            summary, judged = _measured(sets, arguments, budget)
            if arguments["report"] is not None:
                reports = _written(summary, judged, sets, arguments, budget)
    if arguments["as_json"]:
        _write_data(summary, judged)
    else:
        draw_evaluation(summary, Page(), judged=judged)
    if judged is not None and arguments["grading_sheet"] is not None:
        _write_sheet(judged, arguments["grading_sheet"])
    if reports is not None:
        beside = f"{reports.markdown.name} and {reports.data.name} beside it"
        Page(sys.stderr).message("report: ", f"{reports.page}; {beside}", "green")
    elif not arguments["as_json"]:
        Page().wrapped("--report report.html shows every question, and what it missed.", "dim")
    return ExitCode.OK


def _check(arguments: EvalArguments) -> None:
    """Check the arguments before anything is opened or paid.

    Raises:
        UsageError: If an option is missing or has no effect.
        OptionError: If there is no such method or metric, or the name of the report is not usable.
    """
    from spanwise.evaluation.retrievers import read_method

    for option, needed in options_without_effect(arguments):
        raise click.UsageError(f"{option} is of no use without {needed}")
    methods = [read_method(name) for name in method_names(arguments)]
    if not methods and not arguments["retriever"]:
        raise click.UsageError(
            f"--compare is {arguments['compare']!r}; name methods, such as top-k,exact+headers"
        )
    _check_metric(arguments["metric"])
    for part, given in (("rerank", arguments["rerank"]), ("tuned", arguments["tuning"])):
        option = "--rerank" if part == "rerank" else "--tuning"
        if any(getattr(method, part) for method in methods) != bool(given):
            raise click.UsageError(f"{option} and methods with +{part} need each other")
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
        OptionError: If the name of the report is not usable.
        UsageError: If one of its files is the questions or the tuning.
    """
    from spanwise.evaluation.report import report_paths

    if arguments["report"] is None:
        return
    reports = report_paths(arguments["report"])
    read = {one.resolve() for one in (arguments["questions"], arguments["tuning"]) if one}
    for path in (reports.page, reports.markdown, reports.data):
        if path.resolve() in read:
            raise click.UsageError(f"the report would replace {path}; give it another name")


def _check_judging(arguments: EvalArguments) -> None:
    """Check the options of graded answers.

    Raises:
        UsageError: If a model is missing.
        OptionError: If the sheet or its key exists, or their folder does not.
    """
    if arguments["answers"] and not (arguments["llm"] and arguments["judge"]):
        raise click.UsageError(
            "--answers takes a model that answers and one that grades: --llm, --judge"
        )
    for option, given in (("rerank", arguments["rerank"]), ("retriever", arguments["retriever"])):
        if arguments["dry_run"] and given:
            raise click.UsageError(
                f"--dry-run cannot foresee what --{option} takes; leave it out, and its methods"
            )
    sheet = arguments["grading_sheet"]
    if sheet is not None:
        from spanwise.evaluation.answers.sheet import check_new_sheet

        check_new_sheet(sheet)


def open_questions(arguments: EvalArguments, stack: ExitStack) -> tuple[EvaluationSet, ...]:
    """Return the questions of the file with their knowledge base; empty if no file is named.

    Args:
        arguments: Arguments of the command line.
        stack: Closes the knowledge base.

    Raises:
        OptionError: If a question is not usable. Its evidence is checked later.
        StoreError: If there is no such knowledge base.
    """
    from spanwise.evaluation.dataset import Dataset
    from spanwise.evaluation.datasets import read_questions
    from spanwise.knowledge_base import KnowledgeBase

    questions = arguments["questions"]
    if questions is None:
        return ()
    dataset = Dataset(name=questions.name, questions=read_questions(questions))
    path = knowledge_base_path(arguments["kb"])
    base = KnowledgeBase(path, create=False, parse=parse_options(), fetch=fetch_options())
    stack.enter_context(base)
    return (EvaluationSet(dataset=dataset, base=base, path=path),)


@contextmanager
def _resumable(arguments: EvalArguments) -> Iterator[None]:
    """Report after Ctrl-C what a repeated command continues from.

    Raises:
        Interrupted: In place of KeyboardInterrupt.
    """
    try:
        yield
    except KeyboardInterrupt as interruption:
        kept = [f"methods that were finished are kept in {work_folder(arguments)}"]
        if arguments["retriever"]:
            kept.append("those of --retriever are measured anew")
        if arguments["answers"]:
            kept.append("answers are kept in the knowledge base")
        raise Interrupted(
            f"interrupted: {', '.join(kept)}; run the same command again to go on"
        ) from interruption


def _measured(
    sets: Sequence[EvaluationSet], arguments: EvalArguments, budget: Ledger
) -> tuple[Summary, Judged | None]:
    from spanwise.evaluation.report import summarise
    from spanwise.evaluation.results import merged

    bar = step_bar(quiet=arguments["as_json"])
    with bar as draw:
        parts = [_evaluated(one, arguments, draw, budget=budget) for one in sets]
        evaluation = merged(parts)
        command = click.get_current_context().meta[_COMMAND_LINE]
        evaluation = replace(evaluation, settings={"command": command, **evaluation.settings})
        # Before answers are paid: it refuses a metric that the evidence does not allow.
        summary = summarise(evaluation, metric=arguments["metric"])
        judged = None
        if arguments["answers"]:
            asked = [
                replace(one, dataset=replace(one.dataset, questions=_asked(part)))
                for one, part in zip(sets, parts, strict=True)
            ]
            methods = _contexts(arguments)
            judged = judged_sets(asked, arguments, methods=methods, budget=budget, draw=draw)
    return summary, judged


def _contexts(arguments: EvalArguments) -> tuple[str, ...]:
    """Return the retrievers whose results are answered from; none to answer as `ask` does."""
    named = () if arguments["compare"] is None else method_names(arguments)
    return (*named, *arguments["retriever"])


def _foresee(sets: Sequence[EvaluationSet], arguments: EvalArguments) -> ExitCode:
    """Print the estimated usage of answers and grades."""
    foreseen = estimate_sets(sets, arguments, methods=_contexts(arguments))
    if arguments["as_json"]:
        write_json({"foreseen": foreseen}, sys.stdout)
        return ExitCode.OK
    page = Page()
    for what, usage in foreseen.items():
        said = usage_words(usage, at_most=True) or ["no model call"]
        page.wrapped(f"{what}: {page.joined(said)}")
    page.wrapped("an answer or a grade that cannot be read is asked for once more", "dim")
    return ExitCode.OK


def _run_budget(arguments: EvalArguments) -> Ledger:
    """Return the shared budget of all models of the run."""
    from spanwise.models.ledger import Ledger

    return Ledger(max_cost=model_options(max_cost=arguments["max_cost"]).max_cost)


def _evaluated(
    one: EvaluationSet,
    arguments: EvalArguments,
    draw: Callable[[str, int, int], None],
    *,
    budget: Ledger,
) -> Evaluation:
    from spanwise.evaluation.runner import EvaluationProgress, evaluate

    def hear(progress: EvaluationProgress) -> None:
        said = f"{progress.retriever} at {progress.budget_tokens:,} tokens"
        draw(said, progress.done, progress.total)

    return evaluate(
        one.dataset,
        one.base,
        retrievers=(*method_names(arguments), *arguments["retriever"]),
        budgets=arguments["budget"],
        tokenizer=arguments["tokenizer"],
        reranker=arguments["rerank"] or None,
        tuning=arguments["tuning"],
        limit=arguments["limit"],
        models=model_options(max_cost=arguments["max_cost"]),
        work=work_folder(arguments),
        on_progress=hear,
        budget=budget,
    )


def _asked(evaluation: Evaluation) -> tuple[LabelledQuestion, ...]:
    """Return the questions of an evaluation, with checked evidence."""
    return tuple({one.question.id: one.question for one in evaluation.scores}.values())


def _written(
    summary: Summary,
    judged: Judged | None,
    sets: Sequence[EvaluationSet],
    arguments: EvalArguments,
    budget: Ledger,
) -> Reports:
    """Write the report and its explain views."""
    from spanwise.evaluation.dataset_ingest import texts
    from spanwise.evaluation.report import (
        Beside,
        drawing_commands,
        question_words,
        write_reports,
        write_views,
    )

    path = arguments["report"] or Path()
    with waiting("writing the report"), ExitStack() as stack:
        contexts = {
            one.dataset.name: stack.enter_context(_context(one, arguments, budget)) for one in sets
        }
        beside = Beside(
            texts={one.dataset.name: texts(one.base, dataset=one.dataset) for one in sets},
            explained=write_views(summary, contexts, path, views=arguments["explain"]),
            drawing=drawing_commands(
                summary, reranker=arguments["rerank"], tuning=arguments["tuning"]
            ),
            words=question_words(summary, {one.dataset.name: one.path for one in sets}),
        )
        return write_reports(summary, path, beside=beside, judged=judged)


def _context(one: EvaluationSet, arguments: EvalArguments, budget: Ledger) -> EvaluationContext:
    """Return the context of a set, as it was measured; calls of its reranker are cached."""
    from spanwise.evaluation.retrievers import EvaluationContext

    return EvaluationContext(
        one.base,
        tokenizer=arguments["tokenizer"],
        reranker=arguments["rerank"] or None,
        tuning=arguments["tuning"],
        models=model_options(max_cost=arguments["max_cost"]),
        work=work_folder(arguments),
        budget=budget,
    )


def _write_sheet(judged: Judged, path: Path) -> None:
    from spanwise.evaluation.answers.sheet import key_path, write_sheet

    number = write_sheet(judged.grades, path)
    Page(sys.stderr).message(
        "sheet: ", f"{number} answers to grade in {path}, the judge's in {key_path(path)}", "green"
    )


def _write_data(summary: Summary, judged: Judged | None) -> None:
    from spanwise.evaluation.report import report_data

    write_json(report_data(summary, judged=judged), sys.stdout)
