"""Check and time the sections and chunks of all text files in a folder.

    python benchmarks/chunking.py FOLDER [--rounds 3] [--line-megabytes 50]
    python benchmarks/chunking.py --smoke

For every document, sections and chunks must join to its text, each chunk must lie in its section,
and no chunk may exceed the maximum length. A violation ends the run. Times are medians over the
rounds, in one process, without reading and parsing.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spanwise.core.documents.chunks import ChunkSpan, split_chunks
from spanwise.options import ChunkOptions, SectionOptions
from spanwise.packs.known_kinds import split_sections
from spanwise.parsers.markup.markdown import parse_markdown
from spanwise.parsers.parsed import Source
from spanwise.types import Document, Section

ROOT = Path(__file__).resolve().parent.parent
EDGES = (0, 50, 100, 200, 300, 360, 400, 461, 801)
SECTION_OPTIONS = SectionOptions()
CHUNK_OPTIONS = ChunkOptions()


@dataclass(frozen=True)
class Result:
    """Sections and chunks of a group of documents, with the median time of each step."""

    name: str
    documents: Sequence[Document]
    sections: Sequence[Sequence[Section]]
    chunks: Sequence[Sequence[ChunkSpan]]
    section_seconds: float
    chunk_seconds: float


def read_document(path: Path) -> Document:
    """Return the text of a file, with the headings and blocks of its format."""
    data = path.read_bytes()
    if path.suffix != ".md":
        return Document(id=path.name, text=data.decode("utf-8"))
    parsed = parse_markdown(Source(data=data, name=path.name))
    return Document(id=path.name, text=parsed.text, headings=parsed.headings, blocks=parsed.blocks)


def read_groups(folder: Path) -> dict[str, list[Document]]:
    """Return the texts below a folder, by subfolder."""
    groups: dict[str, list[Document]] = {}
    for path in sorted(folder.rglob("*")):
        is_text = path.suffix in (".txt", ".md") and path.name != "README.md"
        if is_text and path.stat().st_size:
            name = path.relative_to(folder).parts[0]
            groups.setdefault(name, []).append(read_document(path))
    return groups


def check(document: Document, sections: Sequence[Section], chunks: Sequence[ChunkSpan]) -> None:
    """End the run if sections or chunks violate a rule."""
    text = document.text
    laws = {
        "sections join to the text": "".join(text[s.start : s.end] for s in sections) == text,
        "chunks join to the text": "".join(text[c.start : c.end] for c in chunks) == text,
        "chunks lie in their section": all(
            sections[c.section].start <= c.start < c.end <= sections[c.section].end for c in chunks
        ),
        "chunks keep their length": all(
            c.end - c.start <= CHUNK_OPTIONS.max
            or (document.blocks and c.end - c.start <= CHUNK_OPTIONS.block_max)
            for c in chunks
        ),
    }
    broken = [law for law, holds in laws.items() if not holds]
    if broken:
        sys.exit(f"{document.id}: not so: {', '.join(broken)}")


def measure(name: str, documents: Sequence[Document], *, rounds: int) -> Result:
    """Split documents into sections and chunks several times, and check the results."""
    section_seconds, chunk_seconds = [], []
    sections: list[tuple[Section, ...]] = []
    chunks: list[list[ChunkSpan]] = []
    for _ in range(rounds):
        start = time.perf_counter()
        sections = [split_sections(document, options=SECTION_OPTIONS) for document in documents]
        middle = time.perf_counter()
        chunks = [
            split_chunks(document.text, sections[at], options=CHUNK_OPTIONS, blocks=document.blocks)
            for at, document in enumerate(documents)
        ]
        section_seconds.append(middle - start)
        chunk_seconds.append(time.perf_counter() - middle)
    for document, its_sections, its_chunks in zip(documents, sections, chunks, strict=True):
        check(document, its_sections, its_chunks)
    return Result(
        name=name,
        documents=documents,
        sections=sections,
        chunks=chunks,
        section_seconds=statistics.median(section_seconds),
        chunk_seconds=statistics.median(chunk_seconds),
    )


def print_result(result: Result) -> None:
    """Print one row of the table."""
    chars = sum(len(document.text) for document in result.documents)
    lengths = np.array([c.end - c.start for found in result.chunks for c in found])
    shares = np.histogram(lengths, EDGES)[0] / len(lengths) * 100
    sections = sum(map(len, result.sections))
    both = result.section_seconds + result.chunk_seconds
    print(
        f"{result.name[:20]:20} {len(result.documents):5} {chars / 1e6:6.1f}"
        f" {sections / len(result.documents):7.1f} {len(lengths):7} {lengths.mean():5.0f}"
        f" {chars / result.section_seconds / 1e6:6.1f} {chars / result.chunk_seconds / 1e6:6.1f}"
        f" {chars / both / 1e6:6.1f} {len(lengths) / both:8.0f}  "
        + " ".join(f"{share:3.0f}" for share in shares)
    )


def print_line(megabytes: float) -> None:
    """Split a single line of some megabytes; print speed and relative peak memory."""
    sentence = "The harbour office counts ships, cargo and weather on every day of the year. "
    text = sentence * int(megabytes * 1e6 / len(sentence))
    document = Document(id="line", text=text)
    start = time.perf_counter()
    sections = split_sections(document, options=SECTION_OPTIONS)
    chunks = split_chunks(text, sections, options=CHUNK_OPTIONS)
    seconds = time.perf_counter() - start
    check(document, sections, chunks)
    del sections, chunks
    tracemalloc.start()
    split_chunks(text, split_sections(document, options=SECTION_OPTIONS), options=CHUNK_OPTIONS)
    peak = tracemalloc.get_traced_memory()[1] + len(text)
    tracemalloc.stop()
    print(
        f"one line of {megabytes:g} MB: {len(text) / seconds / 1e6:.1f} MB/s, peak memory "
        f"{peak / len(text):.2f} times the text, the text itself counted"
    )


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path, nargs="?", help="folder with folders of texts")
    parser.add_argument("--rounds", type=int, default=3, help="of which the median counts")
    parser.add_argument("--line-megabytes", type=float, default=50, help="length of the one line")
    parser.add_argument("--smoke", action="store_true", help="Python's language reference alone")
    arguments = parser.parse_args()
    if arguments.smoke:
        from pydoc_data.topics import topics

        documents = [Document(id=name, text=text) for name, text in sorted(topics.items())]
        groups, megabytes = {"pydoc topics": documents}, 2.0
    elif arguments.folder is not None:
        groups, megabytes = read_groups(arguments.folder), arguments.line_megabytes
    else:
        parser.error("name a folder, or --smoke")
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    print(f"commit {commit.stdout.strip() or 'none'}, {today}, {platform.machine()}")
    print(
        f"{'folder':20} {'docs':>5} {'MB':>6} {'sec/doc':>7} {'chunks':>7} {'mean':>5} {'sect.':>6}"
        f" {'chunks':>6} {'both':>6} {'chunks/s':>8}  % of lengths from {EDGES[:-1]}"
    )
    for name, group in groups.items():
        print_result(measure(name, group, rounds=arguments.rounds))
    print_line(megabytes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
