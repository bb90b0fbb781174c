"""Embedders and documents of the tests of rebuilds."""

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from spanwise import KnowledgeBase
from spanwise.errors import ModelError
from spanwise.models.ports import EmbedReply
from spanwise.types import Usage

SUBJECTS = ("margin", "lease", "goodwill", "covenant", "dividend", "freight", "pension", "patent")


def text_of(number: int, *, lines: int = 30) -> str:
    """Return a text about one subject, which no other number below eight shares."""
    subject = SUBJECTS[number % len(SUBJECTS)]
    return "".join(
        f"The {subject} of report {number} was {number * 100 + line} million in year {line}.\n"
        for line in range(lines)
    )


def fill(base: KnowledgeBase, documents: int = 6, *, lines: int = 30) -> None:
    """Add the documents "0", "1" and so on."""
    for number in range(documents):
        base.add_text(
            text_of(number, lines=lines), document_id=str(number), metadata={"number": number}
        )


def found_ids(base: KnowledgeBase, number: int) -> set[str]:
    """Return the ids of the documents that are found for the subject of a document."""
    question = f"What was the {SUBJECTS[number % len(SUBJECTS)]}?"
    return {segment.document_id for segment in base.search(question, deep=False).segments}


def vectors_of(texts: Sequence[str], dimension: int) -> NDArray[np.float32]:
    """Return a vector for each text, which depends on the whole text."""
    rows = [hashlib.blake2b(text.encode(), digest_size=dimension).digest() for text in texts]
    return np.array([np.frombuffer(row, dtype=np.int8) for row in rows], dtype=np.float32)


@dataclass
class HashEmbedder:
    """Static embedder."""

    name: str = "tests:hash"
    version: str = "1"
    dimension: int = 24

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector for each text."""
        return vectors_of(texts, self.dimension)


@dataclass
class RemoteEmbedder:
    """Contextual embedder with a price, which counts its texts and may fail after some."""

    name: str = "tests:remote"
    version: str = "1"
    dimension: int = 16
    is_local: bool = False
    batch_texts: int = 8
    concurrency: int = 1
    limit: int = 1_000_000
    sent: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector for each text."""
        return vectors_of(texts, self.dimension)

    def estimate(self, texts: Sequence[str]) -> Usage:
        """Return a price per text."""
        return Usage(calls=1, input_tokens=10 * len(texts), cost=0.001 * len(texts))

    def embed_texts(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        """Return a vector for each text."""
        with self.lock:
            if kind == "document" and len(self.sent) + len(texts) > self.limit:
                raise ModelError("no more texts", provider="tests", model="remote")
            if kind == "document":
                self.sent += texts
        return EmbedReply(vectors=self.embed(texts), usage=self.estimate(texts))
