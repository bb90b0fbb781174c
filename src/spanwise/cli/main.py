"""Entry point of the command line, and its signal handlers.

Importing the commands takes a moment. A Ctrl-C or SIGTERM in that time is recorded and reported
once the commands are loaded, so that it never ends in a traceback.

SIGTERM ends a command with an exception, as Ctrl-C does, so that temporary files are deleted and
parser processes ended. Further SIGTERMs are ignored during this cleanup.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType


def main(arguments: Sequence[str]) -> int:
    """Run one command line, without the program name, and return its exit code."""
    from spanwise.cli.program import execute

    return execute(arguments, install_handlers=lambda: None)


def run() -> NoReturn:
    """Run the command line of this process and exit."""
    pending: list[int] = []

    def record(number: int, _: FrameType | None) -> None:
        pending.append(number)

    def install_handlers() -> None:
        from spanwise.cli.failures import Terminated

        def terminate(number: int, _: FrameType | None) -> NoReturn:
            signal.signal(number, signal.SIG_IGN)
            raise Terminated

        if signal.SIGINT in handled:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if signal.SIGTERM in handled:
            signal.signal(signal.SIGTERM, terminate)
        if signal.SIGTERM in pending:
            terminate(signal.SIGTERM, None)
        if pending:
            raise KeyboardInterrupt

    from spanwise.loading import fast_imports

    # A signal that the parent process set to be ignored, as for a background job, stays ignored.
    defaults = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    handled = [
        number for number, handler in defaults.items() if signal.getsignal(number) is handler
    ]
    for number in handled:
        signal.signal(number, record)
    with fast_imports():
        from spanwise.cli.program import execute

    sys.exit(execute(sys.argv[1:], install_handlers=install_handlers))
