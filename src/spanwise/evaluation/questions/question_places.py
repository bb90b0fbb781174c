"""Places of documents that questions are made about, spread over documents and sections.

Documents, sections and places are ordered by a hash of the seed: the same seed picks the same ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise.errors import OptionError
from spanwise.models.prompts.questions import QuestionPassage

if TYPE_CHECKING:
    from spanwise.knowledge_base import KnowledgeBase
    from spanwise.types import Chunk


_ENOUGH_TOKENS = 150
"""Number of tokens from which a place ends with its section."""
_MOST_TOKENS = 500
_LEAST_LETTERS = 120
"""Minimum number of letters of a place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A part of a document."""

    document_id: str
    title: str
    """Title of the document."""
    path: tuple[str, ...]
    """Titles of the section in which it begins, outermost first."""
    start: int
    """First character in the text of the document."""
    text: str

    @property
    def asked(self) -> QuestionPassage:
        """Return the place as a prompt shows it."""
        return QuestionPassage(title=self.title, section=" > ".join(self.path), text=self.text)


def pick_places(base: KnowledgeBase, *, seed: int) -> Iterator[Place]:
    """Return the places of all documents in turn; documents are read when they are needed.

    Raises:
        OptionError: If there is no document.
    """
    records = sorted(base.list(), key=lambda record: _hash(seed, record.id))
    if not records:
        raise OptionError("the knowledge base holds no document; add some, then make questions")
    return _in_turns([_places(base, one.id, title=one.title, seed=seed) for one in records])


def _in_turns(left: list[Iterator[Place]]) -> Iterator[Place]:
    """Yield one item of each iterator in turn (round robin)."""
    while left:
        further: list[Iterator[Place]] = []
        for places in left:
            place = next(places, None)
            if place is not None:
                yield place
                further.append(places)
        left = further


def _places(base: KnowledgeBase, document_id: str, *, title: str, seed: int) -> Iterator[Place]:
    """Yield the places of a document, one of each section in turn."""
    sections = base.sections(document_id)
    by_section: dict[tuple[str, ...], list[Place]] = {}
    for run in _runs(base.chunks(document_id)):
        text = "".join(chunk.text for chunk in run)
        if sum(map(str.isalpha, text)) >= _LEAST_LETTERS:
            place = Place(
                document_id=document_id,
                title=title,
                path=sections[run[0].section].path,
                start=run[0].start,
                text=text,
            )
            by_section.setdefault(place.path, []).append(place)
    ordered = [
        (turn, _hash(seed, document_id, place.start), place)
        for places in by_section.values()
        for turn, place in enumerate(
            sorted(places, key=lambda one: _hash(seed, document_id, one.start))
        )
    ]
    for _, _, place in sorted(ordered, key=lambda one: one[:2]):
        yield place


def _runs(chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    """Return runs of neighbouring chunks up to the maximum number of tokens."""
    runs: list[list[Chunk]] = []
    tokens = 0
    for chunk in chunks:
        begins = runs and chunk.section != runs[-1][-1].section
        is_full = tokens + chunk.tokens > _MOST_TOKENS or (begins and tokens >= _ENOUGH_TOKENS)
        if not runs or is_full:
            runs.append([])
            tokens = 0
        runs[-1].append(chunk)
        tokens += chunk.tokens
    return runs


def _hash(*parts: object) -> str:
    return hashlib.sha256("\x1f".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()
