"""Synthetic long documents of real sentences, and questions about them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

_SENTENCE = re.compile(r"[^.!?\n]{40,300}[.!?]")
_SYLLABLES = [a + b for a in "bdfklmnrtv" for b in "aeio"]
SENTENCES_A_DOCUMENT = 130


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
