"""Graded answers of several sets of questions, and what is left of the money for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from spanwise.cli.evaluation_options import EvalArguments, work_folder
from spanwise.config import model_options
from spanwise.types import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwise.cli.evaluation_sets import OpenedSet
    from spanwise.evaluation.judging.graded import Judged
    from spanwise.evaluation.judging.runner import JudgingOptions
    from spanwise.evaluation.results import Evaluation

__all__ = ["cost_left", "foreseen_sets", "judged_sets"]


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
    from spanwise.evaluation.judging.runner import check_gradable

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
    from spanwise.evaluation.judging.foreseeing import foresee_answers
    from spanwise.evaluation.loading import texts
    from spanwise.evaluation.plan import spaced
    from spanwise.evaluation.reading import usable_questions
    from spanwise.registry import make_language_model

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
    from spanwise.evaluation.judging.runner import judge_answers

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
    from spanwise.evaluation.judging.runner import JudgingOptions
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
