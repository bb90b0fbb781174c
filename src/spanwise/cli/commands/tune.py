"""`spanwise tune`: fit search to your questions, and measure the gain."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from spanwise.cli.arguments import json_option, knowledge_base_option, max_cost_option
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


_ALL = 0.999  # of the evidence, to what is shown
_MOST_DIGITS = 9  # Python reads no number of thousands of them


class _TuneArguments(TypedDict):
    path: Path | None
    kb: str | None
    out: Path
    budget: tuple[int, ...]
    tokenizer: str | None
    chunk_sizes: tuple[int, ...]
    rerank: str
    rerank_chunks: int
    no_known_answers: bool
    max_cost: float | None
    as_json: bool


def _numbers(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, ...]:
    """Return the whole numbers of a list with commas."""
    if not value:
        return ()
    parts = [part.strip() for part in value.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) <= _MOST_DIGITS for part in parts):
        raise click.BadParameter(f"{value!r} is no list of whole numbers, such as 1000,4000")
    return tuple(dict.fromkeys(int(part) for part in parts))


@click.command(
    cls=ExampleCommand,
    short_help="Tune search settings on your questions.",
    examples=[
        (
            "settings for these documents, and what they gain",
            "spanwise tune questions.jsonl",
        ),
        (
            "other lengths of chunks as well; each needs an ingest of all documents",
            "spanwise tune questions.jsonl --chunk-sizes 300,600",
        ),
        (
            "the weight of a reranker, without questions of your own",
            "spanwise tune --rerank cohere:rerank-v3.5",
        ),
        ("search with them", 'spanwise search "main risks" --tuning tuned.toml'),
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
    help="File to write; one that `tune` wrote before is replaced.",
)
@click.option(
    "--budget",
    multiple=True,
    metavar="TOKENS",
    type=click.IntRange(min=1),
    default=(1_000, 4_000),
    show_default=True,
    help="Tokens of text that you search for; repeat for more.",
)
@click.option(
    "--tokenizer",
    metavar="NAME",
    help="Tokenizer used to count tokens for the budgets. Default: that of the knowledge base.",
)
@click.option(
    "--chunk-sizes",
    metavar="CHARACTERS",
    callback=_numbers,
    help="Lengths of chunks to try, such as 300,600; each costs an ingest.",
)
@click.option(
    "--rerank", metavar="MODEL", default="", help="Reranker whose weight is fitted; it is called."
)
@click.option(
    "--rerank-chunks",
    metavar="NUMBER",
    type=click.IntRange(min=1, max=1000),
    default=100,
    show_default=True,
    help="Most candidates of each question that it reads.",
)
@click.option(
    "--no-known-answers",
    is_flag=True,
    help="Learn no known answers, so that the file holds no words of your documents.",
)
@max_cost_option("Maximum total cost of the run in US dollars: embedder and reranker.")
@json_option
def tune(**arguments: Unpack[_TuneArguments]) -> ExitCode:
    """Tune search settings on questions whose evidence you know, and measure the gain.

    Weights, table and settings are fitted to some questions and measured on others, about other
    documents if there are enough. If no gain can be shown, the file keeps the defaults. At least
    ten questions are needed, better fifty. Without FILE, titles of sections are the questions: that
    places an embedder or a reranker, and says less than questions of people.
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
    with step_bar(quiet=arguments["as_json"]) as hear:
        return run(
            knowledge_base,
            _questions(knowledge_base, arguments["path"]),
            options=options,
            reranking=reranking,
            source="made" if arguments["path"] is None else "labelled",
            hear=hear,
            ledger=ledger,
        )


def _questions(knowledge_base: KnowledgeBase, path: Path | None) -> Sequence[LabelledQuestion]:
    """Return the questions of a file, checked against the documents, or those made from titles."""
    from spanwise.evaluation.dataset_ingest import texts
    from spanwise.evaluation.datasets import check_questions, read_questions
    from spanwise.evaluation.tuning import made_questions

    if path is None:
        return made_questions(knowledge_base)
    return check_questions(read_questions(path), texts(knowledge_base), called=str(path))


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
                "budget_tokens": one.budget_tokens,
                "before": one.before,
                "after": one.after,
                "difference": one.difference,
                "interval": [one.low, one.high],
            }
            for one in measured.figures
        ],
        "sentence": report.comparison.sentence,
        "note": report.note,
    }


def _draw(report: TuneReport, out: Path, page: Page) -> None:
    """Print the result of a tuning."""
    measured = report.tuning.measured
    asked = count(measured.questions, "question")
    if measured.source == "made":
        asked += " made of titles of sections"
    where = ", in other documents than it was tuned on" * report.by_document
    page.wrapped(f"Recall of evidence on {asked}, each tuned without it{where}:")
    page.facts(
        (
            f"{one.budget_tokens:,} tokens",
            f"{one.before * 100:.1f} % -> {one.after * 100:.1f} %, difference "
            f"{one.difference * 100:+.1f} [{one.low * 100:.1f}, {one.high * 100:.1f}]",
        )
        for one in measured.figures
    )
    page.line()
    if measured.is_shown:
        page.message("improved: ", f"{report.comparison.sentence}.", "green")
    else:
        page.message("no improvement can be shown: ", f"{report.comparison.sentence}.", "yellow")
    for said in _notes(report, out):
        page.wrapped(said)


def _notes(report: TuneReport, out: Path) -> list[str]:
    """Return further notes about the result."""
    tuning: Tuning = report.tuning
    notes = []
    if report.left_out:
        left = count(report.left_out, "question")
        notes.append(f"{left} without evidence in characters or pages left out.")
    if report.note:
        notes.append(f"{report.note}.")
    if tuning.measured.source == "made":
        notes.append("Titles are easier than questions of people; label some to know more.")
    if all(one.before > _ALL for one in tuning.measured.figures):
        notes.append("All evidence is found at these budgets already; smaller ones leave room.")
    if kinds := len(tuning.model.known_answers.kinds):
        notes.append(
            f"It knows the answers to {count(kinds, 'kind')} of questions: {out} holds words of "
            "your documents. --no-known-answers keeps them out."
        )
    use = f"--tuning {out}"
    for name in tuning.model.rerankers:
        use += f" --rerank {name}"
    if not tuning.measured.is_shown:
        notes.append(f"{out} keeps the defaults.")
    elif tuning.chunks is not None:
        notes.append(
            f"{out} is written for chunks of {tuning.chunks.target} characters: add the "
            f"documents to a new knowledge base by `spanwise add ... --tuning {out}`, and search "
            f"it with {use}."
        )
    else:
        notes.append(f"{out} is written; search with {use}.")
    return notes
