"""Pages per second of the PDF parser, in its own process, beside bare pypdfium2.

    python benchmarks/parsing.py FOLDER [--files 10] [--rounds 3]
    python benchmarks/parsing.py --smoke

Bare pypdfium2 fetches the characters of each page and throws them away, in this process. The
parser's time is that of the caller: it includes the child process, the hash, pages, headings and
the way back. Files are taken at equal distances from the sorted folder; both sides take turns and
the median of the rounds counts.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pypdfium2

from spanwise.errors import DocumentError
from spanwise.options import ParseOptions
from spanwise.parsers.isolation import ParserPool

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Timing:
    """Median seconds of one file."""

    name: str
    pages: int
    bare_seconds: float
    pool_seconds: float


def read_bare(path: Path) -> int:
    """Fetch the characters of all pages with pypdfium2 alone; return the number of pages."""
    document = pypdfium2.PdfDocument(path)
    for page in document:
        text = page.get_textpage()
        text.get_text_range()
        text.close()
        page.close()
    pages = len(document)
    document.close()
    return pages


def measure(paths: Sequence[Path], *, rounds: int) -> list[Timing]:
    """Time each file on both sides; files that cannot be read are named and left out."""
    timings = []
    with ParserPool(options=ParseOptions()) as pool:
        for path in paths:
            bare, ours, pages = [], [], 0
            try:
                for _ in range(rounds):
                    start = time.perf_counter()
                    pages = read_bare(path)
                    middle = time.perf_counter()
                    pool.parse(path, document_id=path.name, source=path.name, source_root="")
                    bare.append(middle - start)
                    ours.append(time.perf_counter() - middle)
            except (pypdfium2.PdfiumError, DocumentError) as exc:
                print(f"left out: {exc}")
                continue
            timings.append(
                Timing(path.name, pages, statistics.median(bare), statistics.median(ours))
            )
    return timings


def print_table(timings: Sequence[Timing]) -> None:
    """Print a line for each file and one for all."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    print(f"commit {commit.stdout.strip() or 'none'}, {today}, {platform.machine()}, ", end="")
    print(f"Python {platform.python_version()}, pypdfium2 {pypdfium2.version.PYPDFIUM_INFO}")
    total = Timing(
        "all",
        sum(timing.pages for timing in timings),
        sum(timing.bare_seconds for timing in timings),
        sum(timing.pool_seconds for timing in timings),
    )
    print(f"{'file':40} {'pages':>6} {'bare p/s':>9} {'parser p/s':>10} {'share':>6}")
    for timing in [*timings, total]:
        bare, ours = timing.pages / timing.bare_seconds, timing.pages / timing.pool_seconds
        print(f"{timing.name[:40]:40} {timing.pages:6} {bare:9.0f} {ours:10.0f} {ours / bare:6.2f}")


def choose_files(folder: Path, count: int) -> list[Path]:
    """Return so many PDFs of a folder, at equal distances in their order."""
    paths = sorted(folder.rglob("*.pdf"))
    step = max(1, len(paths) // count)
    return paths[::step][:count]


def make_sample(folder: Path) -> Path:
    """Write a PDF of our own with sixty pages."""
    sys.path.insert(0, str(ROOT))
    from tests.documents import build_pdf

    line = "The harbour office counts ships, cargo and weather every day of the year."
    path = folder / "sample.pdf"
    path.write_bytes(build_pdf(["\n".join([line] * 50)] * 60))
    return path


def main() -> int:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path, nargs="?", help="folder with PDFs")
    parser.add_argument("--files", type=int, default=10, help="how many of them")
    parser.add_argument("--rounds", type=int, default=3, help="of which the median counts")
    parser.add_argument("--smoke", action="store_true", help="a small PDF of our own")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.smoke:
            paths = [make_sample(Path(folder))]
        elif arguments.folder is not None:
            paths = choose_files(arguments.folder, arguments.files)
        else:
            parser.error("name a folder, or --smoke")
        timings = measure(paths, rounds=arguments.rounds)
    if not timings:
        print("no PDF could be read")
        return 1
    print_table(timings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
