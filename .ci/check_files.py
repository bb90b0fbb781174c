"""Check the length of source files and functions, and find file paths of a developer's machine."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_LINES = 800
LONG_FILES = {"src/spanwise/knowledge_base/facade.py": 1500}  # public interface, mostly docstrings
MAX_FUNCTION_LINES = 60  # without the docstring
FUNCTION_FOLDERS = ("src", "benchmarks", "examples", ".ci")
LONG_FUNCTIONS = {
    "src/spanwise/knowledge_base/facade.py": {"__init__", "add"},  # forward their many arguments
}
ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tests", "benchmarks", "deploy", "docs", "examples", ".ci")
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
    if path.suffix in SOURCES and name.parts[0] in FUNCTION_FOLDERS:
        yield from find_long_functions(name, "\n".join(lines))
    for number, line in enumerate(lines, start=1):
        found = MACHINE_PATH.search(line)
        if found:
            yield f"{name}:{number}: path of a developer's machine ({found.group()}...)"


def find_long_functions(name: Path, source: str) -> Iterator[str]:
    """Yield a fault for each function with too many lines, and for each outdated exception."""
    allowed = LONG_FUNCTIONS.get(name.as_posix(), set())
    long = {
        node.name: node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and count_lines(node) > MAX_FUNCTION_LINES
    }
    for function in sorted(long.keys() - allowed):
        yield (
            f"{name}:{long[function]}: {function} has more than {MAX_FUNCTION_LINES} lines without "
            "its docstring; split it"
        )
    for function in sorted(allowed - long.keys()):
        yield f"{name}:1: {function} is short now; remove it from LONG_FUNCTIONS"


def count_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of lines of a function without its docstring."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function, clean=False) is not None:
        docstring = function.body[0]
        lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return lines


def main() -> int:
    """Print all faults and return the exit code."""
    faults = [fault for path in iterate_files() for fault in find_faults(path)]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
