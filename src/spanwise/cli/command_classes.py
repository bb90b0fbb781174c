"""Command classes whose help shows examples and exit codes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from importlib import import_module
from typing import Any

import click

from spanwise.cli.failures import MEANINGS, ExitCode
from spanwise.core.text.controls import clean
from spanwise.loading import fast_imports


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


class _Commands(MutableMapping[str, click.Command]):
    """Commands by name, in the order of the help. The module of a command is loaded on access."""

    def __init__(self, homes: Mapping[str, str]) -> None:
        """Create the mapping; `homes` are the module and the object of each command."""
        self._homes = dict(homes)
        self._loaded: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._loaded:
            module, _, attribute = self._homes[name].partition(":")
            with fast_imports():
                command = getattr(import_module(f"spanwise.cli.{module}"), attribute)
            self._loaded[name] = command
        return self._loaded[name]

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._homes.setdefault(name, "")
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._homes[name]
        self._loaded.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


class Program(ExampleGroup):
    """The whole program: its help shows the commands in groups and fits on one screen."""

    def __init__(self, *args: Any, titles: Mapping[str, Mapping[str, str]], **kwargs: Any):
        """Create the program.

        Args:
            *args: Arguments of `ExampleGroup`.
            titles: Module and object of each command by its name, by the title of its group.
            **kwargs: Keyword arguments of `ExampleGroup`.
        """
        super().__init__(*args, **kwargs)
        self.titles = titles
        self.commands = _Commands(
            {name: home for homes in titles.values() for name, home in homes.items()}
        )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups of commands; the epilog names the options."""
        width = max(map(len, self.list_commands(ctx)))
        for title, names in self.titles.items():
            with formatter.section(title):
                for name in names:
                    description = self.commands[name].get_short_help_str(formatter.width)
                    formatter.write(f"  {name:<{width}}  {description}\n")

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
