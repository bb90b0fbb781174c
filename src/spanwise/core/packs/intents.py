"""What a question is after, in the words of packs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from spanwise.core.packs.pack import phrase_terms
from spanwise.core.question import MAX_TERMS
from spanwise.core.terms import text_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from spanwise.core.packs.pack import Landmark, Pack, Phrase

__all__ = ["Aim", "read_aims"]


@dataclass(frozen=True, slots=True)
class Aim:
    """What a question is after, as one pack understands it."""

    pack: Pack
    landmarks: tuple[Landmark, ...]
    """Where it is to be found, in the order of the pack."""
    terms: tuple[str, ...]
    """What documents say for words of the question, without what it says itself; in order, at most
    as many as a question is searched by."""


def read_aims(packs: Sequence[Pack], question: str) -> tuple[Aim, ...]:
    """Return what a question is after; nothing of a pack that does not know its words."""
    aims = (_aim(pack, question) for pack in packs)
    return tuple(aim for aim in aims if aim.landmarks or aim.terms)


def _aim(pack: Pack, question: str) -> Aim:
    asked = tuple(text_terms(question, language=pack.language))
    lexicon = _lexicon(pack)
    found = list(dict.fromkeys(phrase for phrase in lexicon.phrases(asked)))
    named = {key for phrase in found for key in lexicon.names.get(phrase, ())}
    meant = named or {key for phrase in found for key in lexicon.words.get(phrase, ())}
    said = dict.fromkeys(term for phrase in found for term in lexicon.glossary.get(phrase, ()))
    return Aim(
        pack,
        tuple(landmark for landmark in pack.landmarks if landmark.key in meant),
        tuple(term for term in said if term not in asked)[:MAX_TERMS],
    )


@dataclass(frozen=True, slots=True)
class _Lexicon:
    """What the phrases of a pack mean in a question."""

    names: Mapping[Phrase, tuple[str, ...]]
    words: Mapping[Phrase, tuple[str, ...]]
    glossary: Mapping[Phrase, tuple[str, ...]]
    longest: int

    def phrases(self, terms: Phrase) -> Iterator[Phrase]:
        """Yield the phrases that stand in a question, by where they begin."""
        for start in range(len(terms)):
            for end in range(start + 1, min(start + self.longest, len(terms)) + 1):
                phrase = terms[start:end]
                if phrase in self.names or phrase in self.words or phrase in self.glossary:
                    yield phrase


@lru_cache(maxsize=64)
def _lexicon(pack: Pack) -> _Lexicon:
    names = _by_phrase(((text, i.landmark) for i in pack.intents for text in i.names), pack)
    words = _by_phrase(((text, i.landmark) for i in pack.intents for text in i.words), pack)
    said = [
        (word, term)
        for word, texts in pack.glossary.items()
        for text in texts
        for term in phrase_terms(text, language=pack.language)
    ]
    glossary = _by_phrase(said, pack)
    longest = max((len(phrase) for phrase in (*names, *words, *glossary)), default=0)
    return _Lexicon(names, words, glossary, longest)


def _by_phrase(pairs: Iterable[tuple[str, str]], pack: Pack) -> dict[Phrase, tuple[str, ...]]:
    """Return what stands for each phrase, each once, in order."""
    found: dict[Phrase, dict[str, None]] = {}
    for text, meaning in pairs:
        found.setdefault(phrase_terms(text, language=pack.language), {})[meaning] = None
    return {phrase: tuple(meanings) for phrase, meanings in found.items()}
