"""Measure the effects of small edits of a document: python -m benchmarks.versions SET ...

Each document is edited once in each way. Measured for each way: the number of chunks with a changed
text, which must be embedded again; and the number of citations that are unchanged, moved or edited.
The citations are of ranges of chunks, in the form of `spanwise search --json`. "found" counts
edited citations for which the suggested passage contains the edit. A citation with a wrong location
is an error and ends the run.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.lib.datasets import read_dataset
from benchmarks.lib.sample import SAMPLE_SETS, write_samples
from spanwise.knowledge_base import KnowledgeBase
from spanwise.types import Citation, CitationLocation

MAX_CHARS = 400_000
CITATIONS = 20
RUN_CHUNKS = 6
SEED = 7


def in_front(text: str) -> tuple[str, int]:
    """Return a text with a sentence inserted at the beginning, and the position of the edit."""
    return "A sentence was put in front of all others. " + text, 0


def in_the_middle(text: str) -> tuple[str, int]:
    """Return a text with a sentence inserted near the middle, and the position."""
    place = _sentence(text, len(text) // 2)
    return text[:place] + "A sentence was put in here, later on. " + text[place:], place


def another_word(text: str) -> tuple[str, int]:
    """Return a text with one word changed near the middle, and the position."""
    place = text.find(" the ", len(text) // 2)
    return (text[:place] + " that " + text[place + 5 :], place) if place >= 0 else (text, 0)


def cut_out(text: str) -> tuple[str, int]:
    """Return a text with a tenth of it deleted, and the position."""
    start, end = _sentence(text, len(text) // 3), _sentence(text, len(text) // 3 + len(text) // 10)
    return text[:start] + text[end:], start


def _sentence(text: str, place: int) -> int:
    """Return the start of the first sentence at or after a position."""
    found = text.find(". ", place)
    return found + 2 if found >= 0 else place


EDITS: tuple[tuple[str, Callable[[str], tuple[str, int]]], ...] = (
    ("sentence in front", in_front),
    ("sentence in the middle", in_the_middle),
    ("one word changed", another_word),
    ("a tenth cut out", cut_out),
)


@dataclass(slots=True)
class Counts:
    """Effects of one kind of edit on all documents."""

    new_chunks: list[int] = field(default_factory=list)
    chunks: list[int] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    edited: int = 0
    """Number of citations whose range contains the edit and whose text no longer occurs."""
    found: int = 0
    seconds: list[float] = field(default_factory=list)

    def row(self) -> str:
        """Return the cells of a table row."""
        share = sum(self.new_chunks) / max(1, sum(self.chunks))
        low, high = np.percentile(self.new_chunks, [50, 90])
        statuses = "/".join(str(self.statuses[name]) for name in ("current", "moved", "changed"))
        milliseconds = 1000 * float(np.median(self.seconds))
        return (
            f"{low:.0f} / {high:.0f} / {max(self.new_chunks)} | {100 * share:.1f} % | {statuses} | "
            f"{self.found} of {self.edited} | {milliseconds:.2f}"
        )


def citations(base: KnowledgeBase, document_id: str, rng: random.Random) -> Iterator[Citation]:
    """Yield citations of ranges of chunks, like those of a search."""
    chunks = base.chunks(document_id)
    for _ in range(CITATIONS):
        first = rng.randrange(len(chunks))
        last = min(len(chunks), first + rng.randint(1, RUN_CHUNKS)) - 1
        yield base.cite(document_id, chunks[first].start, chunks[last].end)


def check(cited: Citation, located: CitationLocation, before: str, after: str) -> None:
    """Raise an error if a location does not match the texts."""
    quote = before[cited.start : cited.end]
    stands = located.status in ("current", "moved")
    if stands != (quote in after):
        raise AssertionError(f"{cited} is said to be {located.status}")
    if stands and located.text != quote:
        raise AssertionError(f"{cited} is said to read {located.text[:80]!r}")
    if located.citation is not None:
        there = after[located.citation.start : located.citation.end]
        if there != located.text:
            raise AssertionError(f"{located.citation} is said to read {located.text[:80]!r}")


def edit_document(
    base: KnowledgeBase,
    text: str,
    edit: Callable[[str], tuple[str, int]],
    counts: Counts,
    rng: random.Random,
) -> None:
    """Edit one document and count the effects."""
    base.add_text(text, document_id="a")
    known = {chunk.text for chunk in base.chunks("a")}
    cited = list(citations(base, "a", rng))
    edited, place = edit(text)
    base.add_text(edited, document_id="a")
    chunks = base.chunks("a")
    counts.chunks.append(len(chunks))
    counts.new_chunks.append(sum(chunk.text not in known for chunk in chunks))
    for citation in cited:
        quote = text[citation.start : citation.end]
        began = time.perf_counter()
        located = base.locate({"citation": citation.to_dict(), "text": quote})
        counts.seconds.append(time.perf_counter() - began)
        check(citation, located, text, edited)
        counts.statuses[located.status] += 1
        if located.status == "changed" and citation.start <= place < citation.end:
            counts.edited += 1
            now = located.citation
            counts.found += now is not None and now.start <= place <= now.end


def run(folder: Path, *, documents: int) -> None:
    """Measure a dataset and print its rows."""
    given = read_dataset(folder).documents
    chosen = random.Random(SEED).sample(given, min(documents, len(given)))
    texts = [document.text()[:MAX_CHARS] for document in chosen]
    for name, edit in EDITS:
        counts = Counts()
        rng = random.Random(SEED)
        for text in texts:
            with KnowledgeBase(":memory:", embedder=None, tokenizer="chars:4") as base:
                edit_document(base, text, edit, counts, rng)
        mean = sum(counts.chunks) / len(counts.chunks)
        print(
            f"| {folder.name} | {len(texts)} x {mean:.0f} | {name} | {counts.row()} |", flush=True
        )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", type=Path, nargs="*", help="folders of datasets of texts")
    parser.add_argument("--documents", type=int, default=30, help="of each dataset, at most")
    parser.add_argument("--smoke", action="store_true", help="a tiny run on a sample of our own")
    arguments = parser.parse_args()
    if not arguments.smoke and not arguments.datasets:
        parser.error("name folders of datasets, or --smoke")
    print("| set | documents x chunks | edit | new chunks, median / p90 / most | share |", end="")
    print(" citations current/moved/changed | edited ones found | ms each |")
    print("|---|---|---|---|---|---|---|---|")
    if arguments.smoke:
        with tempfile.TemporaryDirectory() as folder:
            write_samples(Path(folder))
            run(Path(folder) / SAMPLE_SETS[0], documents=2)
    for folder in arguments.datasets:
        run(folder, documents=arguments.documents)


if __name__ == "__main__":
    main()
