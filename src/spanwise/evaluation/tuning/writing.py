"""Write the file of a tuning."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import OptionError
from spanwise.query.tuning import tuning_text

if TYPE_CHECKING:
    from spanwise.query.tuning import Tuning

__all__ = ["check_replaceable", "write_tuning"]

_OPENING = b"# Settings of `spanwise tune`"


def check_replaceable(path: Path) -> None:
    """Raise if a file cannot be written, or is there and is no tuning.

    Raises:
        OptionError: If its folder is missing, or something else is in its place.
    """
    if not path.parent.is_dir():
        raise OptionError(f"there is no folder {path.parent}; make it first")
    try:
        with path.open("rb") as stream:
            opening = stream.read(len(_OPENING))
    except FileNotFoundError:
        return
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error.strerror or error}") from error
    if opening != _OPENING:
        raise OptionError(f"{path} is there, and is no tuning file; name another file")


def write_tuning(tuning: Tuning, path: str | Path) -> None:
    """Write a tuning; the same one gives the same bytes.

    Raises:
        OptionError: If the file cannot be written.
    """
    try:
        Path(path).write_text(tuning_text(tuning), encoding="utf-8", newline="\n")
    except OSError as error:
        raise OptionError(f"{path} cannot be written: {error.strerror or error}") from error
