"""`spanwise eval`: measure retrieval on questions with known evidence, and grade answers."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.evaluation_arguments import (
    EvalArguments,
    check_arguments,
    eval_options,
    method_names,
    setting_notes,
    without_unused_settings,
    work_folder,
)
from spanwise.cli.evaluation_layout import draw_evaluation
from spanwise.cli.failures import ExitCode, Interrupted
from spanwise.cli.layout import Page, usage_words
from spanwise.cli.output import write_json
from spanwise.cli.progress import step_bar, waiting
from spanwise.config import (
    fetch_options,
    knowledge_base_path,
    model_options,
    parse_options,
)
from spanwise.types import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwise.config import Location
    from spanwise.evaluation.answers.answer_runner import JudgingOptions
    from spanwise.evaluation.answers.grader import Judged
    from spanwise.evaluation.dataset import Dataset
    from spanwise.evaluation.report import Reports, Summary
    from spanwise.evaluation.results import Evaluation
    from spanwise.evaluation.retrievers import EvaluationContext
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.models.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSet:
    """A set of questions with its open knowledge base."""

    dataset: Dataset
    base: KnowledgeBase
    path: Location
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
        sets: Sets of questions.
        arguments: Arguments of the command line.
        methods: Retrievers whose texts the model answers from, up to the largest budget; empty to
            answer with `KnowledgeBase.ask`.
        budget: Shared budget of the run.
        draw: Progress callback: name of the step, number of finished items, number of all items.

    Raises:
        OptionError: If no answer of a set can be graded, a model does not support an option, or
            the first answers all fail.
        ModelError: If a model cannot be reached.
        CostLimitError: If a call could exceed the cost limit. Answers so far are cached.
    """
    from spanwise.evaluation.answers.answer_runner import check_gradable, judge_answers

    for questions in sets:
        check_gradable(questions.dataset)
    parts = [
        judge_answers(
            questions.dataset,
            questions.base,
            llm=arguments["llm"],
            judge=arguments["judge"],
            options=_judging_options(arguments, methods),
            on_progress=draw,
            budget=budget,
        )
        for questions in sets
    ]
    return replace(
        parts[0],
        grades=tuple(grade for part in parts for grade in part.grades),
        usage=sum((part.usage for part in parts), Usage()),
        judge_usage=sum((part.judge_usage for part in parts), Usage()),
    )


def estimate_sets(
    sets: Sequence[EvaluationSet], arguments: EvalArguments, *, methods: Sequence[str]
) -> dict[str, Usage]:
    """Return an upper bound of the usage of all answers and grades, by task.

    Raises:
        OptionError: If no answer of a set can be graded, a question is invalid, or a model does
            not support an option.
        ModelKeyError: If the API key of a model is missing.
    """
    from spanwise.evaluation.answers.answer_runner import estimate_answers
    from spanwise.evaluation.dataset_ingest import texts
    from spanwise.evaluation.datasets import usable_questions
    from spanwise.evaluation.runner import evenly_spaced
    from spanwise.models.registry import make_language_model

    models = model_options(max_cost=arguments["max_cost"])
    llm = make_language_model(arguments["llm"], options=models, needs_key=False)
    judge = make_language_model(arguments["judge"], options=models, needs_key=False)
    options = _judging_options(arguments, methods)
    total: dict[str, Usage] = {}
    for questions in sets:
        dataset, base = questions.dataset, questions.base
        documents = texts(base, dataset=dataset)
        usable = usable_questions(dataset, documents, called=f"the questions of {dataset.name}")
        usable = replace(usable, questions=evenly_spaced(usable.questions, arguments["limit"]))
        estimate = estimate_answers(usable, base, llm=llm, judge=judge, options=options)
        total = {task: total.get(task, Usage()) + usage for task, usage in estimate.items()}
    return total


def _judging_options(arguments: EvalArguments, methods: Sequence[str]) -> JudgingOptions:
    from spanwise.evaluation.answers.answer_runner import JudgingOptions
    from spanwise.options import AnswerOptions

    return JudgingOptions(
        repeats=arguments["repeats"],
        contexts=tuple(methods),
        reranker=arguments["rerank"] or None,
        tuning=arguments["tuning"] or None,
        answers=AnswerOptions(budget_tokens=max(arguments["budget"])),
        models=model_options(max_cost=arguments["max_cost"]),
        tokenizer=arguments["tokenizer"],
        work=work_folder(arguments),
    )


_COMMAND_LINE = "spanwise.eval.command_line"


class EvaluationCommand(ExampleCommand):
    """Command that records its command line for the report."""

    def __init__(self, *args: Any, program: str = "spanwise eval", **kwargs: Any) -> None:
        """Create the command; `program` is the beginning of the command line."""
        super().__init__(*args, **kwargs)
        self._program = program

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Record the command line and parse it."""
        ctx.meta[_COMMAND_LINE] = f"{self._program} {shlex.join(args)}"
        return super().parse_args(ctx, args)


@click.command(
    "eval",
    cls=EvaluationCommand,
    short_help="Measure retrieval on your own questions.",
    examples=[
        (
            "measure retrieval and write a report",
            "spanwise eval questions.jsonl --kb reports.kb --report report.html",
        ),
        (
            "keep the report for the web page of `spanwise serve`",
            "spanwise eval questions.jsonl --kb reports.kb --keep",
        ),
        (
            "compare four methods",
            "spanwise eval questions.jsonl --compare top-k,greedy,exact,exact+headers",
        ),
        (
            "measure the function search(question) in mine.py, which returns texts",
            "spanwise eval questions.jsonl --retriever mine:search",
        ),
        (
            "also answer the questions and grade the answers",
            "spanwise eval q.jsonl --answers --llm ollama:qwen3 --judge openai:gpt-5",
        ),
        (
            "estimate the cost of answers and grades",
            "spanwise eval q.jsonl --answers --llm MODEL --judge MODEL --dry-run",
        ),
        (
            "write the figures of each method over all questions as JSON",
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

    QUESTIONS is a file of JSON lines. Each line is a question with its evidence: quotes from
    documents of the knowledge base. `spanwise questions make` generates such a file:

    \b
      {"question": "...", "evidence": [{"document_id": "...", "text": "..."}]}

    Every method returns the same number of tokens of text. Recall is the share of the evidence that
    was returned; precision is the share of the returned text that is evidence. Figures have 95 %
    confidence intervals. Methods are compared on the same questions, and a sentence states which
    one is better and whether the difference is significant.
    """  # noqa: D301 - click needs a backspace character before a preformatted paragraph
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
        open_sets: Function that opens the questions and their knowledge bases, and adds the
            knowledge bases to the stack. It is called after all other arguments are checked.

    Raises:
        UsageError: If an argument is missing or has no effect.
        SpanwiseError: If the questions cannot be measured.
    """
    arguments = without_unused_settings(arguments)
    check_arguments(arguments)
    reports = None
    with ExitStack() as stack:
        sets = open_sets(arguments, stack)
        if arguments["keep"] and len(sets) != 1:
            raise click.UsageError(
                f"--keep needs one knowledge base, and there are {len(sets)}; use --report"
            )
        if arguments["keep"]:
            _check_keep(sets[0])
        if arguments["dry_run"]:
            return _estimate(sets, arguments)
        with _resumable(arguments):
            budget = _run_budget(arguments)
            summary, judged = _measured(sets, arguments, budget)
            if arguments["report"] is not None:
                reports = _write_reports(summary, judged, sets, arguments, budget)
    if arguments["as_json"]:
        from spanwise.evaluation.report import report_data

        write_json(report_data(summary, judged=judged), sys.stdout)
    else:
        draw_evaluation(summary, Page(), judged=judged)
    if judged is not None and arguments["grading_sheet"] is not None:
        _write_sheet(judged, arguments["grading_sheet"])
    if arguments["keep"]:
        _keep(summary, judged, sets)
    if reports is not None:
        others = f"{reports.markdown.name} and {reports.data.name} are in the same folder"
        Page(sys.stderr).message("report: ", f"{reports.page}; {others}", "green")
    elif not arguments["as_json"]:
        Page().wrapped("--report report.html shows the results of every question.", "dim")
    return ExitCode.OK


def _check_keep(questions: EvaluationSet) -> None:
    """Check that the report can be kept, before anything is measured.

    Raises:
        UsageError: If the knowledge base is not a folder.
    """
    from spanwise.knowledge_base.report_archive import ReportArchive

    if ReportArchive.of(questions.base) is None:
        raise click.UsageError(
            f"--keep stores the report next to a folder, and {questions.path} is not one; write "
            "the report to files with --report"
        )


def _keep(summary: Summary, judged: Judged | None, sets: Sequence[EvaluationSet]) -> None:
    """Add the report to the archive of the knowledge base."""
    from spanwise.evaluation.report import archive_report

    report = archive_report(sets[0].base, summary, judged=judged)
    Page(sys.stderr).message("kept: ", f"{report.name}; `spanwise serve` shows it", "green")


def open_questions(arguments: EvalArguments, stack: ExitStack) -> tuple[EvaluationSet, ...]:
    """Return the questions of the file with their knowledge base; empty if no file is named.

    Args:
        arguments: Arguments of the command line.
        stack: Exit stack that closes the knowledge base.

    Raises:
        OptionError: If a question or its evidence is invalid.
        StoreError: If the knowledge base does not exist.
    """
    from spanwise.evaluation.dataset import Dataset
    from spanwise.evaluation.dataset_ingest import texts
    from spanwise.evaluation.datasets import read_questions
    from spanwise.knowledge_base import KnowledgeBase

    questions = arguments["questions"]
    if questions is None:
        return ()
    path = knowledge_base_path(arguments["kb"])
    base = KnowledgeBase(path, create=False, parse=parse_options(), fetch=fetch_options())
    stack.enter_context(base)
    read = read_questions(questions, texts=texts(base))
    dataset = Dataset(name=questions.name, questions=read)
    return (EvaluationSet(dataset=dataset, base=base, path=path),)


@contextmanager
def _resumable(arguments: EvalArguments) -> Iterator[None]:
    """After Ctrl-C, report which results a repeated command reuses.

    Raises:
        Interrupted: In place of KeyboardInterrupt.
    """
    try:
        yield
    except KeyboardInterrupt as interruption:
        notes = [f"finished methods are stored in {work_folder(arguments)}"]
        if arguments["retriever"]:
            notes.append("--retriever methods are measured again")
        if arguments["answers"]:
            notes.append("answers are stored in the knowledge base")
        raise Interrupted(
            f"interrupted: {', '.join(notes)}; run the same command again to continue"
        ) from interruption


def _measured(
    sets: Sequence[EvaluationSet], arguments: EvalArguments, budget: Ledger
) -> tuple[Summary, Judged | None]:
    from spanwise.evaluation.report import summarise
    from spanwise.evaluation.results import merged

    with step_bar(quiet=arguments["as_json"]) as draw:
        parts = [_evaluated(questions, arguments, draw, budget=budget) for questions in sets]
        evaluation = merged(parts)
        command = click.get_current_context().meta[_COMMAND_LINE]
        evaluation = replace(
            evaluation,
            settings={"command": command, **evaluation.settings},
            notes=(*setting_notes(arguments), *evaluation.notes),
        )
        # Before answers are paid for: a metric that the evidence does not support is an error.
        summary = summarise(evaluation, metric=arguments["metric"])
        if not arguments["answers"]:
            return summary, None
        # The evidence of the questions in `parts` is checked.
        checked = [
            {score.question.id: score.question for score in part.scores}.values() for part in parts
        ]
        answerable = [
            replace(one, dataset=replace(one.dataset, questions=tuple(questions)))
            for one, questions in zip(sets, checked, strict=True)
        ]
        methods = _answer_methods(arguments)
        return summary, judged_sets(
            answerable, arguments, methods=methods, budget=budget, draw=draw
        )


def _answer_methods(arguments: EvalArguments) -> tuple[str, ...]:
    """Return the retrievers whose texts the model answers from; empty for `KnowledgeBase.ask`."""
    names = () if arguments["compare"] is None else method_names(arguments)
    return (*names, *arguments["retriever"])


def _estimate(sets: Sequence[EvaluationSet], arguments: EvalArguments) -> ExitCode:
    """Write the estimated usage of answers and grades."""
    estimate = estimate_sets(sets, arguments, methods=_answer_methods(arguments))
    if arguments["as_json"]:
        write_json({"estimate": estimate}, sys.stdout)
        return ExitCode.OK
    page = Page()
    for task, usage in estimate.items():
        page.wrapped(
            f"{task}: {page.joined(usage_words(usage, at_most=True) or ['no model call'])}"
        )
    page.wrapped("an invalid answer or grade is requested once more", "dim")
    return ExitCode.OK


def _run_budget(arguments: EvalArguments) -> Ledger:
    """Return the shared budget of all models of the run."""
    from spanwise.models.ledger import Ledger

    return Ledger(max_cost=model_options(max_cost=arguments["max_cost"]).max_cost)


def _evaluated(
    questions: EvaluationSet,
    arguments: EvalArguments,
    draw: Callable[[str, int, int], None],
    *,
    budget: Ledger,
) -> Evaluation:
    from spanwise.evaluation.runner import EvaluationProgress, evaluate

    def on_progress(progress: EvaluationProgress) -> None:
        step = f"{progress.retriever} at {progress.budget_tokens:,} tokens"
        draw(step, progress.done, progress.total)

    return evaluate(
        questions.dataset,
        questions.base,
        retrievers=(*method_names(arguments), *arguments["retriever"]),
        budgets=arguments["budget"],
        tokenizer=arguments["tokenizer"],
        reranker=arguments["rerank"] or None,
        tuning=arguments["tuning"] or None,
        limit=arguments["limit"],
        models=model_options(max_cost=arguments["max_cost"]),
        work=work_folder(arguments),
        on_progress=on_progress,
        budget=budget,
    )


def _write_reports(
    summary: Summary,
    judged: Judged | None,
    sets: Sequence[EvaluationSet],
    arguments: EvalArguments,
    budget: Ledger,
) -> Reports:
    """Write the report and its explain pages."""
    from spanwise.evaluation.dataset_ingest import texts
    from spanwise.evaluation.report import (
        ReportExtras,
        drawing_commands,
        question_words,
        write_reports,
        write_views,
    )

    path = arguments["report"] or Path()
    with waiting("writing the report"), ExitStack() as stack:
        contexts = {
            questions.dataset.name: stack.enter_context(_context(questions, arguments, budget))
            for questions in sets
        }
        extras = ReportExtras(
            texts={
                questions.dataset.name: texts(questions.base, dataset=questions.dataset)
                for questions in sets
            },
            explained=write_views(summary, contexts, path, views=arguments["explain"]),
            drawing=drawing_commands(
                summary,
                reranker=arguments["rerank"],
                tuning=Path(arguments["tuning"]) if arguments["tuning"] else None,
            ),
            words=question_words(
                summary, {questions.dataset.name: questions.path for questions in sets}
            ),
        )
        return write_reports(summary, path, extras=extras, judged=judged)


def _context(
    questions: EvaluationSet, arguments: EvalArguments, budget: Ledger
) -> EvaluationContext:
    """Return a context like that of the measurement, in which the reranker calls are cached."""
    from spanwise.evaluation.retrievers import EvaluationContext

    return EvaluationContext(
        questions.base,
        tokenizer=arguments["tokenizer"],
        reranker=arguments["rerank"] or None,
        tuning=arguments["tuning"] or None,
        models=model_options(max_cost=arguments["max_cost"]),
        work=work_folder(arguments),
        budget=budget,
    )


def _write_sheet(judged: Judged, path: Path) -> None:
    from spanwise.evaluation.answers.sheet import key_path, write_sheet

    number = write_sheet(judged.grades, path)
    Page(sys.stderr).message(
        "sheet: ",
        f"{number} answers to grade in {path}, grades of the judge in {key_path(path)}",
        "green",
    )
