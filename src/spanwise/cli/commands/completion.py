"""`spanwise completion`: print the shell completion script."""

from __future__ import annotations

import click

from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import ExitCode
from spanwise.config import COMPLETION_VARIABLE


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
