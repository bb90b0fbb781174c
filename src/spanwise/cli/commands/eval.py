"""Graded answers of several sets of questions, and what is left of the money for them.

`spanwise eval`: measure retrieval on questions whose evidence is known.
"""

from __future__ import annotations

import difflib
import shlex
import sys
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

import click

from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.evaluation_layout import draw_evaluation
from spanwise.cli.evaluation_options import (
    EvalArguments,
    eval_options,
    given_in_vain,
    method_names,
    named_datasets,
    work_folder,
)
from spanwise.cli.failures import ExitCode, Interrupted
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import Page
from spanwise.cli.progress import step_bar, waiting
from spanwise.cli.usage import usage_words
from spanwise.config import model_options
from spanwise.types import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanwise.cli.evaluation_sets import OpenedSet
    from spanwise.evaluation.answers.answer_runner import JudgingOptions
    from spanwise.evaluation.answers.graded import Judged
    from spanwise.evaluation.dataset import LabelledQuestion
    from spanwise.evaluation.datasets import Store
    from spanwise.evaluation.report import Reports, Summary
    from spanwise.evaluation.results import Evaluation
    from spanwise.evaluation.retrievers import EvaluationContext


def cost_left(max_cost: float | None, parts: Sequence[Evaluation]) -> float | None:
    """Return the US dollars that are left after some evaluations; None for no limit.

    What an earlier run paid for a part that was kept counts again: a run that is repeated never
    costs more in all than one that was not stopped may.
    """
    if max_cost is None:
        return None
    spent = sum(scored.usage.cost or 0.0 for part in parts for scored in part.scores)
    return max(0.0, max_cost - spent)


def judged_sets(
    sets: Sequence[OpenedSet],
    arguments: EvalArguments,
    *,
    methods: Sequence[str],
    left: float | None,
    draw: Callable[[str, int, int], None],
) -> Judged:
    """Return the answers to all questions, graded.

    Args:
        sets: The questions.
        arguments: Models and repeats.
        methods: From whose contexts is answered, none to answer as `ask` does. Both
            read as many tokens as the greatest budget allows.
        left: US dollars that it may cost; None for no limit.
        draw: Hears how far it is.

    Raises:
        OptionError: If nothing is known to grade the answers of a set by, a model does not fit, or
            the first answers all fail.
        ModelError: If a model cannot be reached.
        CostLimitError: If it would cost more than is allowed; what was answered is kept.
    """
    from spanwise.evaluation.answers.answer_runner import check_gradable

    for one in sets:
        check_gradable(one.dataset)
    parts = []
    for one in sets:
        part = _judged(one, arguments, methods=methods, left=left, draw=draw)
        parts.append(part)
        if left is not None:
            left = max(0.0, left - ((part.usage + part.judge_usage).cost or 0.0))
    return replace(
        parts[0],
        grades=tuple(grade for part in parts for grade in part.grades),
        usage=sum((part.usage for part in parts), Usage()),
        judge_usage=sum((part.judge_usage for part in parts), Usage()),
    )


def foreseen_sets(
    sets: Sequence[OpenedSet], arguments: EvalArguments, *, methods: Sequence[str]
) -> dict[str, Usage]:
    """Return what the answers to all questions and their grades would take at most.

    Raises:
        OptionError: If nothing is known to grade the answers of a set by, a question is not usable,
            or a model does not fit.
        ModelKeyError: If there is no key for a model.
    """
    from spanwise.evaluation.answers.answer_runner import foresee_answers
    from spanwise.evaluation.dataset_base import texts
    from spanwise.evaluation.datasets import usable_questions
    from spanwise.evaluation.plan import spaced
    from spanwise.models.registry import make_language_model

    models = model_options(max_cost=arguments["max_cost"])
    llm = make_language_model(arguments["llm"], options=models)
    judge = make_language_model(arguments["judge"], options=models)
    total: dict[str, Usage] = {}
    for one in sets:
        known = texts(one.base, dataset=one.dataset)
        usable = usable_questions(one.dataset, known, called=f"the questions of {one.dataset.name}")
        asked = replace(usable, questions=spaced(usable.questions, arguments["limit"]))
        foreseen = foresee_answers(
            asked, one.base, llm=llm, judge=judge, options=_options(arguments, methods, left=None)
        )
        total = {task: total.get(task, Usage()) + usage for task, usage in foreseen.items()}
    return total


def _judged(
    one: OpenedSet,
    arguments: EvalArguments,
    *,
    methods: Sequence[str],
    left: float | None,
    draw: Callable[[str, int, int], None],
) -> Judged:
    from spanwise.evaluation.answers.answer_runner import judge_answers

    return judge_answers(
        one.dataset,
        one.base,
        llm=arguments["llm"],
        judge=arguments["judge"],
        options=_options(arguments, methods, left=left),
        on_progress=draw,
    )


def _options(
    arguments: EvalArguments, methods: Sequence[str], *, left: float | None
) -> JudgingOptions:
    from spanwise.evaluation.answers.answer_runner import JudgingOptions
    from spanwise.options import AnswerOptions

    return JudgingOptions(
        repeats=arguments["repeats"],
        contexts=tuple(methods),
        reranker=arguments["rerank"] or None,
        tuning=arguments["tuning"],
        answers=AnswerOptions(budget_tokens=max(arguments["budget"])),
        models=model_options(max_cost=left),
        tokenizer=arguments["tokenizer"],
        work=work_folder(arguments),
    )


_WORDS = "spanwise.eval.words"


class _RepeatableCommand(ExampleCommand):
    """Command that knows how it was called, so that a report can say how to repeat it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words of the command line."""
        ctx.meta[_WORDS] = list(args)
        return super().parse_args(ctx, args)


@click.command(
    "eval",
    cls=_RepeatableCommand,
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
            "a public dataset, a hundred of its questions",
            "spanwise eval --dataset financebench=path/to/checkout --limit 100",
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
    """Measure how much of the evidence of questions is retrieved, at equal tokens.

    QUESTIONS is a file with a question a line, as JSON, and a quote of each place in the documents
    of the knowledge base that answers it; `spanwise questions make` has a model write one:

    \b
      {"question": "...", "evidence": [{"document_id": "...", "text": "..."}]}

    Every method gets the same number of tokens of text. Recall is the part of the evidence that it
    returned, precision the part of what it returned that is evidence. Figures have 95 % intervals,
    and methods are compared question by question: the sentences say which one is better, and how
    sure that is.
    """  # noqa: D301 - a backspace keeps the lines of a paragraph as they are, says click
    _check(arguments)
    reports = None
    with ExitStack() as stack:
        sets = _opened(arguments, stack)
        if arguments["dry_run"]:
            return _foresee(sets, arguments)
        with _going_on_later(arguments):
            summary, judged = _measured(sets, arguments)
            if arguments["report"] is not None:
                reports = _written(summary, judged, sets, arguments)
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
    """Refuse what cannot be done, before anything is opened or paid.

    Raises:
        UsageError: If an option is missing, or of no use.
        OptionError: If there is no such method or metric, or the report cannot be called so.
    """
    from spanwise.evaluation.retrievers import read_method

    if arguments["questions"] is None and not arguments["dataset"]:
        raise click.UsageError("there are no questions; name a file of them, or a --dataset")
    for option, needed in given_in_vain(arguments):
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
    """Refuse a report whose files would replace what is read.

    Raises:
        OptionError: If it cannot be called so.
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
    """Refuse half of what graded answers take.

    Raises:
        UsageError: If a model is missing.
        OptionError: If the sheet or its key is there already, or their folder is not.
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


def _opened(arguments: EvalArguments, stack: ExitStack) -> tuple[OpenedSet, ...]:
    """Return the sets of questions, each with its open knowledge base.

    Raises:
        UsageError: If two sets have one name; no document was taken in then.
    """
    from spanwise.cli.evaluation_sets import open_dataset, open_questions
    from spanwise.evaluation.datasets import read_dataset

    sets = []
    if arguments["questions"] is not None:
        sets.append(open_questions(arguments["questions"], arguments["kb"], stack=stack))
    store = cast("Store", arguments["store"])
    read = [
        (read_dataset(named.name, named.path, store=store), named.path)
        for named in named_datasets(arguments["dataset"])
    ]
    names = Counter([one.dataset.name for one in sets] + [dataset.name for dataset, _ in read])
    for name, times in names.items():
        if times > 1:
            raise click.UsageError(f"two sets of questions are called {name!r}; measure them apart")
    work, quiet = work_folder(arguments), arguments["as_json"]
    sets += [
        open_dataset(dataset, path, stack=stack, work=work, quiet=quiet) for dataset, path in read
    ]
    return tuple(sets)


@contextmanager
def _going_on_later(arguments: EvalArguments) -> Iterator[None]:
    """Say what stays after Ctrl-C.

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


def _measured(sets: Sequence[OpenedSet], arguments: EvalArguments) -> tuple[Summary, Judged | None]:
    from spanwise.evaluation.report import summarise
    from spanwise.evaluation.results import merged

    bar = step_bar(quiet=arguments["as_json"])
    with bar as draw:
        parts = _evaluated_sets(sets, arguments, draw)
        evaluation = merged(parts)
        words = click.get_current_context().meta[_WORDS]
        command = f"spanwise eval {shlex.join(words)}"
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
            left = cost_left(arguments["max_cost"], parts)
            judged = judged_sets(asked, arguments, methods=methods, left=left, draw=draw)
    return summary, judged


def _contexts(arguments: EvalArguments) -> tuple[str, ...]:
    """Return the retrievers whose contexts are answered from; none to answer as `ask` does."""
    named = () if arguments["compare"] is None else method_names(arguments)
    return (*named, *arguments["retriever"])


def _foresee(sets: Sequence[OpenedSet], arguments: EvalArguments) -> ExitCode:
    """Say what answers and grades would take."""
    foreseen = foreseen_sets(sets, arguments, methods=_contexts(arguments))
    if arguments["as_json"]:
        write_json({"foreseen": foreseen}, sys.stdout)
        return ExitCode.OK
    page = Page()
    for what, usage in foreseen.items():
        said = usage_words(usage, at_most=True) or ["no model call"]
        page.wrapped(f"{what}: {page.joined(said)}")
    page.wrapped("an answer or a grade that cannot be read is asked for once more", "dim")
    return ExitCode.OK


def _evaluated_sets(
    sets: Sequence[OpenedSet], arguments: EvalArguments, draw: Callable[[str, int, int], None]
) -> list[Evaluation]:
    """Return what is measured of each set, what is left of the money going to the next."""
    parts: list[Evaluation] = []
    for one in sets:
        left = cost_left(arguments["max_cost"], parts)
        parts.append(_evaluated(one, arguments, draw, left=left))
    return parts


def _evaluated(
    one: OpenedSet,
    arguments: EvalArguments,
    draw: Callable[[str, int, int], None],
    *,
    left: float | None,
) -> Evaluation:
    from spanwise.config import model_options
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
        models=model_options(max_cost=left),
        work=work_folder(arguments),
        on_progress=hear,
    )


def _asked(evaluation: Evaluation) -> tuple[LabelledQuestion, ...]:
    """Return the questions that were asked: as many as the limit allows, with checked evidence."""
    return tuple({one.question.id: one.question for one in evaluation.scores}.values())


def _written(
    summary: Summary,
    judged: Judged | None,
    sets: Sequence[OpenedSet],
    arguments: EvalArguments,
) -> Reports:
    """Write the report and its explain views."""
    from spanwise.evaluation.dataset_base import texts
    from spanwise.evaluation.report import (
        Beside,
        drawing_commands,
        question_words,
        write_reports,
        write_views,
    )

    path = arguments["report"] or Path()
    with waiting("writing the report"), ExitStack() as stack:
        materials = {
            one.dataset.name: stack.enter_context(_material(one, summary, arguments))
            for one in sets
        }
        beside = Beside(
            texts={one.dataset.name: texts(one.base, dataset=one.dataset) for one in sets},
            explained=write_views(summary, materials, path, views=arguments["explain"]),
            drawing=drawing_commands(
                summary, reranker=arguments["rerank"], tuning=arguments["tuning"]
            ),
            words=question_words(summary, {one.dataset.name: one.path for one in sets}),
        )
        return write_reports(summary, path, beside=beside, judged=judged)


def _material(one: OpenedSet, summary: Summary, arguments: EvalArguments) -> EvaluationContext:
    """Return what a set was measured with; what its reranker said is kept in its knowledge base."""
    from spanwise.config import model_options
    from spanwise.evaluation.retrievers import EvaluationContext

    return EvaluationContext(
        one.base,
        tokenizer=arguments["tokenizer"],
        reranker=arguments["rerank"] or None,
        tuning=arguments["tuning"],
        models=model_options(max_cost=cost_left(arguments["max_cost"], [summary.evaluation])),
        work=work_folder(arguments),
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
