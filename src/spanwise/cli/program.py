"""The `spanwise` program: its commands, logged warnings, error messages and exit codes."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click

from spanwise.cli.arguments import command_defaults, untrusted_warning
from spanwise.cli.command_classes import ExampleCommand, Program
from spanwise.cli.failures import ExitCode, Failure, Terminated, describe_failure
from spanwise.cli.layout import Page
from spanwise.cli.output import failure_document, write_json
from spanwise.config import (
    COMPLETION_VARIABLE,
    completion_request,
    read_project_file,
    read_settings,
    unknown_variables,
    wants_traceback,
)


@click.command(
    cls=ExampleCommand,
    short_help="Print the shell completion script.",
    examples=[
        ("enable completion in this bash session", 'eval "$(spanwise completion bash)"'),
        ("enable completion in every zsh session", "spanwise completion zsh >> ~/.zshrc"),
        (
            "enable completion in every fish session",
            "spanwise completion fish > ~/.config/fish/completions/spanwise.fish",
        ),
    ],
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(*, shell: str) -> ExitCode:
    """Print the shell script that completes commands, options and file names."""
    from click.shell_completion import BashComplete, FishComplete, ZshComplete

    kind = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}[shell]
    root = click.get_current_context().find_root().command
    click.echo(kind(root, {}, "spanwise", COMPLETION_VARIABLE).source())
    return ExitCode.OK


class _WarningHandler(logging.Handler):
    """Log handler that writes warnings to standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one warning, with its traceback if it has one."""
        page = Page(sys.stderr)
        page.message("warning: ", record.getMessage(), "yellow")
        if record.exc_info:
            for line in logging.Formatter().formatException(record.exc_info).splitlines():
                page.line(f"  {line}")


class _WaitHandler(logging.Handler):
    """Log handler that writes messages about waits for a server to standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        Page(sys.stderr).message("", record.getMessage(), "dim")


@contextmanager
def logged_warnings() -> Iterator[None]:
    """Write the library's log warnings while a command runs; remove the handlers afterwards.

    On a terminal, waits for a server that failed are written too.
    """
    logger, waits = logging.getLogger("spanwise"), logging.getLogger("spanwise.waits")
    handler, wait_handler, level = _WarningHandler(logging.WARNING), _WaitHandler(), waits.level
    logger.addHandler(handler)
    if sys.stderr.isatty():
        waits.addHandler(wait_handler)
        waits.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        waits.removeHandler(wait_handler)
        waits.setLevel(level)


PROGRAM = "spanwise"
_COMMANDS = {
    "Find": {
        "search": "commands.search:search",
        "excerpts": "commands.search:excerpts",
        "ask": "commands.ask:ask",
        "explain": "commands.explain:explain",
        "threads": "commands.ask:threads",
        "locate": "commands.documents:locate",
    },
    "Documents": {
        "add": "commands.add:add",
        "sync": "commands.add:sync",
        "list": "commands.documents:list_documents",
        "show": "commands.documents:show",
        "page": "commands.documents:page",
        "set": "commands.set:set_metadata",
        "remove": "commands.documents:remove",
    },
    "Knowledge base": {
        "info": "commands.maintenance:info",
        "packs": "commands.packs:packs",
        "rebuild": "commands.rebuild:rebuild",
        "compact": "commands.maintenance:compact",
        "doctor": "commands.maintenance:doctor",
        "backup": "commands.maintenance:backup",
        "copy": "commands.copy:copy",
        "export": "commands.exchange:export",
        "import": "commands.exchange:import_export",
    },
    "Measure": {
        "questions": "commands.questions:questions",
        "eval": "commands.eval:evaluate_retrieval",
        "tune": "commands.tune:tune",
    },
    "Serve and set up": {
        "serve": "commands.serve:serve",
        "keys": "commands.serve:keys",
        "tenants": "commands.tenants:tenants",
        "mcp": "commands.mcp:mcp",
        "models": "commands.models:models",
        "config": "commands.config:config",
        "completion": "program:completion",
    },
}
"""Module and object of each command by its name, by group, in the order of the help. A module is
loaded when its command is used."""


@click.group(
    cls=Program,
    titles=_COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 80},
    examples=[
        ("add a folder of reports", "spanwise add reports/"),
        ("search it", 'spanwise search "Why did the margin fall in 2018?"'),
    ],
)
@click.version_option(None, "--version", package_name=PROGRAM, message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> ExitCode:
    """Find the segments of long documents that answer a question. A knowledge base is a folder or
    a database. Text is sent only to services that you choose.
    """  # noqa: D205  # one paragraph in the help
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    else:
        context.default_map = command_defaults(read_settings())
        if context.invoked_subcommand != "config":  # it reports the untrusted file itself
            _warn_of_untrusted_settings()
        for warning in unknown_variables():
            Page(sys.stderr).message("warning: ", warning, "yellow")
    return ExitCode.OK


def _warn_of_untrusted_settings() -> None:
    warning = untrusted_warning(read_project_file())
    if warning:
        Page(sys.stderr).message("warning: ", warning, "yellow")


def execute(arguments: Sequence[str], *, install_handlers: Callable[[], None]) -> int:
    """Run one command line and return its exit code.

    Args:
        arguments: Arguments after the program name.
        install_handlers: Function called once signals can be reported. It raises KeyboardInterrupt
            or `Terminated` for a signal that arrived earlier.
    """
    sys.stdout = _prepared(sys.stdout)
    sys.stderr = _prepared(sys.stderr)
    try:
        install_handlers()
        with logged_warnings():
            code = _complete() if completion_request() else _invoke(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        return _after_broken_pipe()
    except (Exception, KeyboardInterrupt, Terminated) as error:
        if wants_traceback() and describe_failure(error).code == "internal":
            raise
        return _report(error, as_json=_wants_json(arguments))
    return code


def _invoke(arguments: Sequence[str]) -> int:
    try:
        with cli.make_context(PROGRAM, list(arguments)) as context:
            return int(cli.invoke(context))
    except click.exceptions.Exit as ending:
        return ending.exit_code


def _complete() -> int:
    from click.shell_completion import shell_complete

    return shell_complete(cli, {}, PROGRAM, COMPLETION_VARIABLE, completion_request())


def _wants_json(arguments: Sequence[str]) -> bool:
    """Return whether the arguments contain `--json`, even if the command line is invalid."""
    options = list(arguments)
    if "--" in options:
        options = options[: options.index("--")]
    return "--json" in options


def _report(error: BaseException, *, as_json: bool) -> int:
    failure = describe_failure(error)
    try:
        if not (as_json and _write_json_failure(failure)):
            page = Page(sys.stderr)
            message = failure.message.partition("\n")[0] if failure.faults else failure.message
            page.message(f"{PROGRAM}: ", message, "red")
            for fault in failure.faults:
                page.message("  ", fault)
    except BrokenPipeError:
        return _after_broken_pipe()
    return failure.exit_code


def _write_json_failure(failure: Failure) -> bool:
    """Write an error as JSON; return False if that fails, such as on a full disk."""
    try:
        write_json(failure_document(failure), sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError:
        _discard_output()
        return False
    return True


def _prepared(stream: TextIO | None) -> TextIO:
    """Return a stream that escapes characters outside its encoding; a null stream for None."""
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    return stream


def _discard_output() -> None:
    """Redirect standard output to the null device, so that the flush at exit cannot fail."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())


def _after_broken_pipe() -> int:
    _discard_output()
    return ExitCode.BROKEN_PIPE
