"""`spanwise questions`: make questions with answers and evidence, and check a file of them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from spanwise.cli.arguments import json_option, knowledge_base_option, llm_option, max_cost_option
from spanwise.cli.command_classes import ExampleCommand, ExampleGroup
from spanwise.cli.failures import ExitCode
from spanwise.cli.layout import Page, count, usage_words
from spanwise.cli.output import write_json
from spanwise.cli.progress import step_bar
from spanwise.config import knowledge_base_path, model_options, setting

if TYPE_CHECKING:
    from spanwise.evaluation.dataset import LabelledQuestion
    from spanwise.evaluation.questions.question_file import MadeQuestions, MakingOptions
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.types import Usage


_KINDS = {
    "characters": "with evidence by characters",
    "pages": "with evidence by pages alone",
    "documents": "with evidence by documents alone",
    "none": "without evidence",
}


class _MakeArguments(TypedDict):
    kb: str | None
    llm: str
    n: int
    out: Path
    unanswerable: int
    seed: int
    max_cost: float | None
    dry_run: bool
    as_json: bool


@click.group(
    cls=ExampleGroup,
    short_help="Make and check questions to measure with.",
    examples=[
        (
            "generate 50 questions about your documents with a model",
            "spanwise questions make --llm openai:gpt-5-mini --out questions.jsonl",
        ),
        ("whether a file of questions fits", "spanwise questions check questions.jsonl"),
    ],
)
def questions() -> None:
    """Questions with answers and evidence, for `eval` and `tune`."""


@questions.command(
    cls=ExampleCommand,
    short_help="Make questions from the documents, by a model.",
    examples=[
        (
            "what 50 of them would cost",
            "spanwise questions make --llm openai:gpt-5-mini --out q.jsonl --dry-run",
        ),
        (
            "include some unanswerable questions",
            "spanwise questions make --unanswerable 5 --llm ollama:qwen3 --out q.jsonl",
        ),
    ],
    exit_codes=(
        ExitCode.OK,
        ExitCode.ERROR,
        ExitCode.USAGE,
        ExitCode.NOTHING_FOUND,
        ExitCode.INTERRUPTED,
        ExitCode.TERMINATED,
    ),
)
@knowledge_base_option
@llm_option()
@click.option(
    "--n",
    type=click.IntRange(min=0),
    default=50,
    show_default=True,
    help="How many questions that the documents answer.",
)
@click.option(
    "--unanswerable",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="How many additional questions that the documents do not answer, as far as the model can "
    "tell.",
)
@click.option(
    "--out",
    metavar="FILE",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write, lines of JSON; it must not be there yet.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Which places of the documents are asked about.",
)
@max_cost_option("Maximum total cost of the run in US dollars. Answers of the model are cached.")
@click.option(
    "--dry-run", is_flag=True, help="Estimate calls, tokens and cost without calling any model."
)
@json_option
def make(**arguments: Unpack[_MakeArguments]) -> ExitCode:
    """Make questions, answers and evidence from the documents, each checked against the text.

    The places are spread over documents and sections. A question is used if its quotes are in the
    text, they support its answer, it can be understood alone, and it is neither a copy nor a
    repetition. Others are counted and replaced by one about another place. Outputs of the model are
    cached in the knowledge base: the same command continues where it was stopped. Read the
    questions before you rely on them.
    """
    from spanwise.evaluation.questions.question_file import MakingOptions, check_new_file
    from spanwise.knowledge_base import KnowledgeBase

    llm = arguments["llm"] or str(setting("llm.model") or "")
    if not llm:
        raise click.UsageError(
            "questions are made by a language model; name one by --llm vendor:model, or set "
            "llm.model"
        )
    models = model_options(max_cost=arguments["max_cost"])
    options = MakingOptions(
        n=arguments["n"],
        unanswerable=arguments["unanswerable"],
        seed=arguments["seed"],
        models=models,
    )
    check_new_file(arguments["out"])
    path = knowledge_base_path(arguments["kb"])
    with KnowledgeBase(path, create=False, models=models) as knowledge_base:
        if arguments["dry_run"]:
            return _foresee(knowledge_base, llm, options, as_json=arguments["as_json"])
        return _make(knowledge_base, llm, options, arguments)


@questions.command(
    cls=ExampleCommand,
    short_help="Check a file of questions against the documents.",
    examples=[("every place, document and page", "spanwise questions check questions.jsonl")],
    exit_codes=(ExitCode.OK, ExitCode.ERROR, ExitCode.USAGE),
)
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@knowledge_base_option
@json_option
def check(*, path: Path, kb: str | None, as_json: bool) -> ExitCode:
    """Check that the evidence of questions is in the documents, and count the questions of a file.

    All faults are reported together, with their lines. Nothing is changed.
    """
    from spanwise.evaluation.dataset_ingest import texts
    from spanwise.evaluation.datasets import check_questions, read_questions
    from spanwise.knowledge_base import KnowledgeBase

    read = read_questions(path)
    with KnowledgeBase(knowledge_base_path(kb), create=False) as knowledge_base:
        checked = check_questions(read, texts(knowledge_base), called=str(path))
    counts = _counts(checked)
    if as_json:
        write_json({"questions": len(checked), **counts}, sys.stdout)
        return ExitCode.OK
    page = Page()
    page.line(f"{count(len(checked), 'question')}, all in order")
    page.facts((words, f"{counts[kind]:,}") for kind, words in _KINDS.items() if counts[kind])
    page.facts(
        (words, f"{counts[kind]:,}")
        for kind, words in (("answers", "with an answer"), ("rubrics", "with a rubric"))
        if counts[kind]
    )
    return ExitCode.OK


def _counts(checked: tuple[LabelledQuestion, ...]) -> dict[str, int]:
    """Return the number of questions of each kind."""
    kinds = Counter(map(_kind, checked))
    return {
        **{kind: kinds[kind] for kind in _KINDS},
        "answers": sum(bool(one.answer.strip()) for one in checked),
        "rubrics": sum(bool(one.rubric.strip()) for one in checked),
    }


def _kind(question: LabelledQuestion) -> str:
    if any(one.start is not None for one in question.evidence):
        return "characters"
    if any(one.page is not None for one in question.evidence):
        return "pages"
    return "documents" if question.evidence else "none"


def _foresee(
    knowledge_base: KnowledgeBase, llm: str, options: MakingOptions, *, as_json: bool
) -> ExitCode:
    """Print the estimated usage."""
    from spanwise.evaluation.questions.generator import estimate_questions
    from spanwise.evaluation.questions.question_file import PLACES_A_QUESTION
    from spanwise.models.registry import make_language_model

    model = make_language_model(llm, options=options.models)
    foreseen = estimate_questions(knowledge_base, llm=model, options=options)
    if as_json:
        write_json({"foreseen": foreseen}, sys.stdout)
        return ExitCode.OK
    page = Page()
    for task, usage in foreseen.items():
        page.wrapped(f"{task}: {page.joined(usage_words(usage, at_most=True))}")
    page.wrapped(
        "if every question can be used; each that cannot takes a call more, "
        f"{PLACES_A_QUESTION} for each question at most"
    )
    return ExitCode.OK


def _make(
    knowledge_base: KnowledgeBase, llm: str, options: MakingOptions, arguments: _MakeArguments
) -> ExitCode:
    """Make and write the questions, and print the result."""
    from spanwise.evaluation.questions.generator import make_questions
    from spanwise.evaluation.questions.question_file import write_questions

    with step_bar(quiet=arguments["as_json"]) as draw:

        def on_progress(made: int, wanted: int, calls: int) -> None:
            draw(f"questions ({count(calls, 'model call')})", made, wanted)

        made = make_questions(knowledge_base, llm=llm, options=options, on_progress=on_progress)
    if made.questions:
        write_questions(made.questions, arguments["out"])
    if arguments["as_json"]:
        said = {"file": str(arguments["out"]) if made.questions else None, **_summary(made)}
        write_json(said, sys.stdout)
    else:
        _draw(made, arguments["out"], Page())
    return ExitCode.OK if made.questions else ExitCode.NOTHING_FOUND


def _summary(made: MadeQuestions) -> Mapping[str, object]:
    return {
        "questions": len(made.questions),
        "wanted": made.wanted,
        "places": made.places,
        "refused": made.refused,
        "first_error": made.first_error,
        "usage": _plain(made.usage),
    }


def _plain(usage: Usage) -> Mapping[str, object]:
    return {name: value for name, value in usage.to_dict().items() if name != "seconds"}


def _draw(made: MadeQuestions, out: Path, page: Page) -> None:
    from spanwise.evaluation.questions.question_checks import REASONS

    written = count(len(made.questions), "question")
    if made.questions:
        page.wrapped(f"{out}: {written} of {made.wanted:,}, from {count(made.places, 'place')}")
    else:
        page.wrapped(f"no question of {made.wanted:,} could be used; {out} is not written")
    for reason, times in made.refused.items():
        page.wrapped(f"{times:,} not used: {REASONS[reason]}", indent="  ", hang="  ")
    if made.first_error:
        page.wrapped(f"first failure: {made.first_error}", "dim", indent="  ", hang="  ")
    page.wrapped(page.joined(usage_words(made.usage)), "dim")
    if made.questions:
        page.wrapped(
            "read them before you rely on them; then "
            f"`spanwise eval {quote(str(out))}` measures by them"
        )
