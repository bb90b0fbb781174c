"""What `add` and `sync` let a language model make: options, what they mean, and the dry run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click
from click.core import ParameterSource

from spanwise.cli.arguments import llm_option, max_cost_option
from spanwise.cli.layout import Page, one_line
from spanwise.cli.usage import usage_words
from spanwise.config import context_options, model_options

if TYPE_CHECKING:
    from spanwise.models.ports import LanguageModel
    from spanwise.options import ContextOptions, ModelOptions
    from spanwise.types import IngestReport


_Command = TypeVar("_Command", bound=Callable[..., Any])
_PARTS = "--sections, --headers, --chunk-contexts or --read-pages"


class MakingArguments(TypedDict):
    """What a command line says of what a language model makes."""

    llm: str
    sections: bool
    headers: bool
    chunk_contexts: bool
    read_pages: bool
    fallback: str | None
    max_cost: float | None
    batch: bool
    dry_run: bool


class Made(TypedDict):
    """What a knowledge base is told of it."""

    llm: LanguageModel | None
    context: ContextOptions | None
    dry_run: bool


def making_options(command: _Command) -> _Command:
    """Add the options of what a language model makes, and `--dry-run`."""
    options: tuple[Callable[[Any], Any], ...] = (
        llm_option(makes=_PARTS),
        click.option(
            "--sections",
            is_flag=True,
            help="Let the model cut documents into sections by meaning.",
        ),
        click.option(
            "--headers",
            is_flag=True,
            help="Let it write titles, and summaries of documents and sections.",
        ),
        click.option(
            "--chunk-contexts",
            is_flag=True,
            help="Let it write for each chunk what places it in its document.",
        ),
        click.option(
            "--read-pages",
            is_flag=True,
            help="Let it read pages of PDFs that are pictures or have tables with merged cells; "
            "it must be a model that sees pictures.",
        ),
        click.option(
            "--fallback",
            metavar="MODEL",
            help="Language model that is asked where the first one fails.",
        ),
        max_cost_option(
            "Most US dollars that it may cost; what is not taken in then is said, and the same "
            "command goes on."
        ),
        click.option(
            "--batch",
            is_flag=True,
            help="Ask by the batch interface of the provider: for about half the price, within "
            "hours.",
        ),
        click.option(
            "--dry-run",
            is_flag=True,
            help="Change nothing, and say what would be; with a model, what it would take.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def models_of(arguments: MakingArguments) -> ModelOptions:
    """Return how models are called."""
    return model_options(
        fallback=arguments["fallback"],
        max_cost=arguments["max_cost"],
        batch=arguments["batch"],
    )


def made_of(arguments: MakingArguments, *, models: ModelOptions) -> Made:
    """Return what a knowledge base is told to let a model make.

    The model is made and checked here, so that a slip makes no knowledge base.

    Raises:
        UsageError: If a model is named and nothing is asked of it, or the other way round.
        OptionError: If no installed package offers the model, or it cannot be called as asked.
        ModelKeyError: If there is no key for it.
    """
    parts = {
        "sections": arguments["sections"],
        "headers": arguments["headers"],
        "chunk_contexts": arguments["chunk_contexts"],
        "read_pages": arguments["read_pages"],
    }
    if not any(parts.values()):
        for name in ("llm", "fallback", "batch"):
            source = click.get_current_context().get_parameter_source(name)
            if source is ParameterSource.COMMANDLINE:
                option = f"--{name.replace('_', '-')}"
                raise click.UsageError(f"{option} is of no use without {_PARTS}")
        return Made(llm=None, context=None, dry_run=arguments["dry_run"])
    if not arguments["llm"]:
        asked = [f"--{name.replace('_', '-')}" for name, on in parts.items() if on]
        raise click.UsageError(
            f"{', '.join(asked)} {'needs' if len(asked) == 1 else 'need'} a language model; name "
            "one by --llm vendor:model, or set llm.model"
        )
    from spanwise.knowledge_base.enriching import called_model
    from spanwise.models.caller import MemoryOutputs
    from spanwise.models.ledger import Ledger
    from spanwise.models.registry import make_language_model

    model = make_language_model(arguments["llm"], options=models)
    ledger = Ledger(max_cost=None if arguments["dry_run"] else models.max_cost)
    called_model(model, models=models, kept=MemoryOutputs(), ledger=ledger)
    return Made(
        llm=model,
        context=context_options(**parts),
        dry_run=arguments["dry_run"],
    )


def draw_foreseen(report: IngestReport) -> None:
    """Write a line for each document that would change, and for each task of a model."""
    page = Page()
    for verb, documents in (
        ("add", report.added),
        ("replace", report.replaced),
        ("remove", report.removed),
    ):
        for document_id in documents:
            page.line(f"would {verb} {one_line(document_id)}")
    for task, usage in report.usage_by_task.items():
        page.line(f"{task}: {page.joined(usage_words(usage, at_most=True))}")
