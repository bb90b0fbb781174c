"""Synthetic long documents of real sentences, and questions about them."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spanwise.models.providers.wordllama import WordLlama

_WORD = re.compile(r"[a-z]{4,}", re.IGNORECASE)
_STEM = 4
_REPLACEMENTS = 20_000
_SENTENCE = re.compile(r"[^.!?\n]{40,300}[.!?]")
_SYLLABLES = [a + b for a in "bdfklmnrtv" for b in "aeio"]
SENTENCES_A_DOCUMENT = 130
_MIN_WORDS, _MAX_WORDS = 12, 24


def sentences(folder: Path | None) -> list[str]:
    """Return the sentences of the text files in a folder, or of the Python language reference."""
    if folder is None:
        from pydoc_data.topics import topics

        texts = list(topics.values())
    else:
        paths = sorted(p for p in folder.rglob("*") if p.suffix in (".txt", ".md"))
        texts = [path.read_text("utf-8", errors="replace") for path in paths]
    found = {" ".join(s.split()) for text in texts for s in _SENTENCE.findall(text)}
    return sorted(found)


def made_sentences(pool: Sequence[str], *, count: int, seed: int = 2) -> list[str]:
    """Return new sentences, in which each word follows a word that it also follows in a pool.

    A large corpus of a small pool repeats each sentence many times, and a search then compares
    hundreds of equal chunks. These sentences of 12 to 24 words hardly ever repeat. They contain no
    quotation marks, which would make phrases of the words of a question.
    """
    rng = random.Random(seed)
    following: dict[str, list[str]] = {}
    for sentence in pool:
        words = ["", *sentence.replace('"', "").split()]
        for word, after in pairwise(words):
            following.setdefault(word, []).append(after)
    made: list[str] = []
    while len(made) < count:
        words = [""]
        while words[-1] in following and len(words) <= _MAX_WORDS:
            words.append(rng.choice(following[words[-1]]))
        if len(words) > _MIN_WORDS:
            made.append(" ".join(words[1:]).rstrip(".!?") + ".")
    return made


def documents(pool: list[str], *, chunks: int, seed: int = 0) -> Iterator[tuple[str, str]]:
    """Yield titles and texts of documents of about 46 chunks, with at least `chunks` in total.

    Each document has runs of adjacent sentences, with its own names and changed digits.
    """
    rng = random.Random(seed)
    made = 0
    number = 0
    while made < chunks:
        number += 1
        name = "".join(rng.choices(_SYLLABLES, k=3)).capitalize()
        title = f"{name} report {rng.randrange(1990, 2030)}"
        lines: list[str] = []
        while len(lines) < SENTENCES_A_DOCUMENT:
            start = rng.randrange(len(pool) - 20)
            run = [_varied(sentence, rng) for sentence in pool[start : start + 12]]
            run[0] = f"{name} {rng.choice(_SYLLABLES)}{rng.choice(_SYLLABLES)}ton: {run[0]}"
            lines += [" ".join(run[:6]), " ".join(run[6:]), ""]
        text = "\n".join(lines[: SENTENCES_A_DOCUMENT // 6 * 3])
        yield f"{number:06d} {title}", text
        made += len(text) // 360


def _varied(sentence: str, rng: random.Random) -> str:
    return re.sub(r"\d", lambda _: str(rng.randrange(10)), sentence)


def questions(pool: list[str], *, count: int, seed: int = 1) -> list[str]:
    """Return questions of 5 to 20 words, taken from sentences of the documents."""
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        words = rng.choice(pool).split()
        length = min(len(words), rng.randrange(5, 21))
        start = rng.randrange(len(words) - length + 1)
        made.append("What about " + " ".join(words[start : start + length]) + "?")
    return made


def reworded(asked: Sequence[str], pool: Iterable[str]) -> list[str]:
    """Return questions with each longer word replaced by the most similar frequent word of a pool.

    A replacement does not begin with the same four letters. Similarity is the cosine of static word
    vectors.
    """
    counts = Counter(word.lower() for text in pool for word in _WORD.findall(text))
    words = [word for word, _ in counts.most_common(_REPLACEMENTS)]
    vectors = _unit_vectors(words)
    stems = np.array([word[:_STEM] for word in words])

    def replacement(match: re.Match[str]) -> str:
        word = match.group().lower()
        similar = vectors @ _unit_vectors([word])[0]
        best = np.argmax(np.where(stems == word[:_STEM], -1.0, similar))
        return str(words[int(best)])

    return [_WORD.sub(replacement, question) for question in asked]


def _unit_vectors(words: Sequence[str]) -> NDArray[np.float32]:
    vectors = WordLlama().embed(list(words))
    return np.asarray(vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9))
