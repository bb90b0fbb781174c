from __future__ import annotations

import json

import click
import pytest

from spanwise.cli.command_classes import ExampleCommand
from spanwise.cli.failures import MEANINGS, ExitCode
from spanwise.cli.main import main
from spanwise.cli.program import cli

COMMANDS = list(cli.commands)
_SCREEN_LINES = 54
ENDS = {
    **{name: one for name, one in cli.commands.items() if not isinstance(one, click.Group)},
    **{
        f"{name} {inner}": command
        for name, group in cli.commands.items()
        if isinstance(group, click.Group)
        for inner, command in group.commands.items()
    },
}
"""Commands that do something, by how they are called."""


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_of_the_program(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == ExitCode.OK
    output = capsys.readouterr().out
    assert all(f"\n  {name} " in output for name in COMMANDS)
    codes = " ".join(output.partition("Exit codes: ")[2].split())
    assert all(f"{int(code)} {MEANINGS[code]}" in codes for code in ExitCode)
    assert len(output.splitlines()) <= _SCREEN_LINES


@pytest.mark.parametrize("name", [*COMMANDS, *ENDS])
def test_help_of_each_command_has_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), "--help"]) == ExitCode.OK
    output = capsys.readouterr().out
    assert f"  $ spanwise {name} " in output or f"spanwise {name})" in output or name == "info"
    assert "Examples:" in output
    assert max(map(len, output.splitlines())) <= 80


@pytest.mark.parametrize("name", ENDS)
def test_help_of_each_command_lists_its_own_exit_codes(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The codes that every command can return are in the help of the program."""
    command = ENDS[name]
    assert isinstance(command, ExampleCommand)
    main([*name.split(), "--help"])
    _, _, section = capsys.readouterr().out.partition("Exit codes")
    codes = [int(line.split()[0]) for line in section.splitlines()[1:] if line[2:3].isdigit()]
    assert codes == list(command.exit_codes)
    assert ExitCode.OK not in codes


@pytest.mark.parametrize("name", ENDS)
def test_every_command_and_option_has_help(name: str) -> None:
    command = ENDS[name]
    assert isinstance(command, ExampleCommand)
    assert command.short_help
    options = [one for one in command.params if isinstance(one, click.Option)]
    assert [option.name for option in options if not option.help] == []


WITHOUT_JSON = ("mcp", "serve")
WITHOUT_KB = (
    "completion",
    "copy",
    "keys add",
    "keys list",
    "keys remove",
    "models get",
    "packs new",
    "config trust",
    "config untrust",
)


@pytest.mark.parametrize("name", [name for name in ENDS if name not in WITHOUT_KB])
def test_every_command_takes_kb_and_json(name: str) -> None:
    flags = {flag for option in ENDS[name].params for flag in option.opts}
    assert {"--kb"} <= flags
    assert "--json" in flags or name in WITHOUT_JSON


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["serach", "x"], "there is no command 'serach'; did you mean search?"),
        (["zzz"], "there is no command 'zzz'; the commands are search, excerpts"),
        (["search", "x", "--bugdet", "3"], "--budget"),
        (["search"], "Missing argument 'QUESTION'"),
        (["search", "two", "words"], "came as 2 arguments; put it in quotes"),
        (["search", "x", "--preset", "best"], "'best' is not one of 'precise', 'balanced'"),
        (["search", "x", "--budget", "0"], "0 is not in the range x>=1"),
        (["search", "x", "--context", "--json"], "--context and --json exclude each other"),
        (["add"], "no sources are named"),
        (["add", "x", "--metadata", "year"], "'year' is not a NAME=VALUE pair"),
        (["show", "x", "--start", "1", "--chunks"], "--start and --end show text"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_exit_code_2(
    arguments: list[str], output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == ExitCode.USAGE
    written = capsys.readouterr()
    if "--json" in arguments:
        error = json.loads(written.out)["error"]
        assert error["code"] == "usage"
        assert output in error["message"]
        assert written.err == ""
    else:
        assert written.err.startswith("spanwise: ")
        assert output in written.err
        assert written.err.count("\n") == 1
        assert written.out == ""


def test_json_after_a_double_dash_is_not_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "x", "--nope", "--", "--json"]) == ExitCode.USAGE
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_writes_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == ExitCode.OK
    assert "_SPANWISE_COMPLETE" in capsys.readouterr().out


def test_a_shell_gets_completions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_SPANWISE_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "spanwise search --pre")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert main([]) == ExitCode.OK
    assert capsys.readouterr().out == "plain,--preset\n"


def test_an_unexpected_error_shows_its_traceback_on_demand(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setitem(cli.commands, "info", click.Command("info", callback=fail))
    assert main(["info"]) == ExitCode.ERROR
    assert "ZeroDivisionError: by zero" in capsys.readouterr().err
    monkeypatch.setenv("SPANWISE_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main(["info"])
