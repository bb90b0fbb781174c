"""Commands whose help teaches: examples, exit codes and near names."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import click

from spanwise.cli.failures import MEANINGS, ExitCode
from spanwise.cli.layout import clean

_HELP_WIDTH = 80


def _write_examples(formatter: click.HelpFormatter, examples: Sequence[tuple[str, str]]) -> None:
    """Write each example as a line of explanation and a command that can be pasted."""
    with formatter.section("Examples"):
        for number, (meaning, command) in enumerate(examples):
            if number:
                formatter.write("\n")
            for line in (f"# {meaning}", f"$ {command}"):
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def _write_exit_codes(formatter: click.HelpFormatter, exit_codes: Sequence[ExitCode]) -> None:
    with formatter.section("Exit codes"):
        formatter.write_dl([(str(int(code)), MEANINGS[code]) for code in exit_codes])


class TeachingCommand(click.Command):
    """Command whose help ends with examples and exit codes."""

    def __init__(
        self,
        *args: Any,
        examples: Sequence[tuple[str, str]],
        exit_codes: Sequence[ExitCode] = (ExitCode.OK, ExitCode.ERROR, ExitCode.USAGE),
        **kwargs: Any,
    ) -> None:
        """Make the command; `examples` are pairs of what it does and the command line."""
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        self.exit_codes = tuple(exit_codes)

    def get_help(self, ctx: click.Context) -> str:
        """Return the help; the defaults that it shows may come from a file of somebody else."""
        return clean(super().get_help(ctx))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples and the exit codes."""
        super().format_epilog(ctx, formatter)
        _write_examples(formatter, self.examples)
        _write_exit_codes(formatter, self.exit_codes)


class TeachingGroup(click.Group):
    """Group in pipeline order that names near commands where one is unknown."""

    def __init__(self, *args: Any, examples: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        """Make the group; `examples` as in `TeachingCommand`."""
        kwargs["no_args_is_help"] = False  # it would be told as an error, in one line
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands in the order in which they were added."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names.

        Raises:
            UsageError: If there is none; near names are given.
        """
        if args[0] not in self.commands and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], self.commands) or list(self.commands)
            raise click.UsageError(
                f"there is no command {args[0]!r}; did you mean {' or '.join(near)}?"
                if len(near) < len(self.commands)
                else f"there is no command {args[0]!r}; the commands are {', '.join(near)}",
                ctx,
            )
        return super().resolve_command(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples and every exit code."""
        super().format_epilog(ctx, formatter)
        _write_examples(formatter, self.examples)
        _write_exit_codes(formatter, tuple(ExitCode))
