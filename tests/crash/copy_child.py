"""A process that copies a knowledge base, and writes a line after each step of the copy."""

import sys
import time

from spanwise import KnowledgeBase


def main() -> None:
    """Copy the knowledge base of the first argument to the place of the second one."""
    source, target = sys.argv[1:]

    def report(step: str, done: int, total: int) -> None:
        sys.stdout.write(f"{step} {done} {total}\n")
        sys.stdout.flush()
        time.sleep(0.02)  # so that the process is killed near this step

    with KnowledgeBase(source, create=False) as base:
        base.copy_to(target, on_progress=report)


if __name__ == "__main__":
    main()
