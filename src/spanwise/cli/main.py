"""The entry point.

What makes up the commands takes a while to load. Ctrl-C in that while is kept until it can be
reported as any other is: nothing is lost by it, and no traceback is shown.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType


def main(arguments: Sequence[str]) -> int:
    """Run one command line, without the program's name, and return its exit code."""
    from spanwise.cli.program import execute

    return execute(arguments, listen=lambda: None)


def run() -> NoReturn:
    """Run the command line of this process and end it."""
    came: list[int] = []

    def keep(number: int, _: FrameType | None) -> None:
        came.append(number)

    def listen() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if came:
            raise KeyboardInterrupt

    # A process that was started in the background ignores the signal, and goes on doing so.
    is_heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heard:
        signal.signal(signal.SIGINT, keep)
    from spanwise.cli.program import execute

    sys.exit(execute(sys.argv[1:], listen=listen if is_heard else lambda: None))
