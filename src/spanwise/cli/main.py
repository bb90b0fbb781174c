"""The entry point.

What makes up the commands takes a while to load. Ctrl-C and SIGTERM in that while are kept until
they can be reported as at any other time: nothing is lost by it, and no traceback is shown.

SIGTERM ends a command as Ctrl-C does, by an exception: temporary files are removed and parser
processes ended. Further ones are ignored while that is done; SIGKILL ends it at once.
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
        from spanwise.cli.failures import Terminated

        def terminate(number: int, _: FrameType | None) -> NoReturn:
            signal.signal(number, signal.SIG_IGN)
            raise Terminated

        if signal.SIGINT in heard:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if signal.SIGTERM in heard:
            signal.signal(signal.SIGTERM, terminate)
        if signal.SIGTERM in came:
            terminate(signal.SIGTERM, None)
        if came:
            raise KeyboardInterrupt

    # A process that was started to ignore a signal, as in the background, goes on doing so.
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    heard = [number for number, handler in usual.items() if signal.getsignal(number) is handler]
    for number in heard:
        signal.signal(number, keep)
    from spanwise.cli.program import execute

    sys.exit(execute(sys.argv[1:], listen=listen))
