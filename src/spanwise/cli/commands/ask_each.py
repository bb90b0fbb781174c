"""`spanwise ask --each`: put a question to each document, after an estimate of the cost."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypedDict

import click
from click.core import ParameterSource

from spanwise.cli.commands.ask import draw_citation
from spanwise.cli.failures import ExitCode, Interrupted
from spanwise.cli.layout import Page, count, duration, one_line, usage_words
from spanwise.cli.output import write_json
from spanwise.cli.progress import step_bar, waiting
from spanwise.options.answers import EACH_TOKENS

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.options import AnswerOptions, QueryOptions
    from spanwise.types import DocumentAnswer, DocumentAnswers

_UNUSABLE = (
    "excerpts",
    "excerpt_tokens",
    "preset",
    "method",
    "rounds",
    "rerank",
    "spread",
    "no_deep",
    "send_page_images",
    "thread",
    "chat",
)
_INDENT = "    "


class EachKeywords(TypedDict):
    """Arguments of `KnowledgeBase.ask_each` other than the question."""

    llm: str
    query_llm: str | None
    documents: Sequence[str] | None
    where: str | None
    options: AnswerOptions
    write_queries: bool
    query_options: QueryOptions
    fresh: bool


def check_options() -> None:
    """Refuse options of `ask` that do not apply to `--each`.

    Raises:
        UsageError: If one of them is given on the command line.
    """
    context = click.get_current_context()
    for name in _UNUSABLE:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = name.replace("_", "-")
            raise click.UsageError(
                f"--{option} cannot be combined with --each; leave one of them out"
            )


def given_budget(budget: int) -> int:
    """Return `--budget` if it was given, and the default of `ask_each` otherwise."""
    source = click.get_current_context().get_parameter_source("budget")
    return EACH_TOKENS if source is ParameterSource.DEFAULT else budget


def run_each(
    knowledge_base: KnowledgeBase,
    question: str,
    keywords: EachKeywords,
    *,
    dry_run: bool,
    asks: bool,
    as_json: bool,
) -> ExitCode:
    """Estimate the cost, put the question to each document, and write the list.

    Args:
        knowledge_base: Knowledge base, or several as one.
        question: Question about each document.
        keywords: Other arguments of `ask_each`.
        dry_run: Whether to write the estimate only.
        asks: Whether to ask for confirmation of a cost on a terminal.
        as_json: Whether to write JSON.
    """
    with waiting("estimating the cost"):
        estimate = knowledge_base.ask_each(question, **keywords, dry_run=True)
    if dry_run:
        return _write_estimate(estimate, as_json=as_json)
    if not as_json:
        _draw_estimate(estimate, Page(sys.stderr))
    if asks and not _confirmed(estimate):
        return ExitCode.OK
    with _resumable(), step_bar(quiet=as_json) as draw:
        answers = knowledge_base.ask_each(
            question, **keywords, on_progress=lambda done, total: draw("documents", done, total)
        )
    if as_json:
        # Wall times are left out as in a search; `usage` differs between runs.
        fields = {name: value for name, value in answers.to_dict().items() if name != "seconds"}
        write_json(fields, sys.stdout)
    else:
        draw_answers(answers, Page())
    if answers.failed or answers.cost_limit_reached:
        return ExitCode.SOME_FAILED
    return ExitCode.OK if answers.yes else ExitCode.NOTHING_FOUND


def _write_estimate(estimate: DocumentAnswers, *, as_json: bool) -> ExitCode:
    if as_json:
        document = {"documents": len(estimate.documents), "usage": estimate.usage}
        write_json(document, sys.stdout)
    else:
        _draw_estimate(estimate, Page())
    return ExitCode.OK if estimate.documents else ExitCode.NOTHING_FOUND


def _draw_estimate(estimate: DocumentAnswers, page: Page) -> None:
    used = usage_words(estimate.usage, at_most=True)
    documents = f"{count(len(estimate.documents), 'document')} to read"
    page.wrapped(page.joined([documents, *used]), "dim")


def _confirmed(estimate: DocumentAnswers) -> bool:
    """Return whether the user accepts the cost; calls that are free need no confirmation."""
    is_free = estimate.usage.cost == 0 or not estimate.usage.calls
    if is_free or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    return click.confirm("Continue?", default=False, err=True)


@contextmanager
def _resumable() -> Iterator[None]:
    """After Ctrl-C, report that a repeated command continues.

    Raises:
        Interrupted: In place of KeyboardInterrupt.
    """
    try:
        yield
    except KeyboardInterrupt as interruption:
        raise Interrupted(
            "interrupted: answers of finished documents are stored in the knowledge base; run the "
            "same command again to continue"
        ) from interruption


def draw_answers(answers: DocumentAnswers, page: Page) -> None:
    """Write the counts, and the documents of each verdict with statements and citations."""
    page.wrapped(f"{answers.summary[:1].upper()}{answers.summary[1:]}.", "bold")
    for heading, documents in (("Yes", answers.yes), ("No", answers.no)):
        for document in documents:
            _draw_document(heading, document, page)
    for heading, documents in (
        ("Not stated", answers.not_stated),
        ("Failed", answers.failed),
        ("Not read", answers.not_read),
    ):
        if documents:
            page.line()
            page.line(page.paint(f"{heading}:", "bold"))
        for document in documents:
            page.wrapped(f"{_name(document)}{_detail(document)}", indent="  ", hang="  ")
    page.line()
    for warning in answers.warnings:
        page.message("warning: ", warning, "yellow")
    for query in answers.queries[1:]:
        page.wrapped(f"also searched: {query}", "dim")
    if answers.where:
        page.wrapped(f"only documents where {answers.where}", "dim")
    used = usage_words(answers.usage)
    page.wrapped(
        page.joined([answers.model, duration(sum(answers.seconds.values())), *used]), "dim"
    )


def _name(document: DocumentAnswer) -> str:
    base = f"{document.knowledge_base}: " if document.knowledge_base else ""
    name = f"{document.title} ({document.document_id})" if document.title else document.document_id
    return one_line(f"{base}{name}")


def _detail(document: DocumentAnswer) -> str:
    """Return the reason, or the share that was read of a document without an answer."""
    if document.reason:
        return f": {document.reason}"
    return "" if document.read_share >= 1 else f", {document.read_share:.0%} read"


def _draw_document(heading: str, document: DocumentAnswer, page: Page) -> None:
    value = f": {document.value}" if document.value else ""
    page.line()
    page.wrapped(f"{heading}{value}: {_name(document)}", "bold", hang="  ")
    for statement in document.statements:
        page.wrapped(statement, indent=_INDENT)
    for cited in document.citations:
        draw_citation(cited, page)
    for warning in document.warnings:
        page.message("warning: ", warning, "yellow")
