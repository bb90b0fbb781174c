"""Search the Python language reference, which is part of every Python installation.

The program writes the topics of `pydoc` as text files, adds them to a knowledge base, and searches
it with three questions. It prints each command before running it. A second run skips unchanged
files.

    python examples/python_reference.py [FOLDER]
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from pydoc_data.topics import topics

from spanwise.cli.main import main as spanwise

QUESTIONS = (
    "In which order are __enter__ and __exit__ called, and what may __exit__ return?",
    "How can I set a breakpoint in the debugger and step through code?",
    "In which order do the except, else and finally clauses run?",
)
BUDGET_TOKENS = 1_000


def write_topics(folder: Path) -> None:
    """Write one text file for each topic; unchanged files are not written again."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in sorted(topics.items()):
        path = folder / f"{name}.txt"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def run_command(*arguments: str) -> int:
    """Print a command line, run it in this process, and return its exit code."""
    print(f"\n$ spanwise {shlex.join(arguments)}\n", flush=True)
    return spanwise(arguments)


def main(folder: Path) -> int:
    """Write, add and ask; return the first exit code that is not 0."""
    write_topics(folder / "topics")
    knowledge_base = ("--kb", str(folder / "python.kb"))
    codes = [run_command("add", str(folder / "topics"), *knowledge_base)]
    codes += [
        run_command("search", question, "--budget", str(BUDGET_TOKENS), *knowledge_base)
        for question in QUESTIONS
    ]
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".demo")))
