"""Measure the structure of src/spanwise and print one line for each figure.

    python .ci/structure.py            the static figures
    python .ci/structure.py --search   also trace one search of the sample reports

Definitions:
    Code lines: lines that hold code; blank lines, comments and docstrings do not count.
    Import share: lines of import statements and of `__all__`, as a part of the code lines.
    Small single-importer module: at most 60 code lines, imported by exactly one other module.
    Repeated name: a file name (`__init__.py` left out) that occurs in more than one folder.
    Gerund module: its last word ends in "ing", other than the nouns in `NOUNS`.
    Room: a package or module directly below `spanwise`. An arrow is an ordered pair of rooms of
    which one imports the other at run time (`TYPE_CHECKING` blocks do not count).
    Trace: functions are listed in the order of their first call during one search of an open
    knowledge base. A room counts as entered again when a function of it follows one of another
    room, and the room had been left before; each room counts once.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else ".").resolve()
SRC = ROOT / "src"
SMALL_LINES = 60
NOUNS = {"docling", "embedding", "ranking", "rendering", "testing", "tuning", "setting", "parsing"}
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


class Module:
    """A parsed source file."""

    def __init__(self, path: Path) -> None:
        """Read and parse a file below `src`."""
        parts = path.relative_to(SRC).with_suffix("").parts
        self.path = path
        self.name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self.room = self.name.split(".")[1] if "." in self.name else "__init__"
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)

    def code_lines(self) -> int:
        """Return the number of lines that hold code."""
        docstrings: set[int] = set()
        for node in ast.walk(self.tree):
            value = node.value if isinstance(node, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                docstrings.update(range(value.lineno, (value.end_lineno or 0) + 1))
        code: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in LAYOUT:
                code.update(range(token.start[0], token.end[0] + 1))
        return len(code - docstrings)

    def import_lines(self) -> int:
        """Return the number of lines of imports and of `__all__`."""
        total = 0
        for node in ast.walk(self.tree):
            names = [t.id for t in getattr(node, "targets", []) if isinstance(t, ast.Name)]
            if isinstance(node, ast.Import | ast.ImportFrom) or (
                isinstance(node, ast.Assign) and "__all__" in names
            ):
                total += (node.end_lineno or 0) - node.lineno + 1
        return total

    def imports(self, modules: set[str]) -> Iterator[tuple[str, bool]]:
        """Yield each imported module of spanwise, and whether only type checks import it."""
        typing: set[ast.AST] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
                typing.update(inner for part in node.body for inner in ast.walk(part))
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("spanwise"):
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    yield (full if full in modules else str(node.module)), node in typing


def static_figures(modules: list[Module]) -> Iterator[tuple[str, object]]:
    """Yield the name and value of each static figure."""
    names = {module.name for module in modules}
    importers: dict[str, set[str]] = defaultdict(set)
    arrows: set[tuple[str, str]] = set()
    for module in modules:
        for target, typing_only in module.imports(names):
            importers[target].add(module.name)
            room = target.split(".")[1] if "." in target else "__init__"
            if not typing_only and room != module.room and "__init__" not in (room, module.room):
                arrows.add((module.room, room))
    code = {module.name: module.code_lines() for module in modules}
    small = [
        module.name
        for module in modules
        if code[module.name] <= SMALL_LINES
        and len(importers[module.name] - {module.name}) == 1
        and module.path.name != "__init__.py"
    ]
    stems = Counter(module.path.name for module in modules if module.path.name != "__init__.py")
    last_words = {module.name: module.name.rsplit(".", 1)[-1].split("_")[-1] for module in modules}
    gerunds = [
        name for name, word in last_words.items() if word.endswith("ing") and word not in NOUNS
    ]
    repeated = sorted(name for name, count in stems.items() if count > 1)
    rooms = {module.room for module in modules} - {"__init__", "__main__"}
    total = sum(code.values())
    yield "Python files", len(modules)
    yield "code lines", total
    yield "small single-importer modules", f"{len(small)} {small}"
    imports = sum(module.import_lines() for module in modules)
    yield "import share", f"{100 * imports / total:.1f} %"
    yield "repeated file names", f"{len(repeated)} {repeated}"
    yield "gerund modules", f"{len(gerunds)} {gerunds}"
    yield "rooms", f"{len(rooms)} {sorted(rooms)}"
    yield "arrows", len(arrows)


def search_trace() -> Iterator[tuple[str, object]]:
    """Yield the number of functions and files called by a search, and the rooms entered again."""
    sys.path.insert(0, str(SRC))
    from spanwise import KnowledgeBase

    calls: dict[tuple[str, int], None] = {}

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and str(SRC) in code.co_filename and not code.co_name.startswith("<"):
            calls.setdefault((code.co_filename, code.co_firstlineno))

    with KnowledgeBase(":memory:") as base:
        base.add(ROOT / "examples" / "reports")
        base.search("Why did the margin fall?")
        sys.setprofile(profile)
        base.search("Why did the margin fall?")
        sys.setprofile(None)
    files = list(dict.fromkeys(name for name, _ in calls))
    rooms = [Path(name).relative_to(SRC / "spanwise").parts[0] for name, _ in calls]
    entries = [room for at, room in enumerate(rooms) if not at or rooms[at - 1] != room]
    again = sorted(room for room, count in Counter(entries).items() if count > 1)
    yield "functions called by one search", len(calls)
    yield "files called by one search", len(files)
    yield "rooms entered again by one search", f"{len(again)} {again}"


def main() -> int:
    """Print the figures."""
    modules = [Module(path) for path in sorted((SRC / "spanwise").rglob("*.py"))]
    for name, value in static_figures(modules):
        print(f"{name}: {value}")
    if "--search" in sys.argv:
        for name, value in search_trace():
            print(f"{name}: {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
