"""What is needed to measure the same again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise.evaluation.results import Evaluation
    from spanwise.plain import Plain

__all__ = ["command_of", "settings_of"]


def command_of(evaluation: Evaluation) -> str:
    """Return the command line that measured it, empty where it was no command."""
    command = evaluation.settings.get("command")
    return command if isinstance(command, str) else ""


def settings_of(evaluation: Evaluation) -> tuple[tuple[str, str], ...]:
    """Return every other setting, versions among them, as words: one a line where it has parts."""
    found = [("tokens of", evaluation.tokenizer)]
    for name, value in evaluation.settings.items():
        if name not in ("command", "tokenizer"):
            found.append((name.replace("_", " "), "\n".join(_lines(value))))
    return tuple(found)


def _lines(value: Plain) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield f"{name.replace('_', ' ')}: {', '.join(_lines(part))}"
    elif isinstance(value, list):
        for part in value:
            yield ", ".join(_lines(part))
    else:
        yield "none" if value is None else str(value)
