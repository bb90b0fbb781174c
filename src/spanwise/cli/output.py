"""JSON output of the commands; the field names are those of `spanwise.types`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from spanwise.cli.arguments import json_option, with_options
from spanwise.cli.failures import ExitCode
from spanwise.cli.layout import JSON_CONTROLS, Page, write_text
from spanwise.cli.pager import pager_option
from spanwise.types.plain import Plain, to_plain

if TYPE_CHECKING:
    from spanwise.cli.failures import Failure
    from spanwise.types import ExcerptResult, SearchResult


def failure_document(failure: Failure) -> dict[str, Plain]:
    """Return the JSON form of an error."""
    fields: dict[str, Plain] = {"code": failure.code, "message": failure.message}
    return {"error": {**fields, **failure.details}}


def write_json(value: object, stream: TextIO, *, indent: int | None = 2) -> None:
    """Write a value as one JSON document that ends with a line feed.

    Non-ASCII text is escaped unless the encoding of the stream is a Unicode encoding. Terminal
    control characters are always escaped.

    Args:
        value: Plain data, or an object of `spanwise.types`.
        stream: Output stream.
        indent: Number of spaces of an indentation; None for one line.

    Raises:
        ValueError: If a number is NaN or infinite.
    """
    is_unicode = (stream.encoding or "").lower().replace("-", "").startswith("utf")
    document = json.dumps(
        to_plain(value), ensure_ascii=not is_unicode, allow_nan=False, indent=indent
    )
    stream.write(JSON_CONTROLS.sub(lambda match: f"\\u{ord(match.group()):04x}", document) + "\n")


_Command = TypeVar("_Command", bound=Callable[..., Any])
_Result = TypeVar("_Result", "SearchResult", "ExcerptResult")


output_options = with_options(
    click.option("--context", is_flag=True, help="Write only the context for a language model."),
    pager_option,
    json_option,
)
"""Options `--context`, `--no-pager` and `--json`."""


def check_output_options(*, context: bool, as_json: bool) -> None:
    """Check the output options before the search runs.

    Raises:
        UsageError: If both options are given.
    """
    if context and as_json:
        raise click.UsageError("--context and --json exclude each other; JSON holds the context")


def write_result(
    result: _Result,
    *,
    context: bool,
    as_json: bool,
    draw: Callable[[_Result, Page], None],
    extra_fields: Mapping[str, Plain] = MappingProxyType({}),
) -> ExitCode:
    """Write a result in the requested form and return the exit code.

    Args:
        result: Result of a search.
        context: Whether to write only the context for a language model.
        as_json: Whether to write JSON.
        draw: Function that writes the result for people.
        extra_fields: Additional fields of the JSON.
    """
    if as_json:
        # Wall times are left out, so that equal searches give equal bytes.
        fields = {name: value for name, value in result.to_dict().items() if name != "seconds"}
        write_json({**fields, **extra_fields}, sys.stdout)
    elif context:
        if result.no_document_passes:
            Page(sys.stderr).message("warning: ", result.warnings[0], "yellow")
        write_text(result.context + "\n", sys.stdout)
    else:
        draw(result, Page())
    return ExitCode.NOTHING_FOUND if result.not_found else ExitCode.OK
