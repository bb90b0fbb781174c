"""Check the length of source files, and find file paths of a developer's machine."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_LINES = 800
LONG_FILES = {"src/spanwise/knowledge_base/facade.py": 1500}  # public interface, mostly docstrings
ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tests", "benchmarks", "docs", "examples", ".ci")
TOP_LEVEL = ("*.md", "*.toml", "*.txt", "Makefile", "NOTICE")
SOURCES = {".py"}
TEXTS = {".py", ".md", ".toml", ".txt", ".json", ".yml", ".yaml", ".html", ".js", ".css", ""}
MACHINE_PATH = re.compile(r"(?<![\w.:/-])(?:/(?:work|root|home|Users|mnt)/\w|[A-Z]:\\Users\\)")


def iterate_files() -> Iterator[Path]:
    """Yield the files of the project in a fixed order, without caches."""
    for pattern in TOP_LEVEL:
        yield from sorted(ROOT.glob(pattern))
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            hidden = any(part == "__pycache__" or part.endswith(".kb") for part in path.parts)
            if path.is_file() and not hidden:
                yield path


def find_faults(path: Path) -> Iterator[str]:
    """Yield the faults of a file in the form `path:line: fault`."""
    if path.suffix not in TEXTS:
        return
    name = path.relative_to(ROOT)
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    max_lines = LONG_FILES.get(name.as_posix(), MAX_LINES)
    if path.suffix in SOURCES and len(lines) > max_lines:
        yield f"{name}:{len(lines)}: more than {max_lines} lines; split the file by concept"
    for number, line in enumerate(lines, start=1):
        found = MACHINE_PATH.search(line)
        if found:
            yield f"{name}:{number}: path of a developer's machine ({found.group()}...)"


def main() -> int:
    """Print all faults and return the exit code."""
    faults = [fault for path in iterate_files() for fault in find_faults(path)]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
