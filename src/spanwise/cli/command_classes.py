"""Command classes whose help shows examples and exit codes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import click

from spanwise.cli.failures import MEANINGS, ExitCode
from spanwise.core.text.controls import clean


def _write_examples(formatter: click.HelpFormatter, examples: Sequence[tuple[str, str]]) -> None:
    """Write each example as a comment line and a command line."""
    with formatter.section("Examples"):
        for number, (meaning, command) in enumerate(examples):
            if number:
                formatter.write("\n")
            for line in (f"# {meaning}", f"$ {command}"):
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def _write_exit_codes(
    formatter: click.HelpFormatter, title: str, meanings: Mapping[ExitCode, str]
) -> None:
    with formatter.section(title):
        formatter.write_dl([(str(int(code)), meaning) for code, meaning in meanings.items()])


class ExampleCommand(click.Command):
    """Command whose help ends with examples and its own exit codes."""

    def __init__(
        self,
        *args: Any,
        examples: Sequence[tuple[str, str]],
        exit_codes: Iterable[ExitCode] | Mapping[ExitCode, str] = (),
        **kwargs: Any,
    ) -> None:
        """Create the command.

        Args:
            *args: Arguments of `click.Command`.
            examples: Pairs of a comment and a command line.
            exit_codes: Exit codes to list in the help, or a mapping from exit codes to descriptions
                for this command. Without a mapping, 0, 1 and 2 are not listed.
            **kwargs: Keyword arguments of `click.Command`.
        """
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        if not isinstance(exit_codes, Mapping):
            exit_codes = {code: MEANINGS[code] for code in exit_codes if code > ExitCode.USAGE}
        self.exit_codes = exit_codes

    def get_help(self, ctx: click.Context) -> str:
        """Return the help without control characters; defaults can come from untrusted files."""
        return clean(super().get_help(ctx))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples and the exit codes of the command."""
        _write_examples(formatter, self.examples)
        super().format_epilog(ctx, formatter)
        if self.exit_codes:
            title = "Exit codes (others: 0 success, 1 error, 2 invalid argument)"
            _write_exit_codes(formatter, title, self.exit_codes)


class ExampleGroup(click.Group):
    """Command group that keeps the order of its commands and suggests names for a mistyped one."""

    def __init__(self, *args: Any, examples: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        """Create the group; `examples` are pairs of a comment and a command line."""
        kwargs["no_args_is_help"] = False  # otherwise click reports the help as a usage error
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands in insertion order."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command named by the first word.

        Raises:
            UsageError: If there is no such command. The message suggests similar names.
        """
        if args[0] not in self.commands and not args[0].startswith("-"):
            similar = difflib.get_close_matches(args[0], self.commands) or list(self.commands)
            raise click.UsageError(
                f"there is no command {args[0]!r}; did you mean {' or '.join(similar)}?"
                if len(similar) < len(self.commands)
                else f"there is no command {args[0]!r}; the commands are {', '.join(similar)}",
                ctx,
            )
        return super().resolve_command(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        _write_examples(formatter, self.examples)
        super().format_epilog(ctx, formatter)


class Program(ExampleGroup):
    """The whole program: its help shows the commands in groups and fits on one screen."""

    def __init__(self, *args: Any, titles: Mapping[str, Sequence[click.Command]], **kwargs: Any):
        """Create the program.

        Args:
            *args: Arguments of `ExampleGroup`.
            titles: Commands to add, by the title of their group.
            **kwargs: Keyword arguments of `ExampleGroup`.
        """
        super().__init__(*args, **kwargs)
        self.titles = titles
        for command in chain.from_iterable(titles.values()):
            self.add_command(command)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups of commands; the epilog names the options."""
        width = max(map(len, self.list_commands(ctx)))
        for title, commands in self.titles.items():
            with formatter.section(title):
                for command in commands:
                    description = command.get_short_help_str(formatter.width)
                    formatter.write(f"  {command.name:<{width}}  {description}\n")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, the options and the exit codes."""
        with formatter.section("Examples"):
            for _, command in self.examples:
                formatter.write(f"  $ {command}\n")
        formatter.write_paragraph()
        for title, entries in (
            ("Options", (option.opts[0] for option in self.get_params(ctx))),
            ("Exit codes", (f"{code:d} {meaning}" for code, meaning in MEANINGS.items())),
        ):
            formatter.write_text(f"{title}: {', '.join(entries)}.")
