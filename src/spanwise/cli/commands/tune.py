"""`spanwise tune`: fit search settings to labelled questions and measure the improvement."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from spanwise.cli.arguments import (
    budgets_option,
    json_option,
    knowledge_base_option,
    max_cost_option,
)
from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode
from spanwise.cli.layout import Page, count
from spanwise.cli.output import write_json
from spanwise.cli.progress import step_bar
from spanwise.config import knowledge_base_path, model_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.evaluation.dataset import LabelledQuestion
    from spanwise.evaluation.tuning import TuneOptions, TuneReport
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.options import ModelOptions
    from spanwise.search.tuned_options import Tuning
    from spanwise.types.plain import Plain


_FULL_RECALL = 0.999  # shown as 100 %
_MAX_DIGITS = 9  # int() refuses numbers with thousands of digits


class _TuneArguments(TypedDict):
    path: Path | None
    kb: str | None
    out: Path
    budget: tuple[int, ...]
    tokenizer: str | None
    chunk_sizes: tuple[int, ...]
    rerank: str
    rerank_chunks: int | None
    no_known_answers: bool
    max_cost: float | None
    as_json: bool


def _numbers(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, ...]:
    """Return the whole numbers of a comma-separated list."""
    if not value:
        return ()
    parts = [part.strip() for part in value.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) <= _MAX_DIGITS for part in parts):
        raise click.BadParameter(f"{value!r} is not a list of whole numbers, such as 1000,4000")
    return tuple(dict.fromkeys(int(part) for part in parts))


@click.command(
    cls=ExampleCommand,
    short_help="Tune search settings on your questions.",
    examples=[
        (
            "tune the settings and measure the improvement",
            "spanwise tune questions.jsonl",
        ),
        (
            "also try other chunk lengths; each adds all documents to a copy",
            "spanwise tune questions.jsonl --chunk-sizes 300,600",
        ),
        (
            "tune the weight of a reranker, without labelled questions",
            "spanwise tune --rerank cohere:rerank-v3.5",
        ),
        ("search with the tuning file", 'spanwise search "main risks" --tuning tuned.toml'),
    ],
    exit_codes=(
        ExitCode.OK,
        ExitCode.ERROR,
        ExitCode.USAGE,
        ExitCode.INTERRUPTED,
        ExitCode.TERMINATED,
    ),
)
@click.argument(
    "path", metavar="[FILE]", required=False, type=click.Path(dir_okay=False, path_type=Path)
)
@knowledge_base_option
@click.option(
    "--out",
    metavar="FILE",
    default="tuned.toml",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Tuning file to write. An earlier tuning file is replaced.",
)
@budgets_option(
    "Token budget of your searches. Settings are chosen by the mean recall over all budgets."
)
@click.option(
    "--tokenizer",
    metavar="NAME",
    help="Tokenizer for the token budgets. Default: the tokenizer of the knowledge base.",
)
@click.option(
    "--chunk-sizes",
    metavar="CHARACTERS",
    callback=_numbers,
    help="Chunk lengths to try, in characters, separated by commas: 300,600. For each, all "
    "documents are added to a temporary knowledge base.",
)
@click.option(
    "--rerank",
    metavar="MODEL",
    default="",
    help="Reranker whose weight is tuned. It is called for every question.",
)
@click.option(
    "--rerank-chunks",
    metavar="NUMBER",
    type=click.IntRange(min=1, max=1000),
    help="Maximum candidates per question that the reranker scores. Default: 200.",
)
@click.option(
    "--no-known-answers",
    is_flag=True,
    help="Keep words of the evidence (known answers) out of the tuning file. By default, they are "
    "stored if they improve the results of similar questions.",
)
@max_cost_option("Maximum total cost of the run in US dollars: embedder and reranker.")
@json_option
def tune(**arguments: Unpack[_TuneArguments]) -> ExitCode:
    """Tune search settings on questions with known evidence, and measure the improvement.

    Settings are fitted to some of the questions and measured on the others (cross-validation).
    Where possible, the two groups are about different documents. If no improvement can be shown,
    the tuning file contains the defaults. At least 10 questions are needed; 50 or more are
    recommended. Without FILE, section titles serve as questions. They are easier than real
    questions, so only the weights of the embedder and the reranker are tuned on them.
    """
    from spanwise.evaluation.tuning import TuneOptions
    from spanwise.evaluation.tuning.tuner import check_replaceable, write_tuning
    from spanwise.knowledge_base import KnowledgeBase

    check_replaceable(arguments["out"])
    options = TuneOptions(
        budgets=tuple(dict.fromkeys(arguments["budget"])),
        tokenizer=arguments["tokenizer"],
        chunk_targets=arguments["chunk_sizes"],
        known_answers=not arguments["no_known_answers"],
    )
    models = model_options(max_cost=arguments["max_cost"])
    path = knowledge_base_path(arguments["kb"])
    with KnowledgeBase(path, create=False, models=models) as knowledge_base:
        report = _tune(knowledge_base, models, options, arguments)
    write_tuning(report.tuning, arguments["out"])
    if arguments["as_json"]:
        write_json(_plain(report, arguments["out"]), sys.stdout)
    else:
        _draw(report, arguments["out"], Page())
    return ExitCode.OK


def _tune(
    knowledge_base: KnowledgeBase,
    models: ModelOptions,
    options: TuneOptions,
    arguments: _TuneArguments,
) -> TuneReport:
    from spanwise.evaluation.tuning import tune as run
    from spanwise.evaluation.tuning.tuner import tuned_reranking
    from spanwise.models.ledger import Ledger
    from spanwise.models.registry import make_reranker

    ledger = Ledger(max_cost=models.max_cost)
    reranking = None
    if arguments["rerank"]:
        reranking = tuned_reranking(
            knowledge_base,
            make_reranker(arguments["rerank"], options=models),
            chunks=arguments["rerank_chunks"],
            ledger=ledger,
        )
    with step_bar(quiet=arguments["as_json"]) as draw:
        return run(
            knowledge_base,
            _questions(knowledge_base, arguments["path"]),
            options=options,
            reranking=reranking,
            source="made" if arguments["path"] is None else "labelled",
            on_step=draw,
            ledger=ledger,
        )


def _questions(knowledge_base: KnowledgeBase, path: Path | None) -> Sequence[LabelledQuestion]:
    """Return the checked questions of a file, or else questions made from section titles."""
    from spanwise.evaluation.dataset_ingest import texts
    from spanwise.evaluation.datasets import read_questions
    from spanwise.evaluation.tuning import made_questions

    if path is None:
        return made_questions(knowledge_base)
    return read_questions(path, texts=texts(knowledge_base))


def _plain(report: TuneReport, out: Path) -> dict[str, Plain]:
    """Return the result of a tuning as JSON."""
    measured = report.tuning.measured
    return {
        "file": str(out),
        "is_shown": measured.is_shown,
        "questions": measured.questions,
        "source": measured.source,
        "left_out": report.left_out,
        "by_document": report.by_document,
        "question_kinds": len(report.tuning.model.known_answers.kinds),
        "figures": [
            {
                "budget_tokens": figure.budget_tokens,
                "before": figure.before,
                "after": figure.after,
                "difference": figure.difference,
                "interval": [figure.low, figure.high],
            }
            for figure in measured.figures
        ],
        "sentence": report.comparison.sentence,
        "note": report.note,
    }


def _draw(report: TuneReport, out: Path, page: Page) -> None:
    """Write the result of a tuning."""
    measured = report.tuning.measured
    questions = count(measured.questions, "question")
    if measured.source == "made":
        questions += " made of section titles"
    others = "questions about other documents" if report.by_document else "the other questions"
    page.wrapped(f"Recall of evidence on {questions}, with settings fitted to {others}:")
    page.facts(
        (
            f"{figure.budget_tokens:,} tokens",
            f"{figure.before * 100:.1f} % -> {figure.after * 100:.1f} %, difference "
            f"{figure.difference * 100:+.1f} [{figure.low * 100:.1f}, {figure.high * 100:.1f}]",
        )
        for figure in measured.figures
    )
    page.line()
    if measured.is_shown:
        page.wrapped(f"improved: {report.comparison.sentence}.", "green")
    else:
        page.wrapped(f"no improvement can be shown: {report.comparison.sentence}.", "yellow")
    for note in _notes(report, out):
        page.wrapped(note)


def _notes(report: TuneReport, out: Path) -> list[str]:
    """Return notes about the questions, the figures and the tuning file."""
    tuning: Tuning = report.tuning
    notes = []
    if report.left_out:
        left_out = count(report.left_out, "question")
        notes.append(f"{left_out} without evidence in characters or pages left out.")
    if report.note:
        notes.append(f"{report.note}.")
    if tuning.measured.source == "made":
        notes.append("Section titles are easier than real questions; label some to be certain.")
    if all(figure.before > _FULL_RECALL for figure in tuning.measured.figures):
        notes.append("The defaults find all evidence at these budgets; try smaller budgets.")
    if kinds := len(tuning.model.known_answers.kinds):
        notes.append(
            f"{out} contains words of your documents: evidence terms of {count(kinds, 'kind')} of "
            "questions. --no-known-answers leaves them out."
        )
    use = f"--tuning {out}"
    for name in tuning.model.rerankers:
        use += f" --rerank {name}"
    if not tuning.measured.is_shown:
        notes.append(f"{out} contains the defaults.")
    elif tuning.chunks is not None:
        notes.append(
            f"{out} is for chunks of {tuning.chunks.target} characters: run "
            f"`spanwise rebuild --tuning {out}`, and search with {use}."
        )
    else:
        notes.append(f"{out} is written; search with {use}.")
    return notes
