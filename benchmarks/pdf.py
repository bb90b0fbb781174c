"""Measure how PDF readers preserve rows, headings and order: python -m benchmarks.pdf DATASET.

DATASET is a folder with documents.jsonl, queries.jsonl and PDFs; the evidence has pages (counted
from 0) and text. Every installed reader reads the same files, one after the other: our parser,
plain pypdfium2, `pdftotext -layout`, liteparse and pymupdf4llm. pymupdf4llm takes seconds per
page, so it reads only pages with evidence, and rendered files only with `--only`. First, all files
are read by one and by two worker processes. Last, all readers read PDFs rendered (by reportlab)
from our Markdown and the Python language reference, with known headings, tables and order.
`--search` measures the effect of the layout analysis on search.

Times are CPU seconds of one process, except for pdftotext, which is a separate process (wall
time).
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

import pypdfium2

from benchmarks.lib import pdf_search
from benchmarks.lib.filings import (
    Evidence,
    Rates,
    Reading,
    letters,
    read_evidence,
    score_evidence,
    score_outline,
)
from benchmarks.lib.pdf_engines import SLOW, Engine, available_engines, read_plain
from benchmarks.lib.pdf_pool import measure_pool
from benchmarks.lib.rendered import (
    RUNNING,
    STYLES,
    Rendered,
    read_markdown,
    read_reference,
    render,
)

ROOT = Path(__file__).resolve().parent.parent
_WORD_COUNT = 20_000  # order is compared on so many words of a file


def outline_of(path: Path) -> list[tuple[int, str]]:
    """Return the page and the title of each bookmark of a file."""
    document = pypdfium2.PdfDocument(path)
    found = []
    for bookmark in document.get_toc():
        target = bookmark.get_dest()
        page = target.get_index() if target else None
        if page is not None and page >= 0:
            found.append((page, bookmark.get_title()))
    document.close()
    return found


def measure_filings(
    folder: Path, names: Sequence[str], engines: Mapping[str, Engine], *, verbose: bool
) -> None:
    """Print how much of the evidence of some documents each reader preserves."""
    evidence = [item for item in read_evidence(folder) if not names or item.document in names]
    documents = sorted({item.document for item in evidence})
    if "ours" in engines:  # first: the largest process is counted among all that ever ended
        measure_pool([folder / "documents" / f"{document}.pdf" for document in documents])
    rates = {name: Rates() for name in engines}
    for document in documents:
        path = folder / "documents" / f"{document}.pdf"
        entries = outline_of(path)
        plain = read_plain(path).pages if entries else []
        for name, engine in engines.items():
            reading = engine(path, sorted({e.page for e in evidence if e.document == document}))
            misses = _score(reading, evidence, document, rates[name])
            if entries and not reading.read_pages:
                score_outline(entries, reading, plain, rates[name])
            if verbose:
                print("\n".join(f"{name}: {miss}" for miss in misses))
    columns = ("words", "rows", "rows alone", "titles", "outline")
    print(
        f"| {len(documents)} files, {len(evidence)} pieces of evidence | pages/s | of plain"
        f" | headings/page | {' | '.join(columns)} |"
    )
    print("|---" * (len(columns) + 4) + "|")
    plain_speed = _speed(rates["pypdfium2, plain"]) if "pypdfium2, plain" in rates else 0.0
    for name, found in rates.items():
        headings = found.rate("headings")
        cells = [_cell(found.rate(column)) for column in columns]
        each = "-" if headings is None else f"{headings:.2f}"
        share = f"{_speed(found) / plain_speed:.2f}" if plain_speed else "-"
        print(f"| {name} | {_speed(found):.0f} | {share} | {each} | {' | '.join(cells)} |")


def _speed(rates: Rates) -> float:
    """Return pages per second."""
    return rates.found["pages"] / max(rates.found["seconds"], 1e-9)


def _score(
    reading: Reading, evidence: Sequence[Evidence], document: str, rates: Rates
) -> list[str]:
    misses: list[str] = []
    pages = reading.read_pages or len(reading.pages)
    rates.add("pages", pages, 1)
    rates.add("seconds", reading.seconds, 1)
    if reading.headings is not None:
        rates.add("headings", len(reading.headings), pages)
    for item in evidence:
        if item.document == document:
            score_evidence(item, reading, rates, misses)
    return misses


def _cell(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.3f}"


def measure_rendered(
    sources: Sequence[Rendered], engines: Mapping[str, Engine], folder: Path
) -> None:
    """Print how well each reader preserves files rendered in four styles."""
    columns = ("headings found", "right", "levels", "order", "rows", "paragraphs")
    print(f"| style | reader | {' | '.join(columns)} | running lines left |")
    print("|---" * (len(columns) + 3) + "|")
    all_styles: dict[str, list[list[float | None]]] = {name: [] for name in engines}
    for style in STYLES:
        paths = []
        for source in sources:
            path = folder / f"{style}-{source.name}.pdf"
            render(source, path, style=style)
            paths.append(path)
        for name, engine in engines.items():
            rates = Rates()
            for source, path in zip(sources, paths, strict=True):
                _score_rendered(source, engine(path, ()), rates)
            found = [rates.rate(column) for column in columns]
            all_styles[name].append([*found, rates.found["left"]])
            print(f"| {style} | {name} | {_cells(found)} | {rates.found['left']:.0f} |")
    for name, rows in all_styles.items():
        *means, left = (_mean(column) for column in zip(*rows, strict=True))
        print(f"| mean | {name} | {_cells(means)} | {left or 0:.0f} |")


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _cells(rates: Sequence[float | None]) -> str:
    return " | ".join(map(_cell, rates))


def _score_rendered(source: Rendered, reading: Reading, rates: Rates) -> None:
    text = "\n".join(reading.pages)
    lines = [letters(line) for line in text.split("\n")]
    held = set(lines)
    if reading.headings is not None:
        wanted = Counter(letters(title) for _, title in source.headings)
        found = Counter(letters(title) for _, _, title in reading.headings)
        hits = sum((wanted & found).values())
        rates.add("headings found", hits, wanted.total())
        rates.add("right", hits, found.total())
        _score_levels(source, reading, rates)
    expected, got = source.text.casefold().split(), text.casefold().split()
    expected, got = expected[:_WORD_COUNT], [word for word in got if word != "|"]
    matcher = SequenceMatcher(None, expected, got, autojunk=False)
    same = sum(block.size for block in matcher.get_matching_blocks())
    rates.add("order", same, len(expected))
    for row in source.rows:
        rates.add("rows", letters("".join(row)) in held, 1)
    for paragraph in source.paragraphs:
        rates.add("paragraphs", letters(paragraph) in held, 1)
    if len(reading.pages) > 1:  # on a single page nothing runs
        rates.add("left", sum(any(letters(run) in line for run in RUNNING) for line in lines), 1)


def _score_levels(source: Rendered, reading: Reading, rates: Rates) -> None:
    """Count pairs of adjacent headings whose difference in depth is correct."""
    levels = {letters(title): level for level, title in source.headings}
    pairs = [
        (levels[letters(title)], level)
        for _, level, title in reading.headings or ()
        if letters(title) in levels
    ]
    for before, after in pairwise(pairs):
        wanted = (before[0] > after[0]) - (before[0] < after[0])
        found = (before[1] > after[1]) - (before[1] < after[1])
        rates.add("levels", wanted == found, 1)


def own_sources() -> list[Rendered]:
    """Return the documentation of this repository and the Python language reference."""
    paths = sorted((ROOT / "docs").glob("*.md"))
    return read_markdown([*paths, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]) + read_reference()


def print_head() -> None:
    """Print date, machine and versions."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    print(
        f"commit {commit.stdout.strip() or 'none'}, {today}, {platform.machine()}, "
        f"Python {platform.python_version()}, pypdfium2 {pypdfium2.version.PYPDFIUM_INFO}, "
        f"load {load}"
    )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("dataset", type=Path, nargs="?", help="folder of a dataset of PDFs")
    parser.add_argument("--documents", nargs="+", default=[], help="only these of its documents")
    parser.add_argument("--only", default="", help="readers whose name holds this")
    parser.add_argument("--verbose", action="store_true", help="name what is missed")
    parser.add_argument("--search", action="store_true", help="measure search instead")
    parser.add_argument("--smoke", action="store_true", help="two small files of our own")
    arguments = parser.parse_args()
    engines = {name: e for name, e in available_engines().items() if arguments.only in name}
    if not arguments.smoke and arguments.dataset is None:
        parser.error("name the folder of a dataset, or --smoke")
    print_head()
    with tempfile.TemporaryDirectory() as place:
        if arguments.smoke:
            measure_rendered(read_reference(files=12)[:1], engines, Path(place))
            pdf_search.run(pdf_search.write_sample(Path(place)), Path(place))
        elif arguments.search:
            pdf_search.run(arguments.dataset, Path(place))
        else:
            measure_filings(
                arguments.dataset, arguments.documents, engines, verbose=arguments.verbose
            )
            fast = {n: e for n, e in engines.items() if arguments.only or n not in SLOW}
            measure_rendered(own_sources(), fast, Path(place))


if __name__ == "__main__":
    main()
