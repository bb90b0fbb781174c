"""How the answer to a question is written: for people, as context, or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spanwise.cli.arguments import json_option
from spanwise.cli.failures import ExitCode
from spanwise.cli.json_output import write_json
from spanwise.cli.layout import Page, write_text

if TYPE_CHECKING:
    from spanwise.types import ExcerptResult, SearchResult
    from spanwise.types.plain import Plain


_Command = TypeVar("_Command", bound=Callable[..., Any])
_Result = TypeVar("_Result", "SearchResult", "ExcerptResult")


def answer_options(command: _Command) -> _Command:
    """Add `--context` and `--json`."""
    return click.option(
        "--context", is_flag=True, help="Write the context for a language model, nothing else."
    )(json_option(command))


def check_answer_options(*, context: bool, as_json: bool) -> None:
    """Refuse both at once, before anything is searched.

    Raises:
        UsageError: If both are asked for.
    """
    if context and as_json:
        raise click.UsageError("--context and --json exclude each other; JSON holds the context")


def write_answer(
    result: _Result,
    *,
    context: bool,
    as_json: bool,
    draw: Callable[[_Result, Page], None],
    beside: Mapping[str, Plain] = MappingProxyType({}),
) -> ExitCode:
    """Write a result in the form that is asked for, and return the exit code it stands for.

    Args:
        result: The result.
        context: Whether its context is written, nothing else.
        as_json: Whether it is written as JSON.
        draw: Writes it for people.
        beside: Further fields of the JSON.
    """
    if as_json:
        # Wall times are left out: the same question gives the same bytes.
        fields = {name: value for name, value in result.to_dict().items() if name != "seconds"}
        write_json({**fields, **beside}, sys.stdout)
    elif context:
        write_text(result.context + "\n", sys.stdout)
    else:
        draw(result, Page())
    return ExitCode.NOTHING_FOUND if result.not_found else ExitCode.OK
