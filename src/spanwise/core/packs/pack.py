"""Packs: what is known of a kind of document before any question is asked.

A pack names landmarks (places that documents of its kind have, told by their titles and by what
stands in them), intents (words of questions that point to a landmark) and a glossary (words of
questions, and what documents say instead). `core.landmarks` finds the places in a document,
`core.intents` reads a question, `core.lifts` makes scores of both.

Rules:
    Phrases are plain words, compared by their terms: case, spacing and endings do not count.
    A pack says nothing of a document that is not of its kind, or has none of its landmarks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from spanwise.core.terms import text_terms

__all__ = ["Intent", "Landmark", "Pack", "Phrase", "phrase_terms"]

Phrase = tuple[str, ...]
"""Terms of a phrase, in order."""


@lru_cache(maxsize=20_000)
def phrase_terms(text: str, *, language: str) -> Phrase:
    """Return the terms of a phrase."""
    return tuple(text_terms(text, language=language))


@dataclass(frozen=True, slots=True, kw_only=True)
class Landmark:
    """A kind of place that documents of a pack have."""

    key: str
    """Its table in the file."""
    name: str
    """How it is called for people."""
    titles: tuple[str, ...]
    """How the line over it may read; a document without one of these lines has no such place."""
    items: tuple[str, ...]
    """What usually stands there."""
    numbers: bool = False
    """Whether it is a table of numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """How a question points to a landmark."""

    landmark: str
    """Its key."""
    names: tuple[str, ...] = ()
    """What the place itself is called; a question that has one is after no other place."""
    words: tuple[str, ...] = ()
    """What is asked for that stands there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """Landmarks, intents and glossary of one kind of document."""

    name: str
    description: str
    language: str
    """Of its phrases (ISO 639-1)."""
    throughout: tuple[str, ...]
    """What its documents say again and again: one of these in a third of their chunks.

    Empty where landmarks alone tell whether a document is of this kind.
    """
    landmarks: tuple[Landmark, ...]
    intents: tuple[Intent, ...]
    glossary: Mapping[str, tuple[str, ...]] = field(hash=False)
    """By word of a question, what documents say."""
    text: str = field(repr=False)
    """The file it was read from."""

    def signal(self, landmark: str) -> str:
        """Return the name under which the signal of a landmark is kept."""
        return f"{self.name}/{landmark}"
