"""Keep your own store and search, and let Spanwise turn its hits into contiguous segments.

The store is a table of SQLite with full-text search. Any other store works in the same way, such as
Chroma, pgvector or Elasticsearch: it returns chunks with a score and a position in their document.
No knowledge base is needed.

    pip install spanwise
    python examples/own_store.py
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from spanwise import ScoredSegment, segments_from_scores

REPORTS = Path(__file__).resolve().parent / "reports"
QUESTION = "Why did the gross margin fall in 2023?"
HITS = 30


def fill(store: sqlite3.Connection) -> None:
    """Store each paragraph of the reports as a chunk, with its document and its position."""
    store.execute(
        "CREATE VIRTUAL TABLE chunks USING fts5(document UNINDEXED, position UNINDEXED, text)"
    )
    for path in sorted(REPORTS.glob("*.md")):
        paragraphs = re.split(r"\n{2,}", path.read_text(encoding="utf-8").strip())
        rows = [(path.name, position, text) for position, text in enumerate(paragraphs)]
        store.executemany("INSERT INTO chunks VALUES (?, ?, ?)", rows)


def search(store: sqlite3.Connection, question: str) -> list[tuple[str, int, float]]:
    """Return document, position and score of the best chunks, best first."""
    words = " OR ".join(re.findall(r"\w+", question))
    return [
        (document, position, -score)  # bm25() is lower for better chunks
        for document, position, score in store.execute(
            "SELECT document, position, bm25(chunks) AS score FROM chunks "
            "WHERE text MATCH ? ORDER BY score LIMIT ?",
            (words, HITS),
        )
    ]


def segments(
    store: sqlite3.Connection, hits: list[tuple[str, int, float]], *, budget_tokens: int
) -> tuple[ScoredSegment, ...]:
    """Return the segments of some hits; the other chunks of their documents fill the gaps."""
    scores = {(document, position): score for document, position, score in hits}
    documents = sorted({document for document, _, _ in hits})
    chunks = [
        row
        for document in documents
        for row in store.execute(
            "SELECT document, position, text FROM chunks WHERE document = ? ORDER BY position",
            (document,),
        )
    ]
    return segments_from_scores(
        [text for _, _, text in chunks],
        [scores.get((document, position)) for document, position, _ in chunks],
        documents=[document for document, _, _ in chunks],
        positions=[position for _, position, _ in chunks],
        budget_tokens=budget_tokens,
    )


def main() -> tuple[ScoredSegment, ...]:
    """Print the hits and the segments, and return the segments."""
    store = sqlite3.connect(":memory:")
    fill(store)
    hits = search(store, QUESTION)
    print("Hits of the store:")
    for document, position, score in hits[:5]:
        print(f"  {score:5.2f}  {document}, paragraph {position}")
    found = segments(store, hits, budget_tokens=400)
    store.close()
    print("\nSegments:")
    for segment in found:
        place = f"{segment.document_id}, paragraphs {segment.first_chunk}-{segment.last_chunk - 1}"
        print(f"\n[{segment.rank + 1}] {place} ({segment.tokens} tokens)\n{segment.text}")
    return found


if __name__ == "__main__":
    main()
