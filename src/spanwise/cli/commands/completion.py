"""`spanwise completion`: teach a shell to complete the command line."""

from __future__ import annotations

import click

from spanwise.cli.failures import ExitCode
from spanwise.cli.usage_errors import TeachingCommand
from spanwise.config import COMPLETION_VARIABLE


@click.command(
    cls=TeachingCommand,
    short_help="Teach a shell to complete commands.",
    examples=[
        ("for this session of bash", 'eval "$(spanwise completion bash)"'),
        ("for every session of zsh", "spanwise completion zsh >> ~/.zshrc"),
        (
            "for every session of fish",
            "spanwise completion fish > ~/.config/fish/completions/spanwise.fish",
        ),
    ],
    exit_codes=(ExitCode.OK, ExitCode.USAGE),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(*, shell: str) -> ExitCode:
    """Write the script that completes commands, options and files in a shell."""
    from click.shell_completion import BashComplete, FishComplete, ZshComplete

    kind = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}[shell]
    root = click.get_current_context().find_root().command
    click.echo(kind(root, {}, "spanwise", COMPLETION_VARIABLE).source())
    return ExitCode.OK
