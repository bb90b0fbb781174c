"""Arguments that several commands share, and how their values are read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from spanwise.cli.layout import clean
from spanwise.config import knowledge_base_path
from spanwise.errors import SpanwiseError
from spanwise.types import Scalar

_Command = TypeVar("_Command", bound=Callable[..., Any])


def as_document_id(value: str) -> str:
    """Return an id as it was typed; bytes that are no text are read as ids write them."""
    from spanwise.core.text.file_names import name_to_id

    return name_to_id(value)


def knowledge_base_option(command: _Command) -> _Command:
    """Add `--kb`."""
    return click.option(
        "--kb",
        metavar="FOLDER",
        type=click.Path(file_okay=False, readable=False),
        help="Folder of the knowledge base. Without it SPANWISE_KB counts, then spanwise.toml, "
        "then ./spanwise.kb.",
    )(command)


def json_option(command: _Command) -> _Command:
    """Add `--json`."""
    return click.option(
        "--json",
        "as_json",
        is_flag=True,
        help="Write one JSON document instead; errors too, with their code.",
    )(command)


def llm_option(*, makes: str = "") -> Callable[[_Command], _Command]:
    """Return what adds `--llm`.

    Args:
        makes: What it makes, for the help; empty where the command says it.
    """
    what = f", that makes {makes}" if makes else ""
    return click.option(
        "--llm",
        metavar="MODEL",
        default="",
        help=f'Language model, such as "openai:gpt-5-mini" or "ollama:qwen3"{what}. Without it the '
        "setting llm.model counts.",
    )


def max_cost_option(words: str) -> Callable[[_Command], _Command]:
    """Return what adds `--max-cost`, with what it says in the help."""
    return click.option("--max-cost", metavar="DOLLARS", type=click.FloatRange(min=0), help=words)


def tuning_option(command: _Command) -> _Command:
    """Add `--tuning`."""
    return click.option(
        "--tuning",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        default="",
        help="Settings that `spanwise tune` wrote for these documents. Without it the setting "
        "search.tuning counts.",
    )(command)


def where_option(command: _Command) -> _Command:
    """Add `--where`."""
    return click.option(
        "--where",
        metavar="FILTER",
        callback=_checked_where,
        help="Only documents whose metadata pass, such as 'year >= 2018 and company in "
        '("3M", "Apple")\'.',
    )(command)


def _checked_where(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Return a filter that is not empty: an unset variable of a shell searches not everything."""
    if value is not None and not value.strip():
        raise click.BadParameter("it is empty; leave it out to search all documents")
    return value


def complete_document_ids(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the ids that begin so, for the completion of a shell; none if they cannot be read.

    Ids with characters that could steer the terminal are left out.
    """
    from spanwise.knowledge_base import KnowledgeBase

    try:
        path = knowledge_base_path(context.params.get("kb"))
        with KnowledgeBase(path, create=False) as knowledge_base:
            records = knowledge_base.list()
    except SpanwiseError:
        return []
    found = (record.id for record in records if record.id.startswith(incomplete))
    return [one for one in found if clean(one) == one]


def parse_metadata(pairs: Sequence[str]) -> dict[str, Scalar]:
    """Return the fields of `name=value` pairs; numbers, true and false are read as such.

    A value in double quotes is a text whatever it looks like.

    Raises:
        BadParameter: If a pair has no name or no `=`, or a name comes twice.
    """
    fields: dict[str, Scalar] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        name = name.strip()
        if not separator or not name:
            raise click.BadParameter(
                f"{pair!r} is no NAME=VALUE pair; write it like year=2018", param_hint="--metadata"
            )
        if name in fields:
            raise click.BadParameter(f"{name!r} is given twice", param_hint="--metadata")
        fields[name] = _scalar(value.strip())
    return fields


def _scalar(value: str) -> Scalar:
    try:
        read = json.loads(value)
    except ValueError:
        return value
    if isinstance(read, float) and not math.isfinite(read):
        return value
    return read if isinstance(read, str | int | float) else value
