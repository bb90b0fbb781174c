"""Command-line options of several commands, with their checks and their defaults from settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from spanwise.config import knowledge_base_path, shown_location
from spanwise.core.text.controls import clean
from spanwise.core.text.field_values import parse_value
from spanwise.errors import SpanwiseError
from spanwise.filters import items_of
from spanwise.types import MetadataValue

if TYPE_CHECKING:
    from spanwise.config import Location, ProjectFile, Setting, Value


_Command = TypeVar("_Command", bound=Callable[..., Any])


def with_options(*options: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """Return a decorator that adds options to a command; help lists them in this order."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def as_document_id(value: str) -> str:
    """Return a document id with undecodable bytes escaped, which is how ids are stored."""
    from spanwise.core.text.file_names import name_to_id

    return name_to_id(value)


def _one_knowledge_base(
    _: click.Context, __: click.Parameter, folders: Sequence[str]
) -> str | None:
    """Return the only value of `--kb`, or None.

    Raises:
        BadParameter: If there are several.
    """
    if len(folders) > 1:
        raise click.BadParameter(
            f"this command uses one knowledge base, and {len(folders)} are given: "
            f"{', '.join(map(shown_location, folders))}"
        )
    return folders[0] if folders else None


knowledge_base_option = click.option(
    "--kb",
    metavar="PLACE",
    multiple=True,  # a second one is an error instead of replacing the first
    callback=_one_knowledge_base,
    type=click.Path(file_okay=False, readable=False),
    help="Folder or address of the knowledge base, such as postgresql://db/reports. Default: "
    "SPANWISE_KB, then kb in spanwise.toml, then ./spanwise.kb.",
)


def knowledge_bases_option(
    several: str = "several are searched as one",
) -> Callable[[_Command], _Command]:
    """Return a decorator that adds a repeatable `--kb`.

    Args:
        several: Meaning of several knowledge bases, in the help.
    """
    return click.option(
        "--kb",
        metavar="PLACE",
        multiple=True,
        type=click.Path(file_okay=False, readable=False),
        help="Folder or address of the knowledge base, such as postgresql://db/reports. "
        f"Repeatable: {several}. Default: SPANWISE_KB, then kb in spanwise.toml, then "
        "./spanwise.kb.",
    )


json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Write one JSON document to standard output, also for an error.",
)
tuning_option = click.option(
    "--tuning",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    default="",
    help="Tuning file written by `spanwise tune`. Default: the setting search.tuning.",
)


def llm_option(*, purpose: str = "") -> Callable[[_Command], _Command]:
    """Return a decorator that adds `--llm`.

    Args:
        purpose: Phrase that follows "Language model" in the help, such as "for --headers".
    """
    model = f"Language model {purpose}" if purpose else "Language model"
    return click.option(
        "--llm",
        metavar="MODEL",
        default="",
        help=f'{model}; for example "openai:gpt-5-mini" or "ollama:qwen3". Default: the setting '
        "llm.model.",
    )


def budgets_option(help_text: str) -> Callable[[_Command], _Command]:
    """Return a decorator that adds a repeatable `--budget` with this help text."""
    return click.option(
        "--budget",
        multiple=True,
        metavar="TOKENS",
        type=click.IntRange(min=1),
        default=(1_000, 4_000),
        show_default=True,
        help=f"{help_text} Repeatable.",
    )


def max_cost_option(help_text: str) -> Callable[[_Command], _Command]:
    """Return a decorator that adds `--max-cost` with this help text."""
    return click.option(
        "--max-cost", metavar="DOLLARS", type=click.FloatRange(min=0), help=help_text
    )


def _checked_where(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> str | None:
    """Return the filters as one that requires all of them, or None if there are none.

    An empty filter, as from an unset shell variable, is an error.
    """
    if not all(value.strip() for value in values):
        raise click.BadParameter("the filter is empty; leave the option out to use all documents")
    if len(values) < 2:
        return values[0] if values else None
    return " and ".join(f"({value})" for value in values)


where_option = click.option(
    "--where",
    metavar="FILTER",
    multiple=True,
    callback=_checked_where,
    help="Metadata filter that selects the documents, such as 'year >= 2018 and company in "
    '("3M", "Apple")\'. Also: contains, starts with, exactly, exists, not, or, "nda" in tags, '
    "signed < 2019-02-01. Case and accents are ignored. Repeatable: all filters must pass.",
)


def complete_document_ids(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the document ids that begin with a prefix, for shell completion.

    Ids with terminal control characters are left out. On any error the list is empty.
    """
    from spanwise.knowledge_base import KnowledgeBase

    try:
        named = context.params.get("kb")
        folders = [named] if isinstance(named, str) else named or [None]
        records = []
        for folder in folders:
            with KnowledgeBase(knowledge_base_path(folder), create=False) as knowledge_base:
                records += knowledge_base.list()
    except SpanwiseError:
        return []
    ids = dict.fromkeys(record.id for record in records if record.id.startswith(incomplete))
    return [document_id for document_id in ids if clean(document_id) == document_id]


def parse_metadata(pairs: Sequence[str]) -> dict[str, MetadataValue]:
    """Return the metadata fields given as NAME=VALUE pairs.

    Numbers and the words true and false are converted. A value in double quotes is a string. A JSON
    list is a list, and so are the values of a repeated name.

    Raises:
        BadParameter: If a pair has no name or no `=`.
    """
    fields: dict[str, MetadataValue] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        name = name.strip()
        if not separator or not name:
            raise click.BadParameter(
                f"{pair!r} is not a NAME=VALUE pair; write it like year=2018",
                param_hint="--metadata",
            )
        parsed = parse_value(value.strip())
        if name in fields:
            parsed = (*items_of(fields[name]), *items_of(parsed))
        fields[name] = parsed
    return fields


_OPTIONS = {
    "search.budget": {"search": "budget", "explain": "budget"},
    "search.preset": {"search": "preset", "explain": "preset", "excerpts": "preset"},
    "search.tokenizer": {"search": "tokenizer", "explain": "tokenizer", "excerpts": "tokenizer"},
    "search.tuning": dict.fromkeys(("search", "explain", "excerpts", "ask", "eval"), "tuning"),
    "llm.model": dict.fromkeys(
        ("add", "sync", "search", "explain", "excerpts", "ask", "eval"), "llm"
    ),
    "excerpts.excerpts": {"excerpts": "excerpts"},
    "excerpts.excerpt_tokens": {"excerpts": "excerpt_tokens"},
    "add.include": {"add": "include", "sync": "include"},
    "add.exclude": {"add": "exclude", "sync": "exclude"},
    "add.durability": {"add": "durability", "sync": "durability"},
    "rerank.model": dict.fromkeys(("search", "explain", "excerpts", "ask", "eval"), "rerank"),
    "parse.timeout_seconds": {"add": "timeout", "sync": "timeout"},
    "parse.parser": {"add": "parser", "sync": "parser"},
    "parse.ocr": {"add": "ocr", "sync": "ocr"},
    "parse.workers": {"add": "workers", "sync": "workers"},
}
"""Parameters whose default comes from a setting: by name of the setting, then by command."""


class CreationKeywords(TypedDict, total=False):
    """Arguments of `KnowledgeBase` that apply only when it is created."""

    embedder: str | None
    tokenizer: str
    packs: tuple[str, ...]


def command_defaults(settings: Iterable[Setting]) -> dict[str, dict[str, Value]]:
    """Return the option defaults set by the user, by command and parameter."""
    defaults: dict[str, dict[str, Value]] = {}
    for setting in settings:
        if setting.origin == "default":
            continue
        for command, parameter in _OPTIONS.get(setting.name, {}).items():
            defaults.setdefault(command, {})[parameter] = setting.value
    return defaults


def untrusted_warning(project: ProjectFile | None) -> str:
    """Return a warning about ignored settings of the project file; empty if there are none."""
    if project is None or not project.ignored:
        return ""
    names = ", ".join(setting.name for setting in project.ignored)
    return (
        f"{project.path} is not trusted, so its settings {names} are ignored; read the file, then "
        "run `spanwise config trust`"
    )


def creation_keywords(location: Location) -> CreationKeywords:
    """Return the arguments for a new knowledge base; empty if there is one already."""
    from spanwise.config import read_settings
    from spanwise.knowledge_base.components import is_vacant

    if not is_vacant(location):
        return {}
    keywords: CreationKeywords = {}
    for setting in read_settings():
        name, value = setting.name, setting.value
        if name == "add.embedder" and setting.origin != "default":
            keywords["embedder"] = None if value == "none" else str(value)
        if name == "add.tokenizer" and setting.origin != "default":
            keywords["tokenizer"] = str(value)
        if name == "add.packs" and isinstance(value, tuple) and value:
            keywords["packs"] = () if value == ("none",) else value
    return keywords
