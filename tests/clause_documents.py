"""Papers with clauses that say in other words what they are asked about."""

from __future__ import annotations

import random

from spanwise.evaluation.dataset import Evidence, LabelledQuestion
from spanwise.knowledge_base import KnowledgeBase

__all__ = ["NEW_NAME", "NEW_TEXT", "clause_base", "clause_questions", "clause_texts"]

_NAMES = """
    Abernathy Birchwood Calloway Dunmore Ellsworth Fairbanks Garrison Hawthorne Ingleside Jamieson
    Kensington Lockhart
""".split()
_CLAUSES = {
    "Which law governs the paper of {}?": (
        "Everything herein is construed under the statutes of the canton of {}.\n",
        "The law office of {} keeps the paper, which nobody governs.\n",
    ),
    "How can a party leave the paper of {}?": (
        "Sixty days after notice in writing the obligations of either signatory to {} cease.\n",
        "A party in the garden of {} is said to leave late with some paper.\n",
    ),
    "What may the fee in the paper of {} become?": (
        "Remuneration rises by no more than inflation, as the index of {} has it.\n",
        "What the fee for a seat at {} may become is printed on paper.\n",
    ),
}
_WORDS = """
    the of work on was and in site crew at for plan with report week from area shift record
    materials during inspection maintenance schedule delivered checked agreed later morning
""".split()

NEW_NAME = "Merriweather"


def _text(name: str, seed: int) -> str:
    chance = random.Random(seed)
    lines = [
        " ".join(chance.choice(_WORDS) for _ in range(18)).capitalize() + ".\n" for _ in range(42)
    ]
    for at, (told, misleading) in enumerate(_CLAUSES.values()):
        lines[5 + 13 * ((at + seed) % 3)] = told.format(name)
        lines[10 + 13 * at] = misleading.format(name) * 2
    return "".join(lines)


NEW_TEXT = _text(NEW_NAME, 99)


def clause_texts() -> dict[str, str]:
    """Return the text of each document by the name in its title."""
    return {name: _text(name, at) for at, name in enumerate(_NAMES)}


def clause_base() -> KnowledgeBase:
    """Return a knowledge base in memory that holds them, searched by words."""
    base = KnowledgeBase(":memory:", embedder=None, packs=())
    for name, text in clause_texts().items():
        base.add_text(text, document_id=f"{name}.txt", title=f"{name} paper")
    return base


def clause_questions() -> list[LabelledQuestion]:
    """Return three questions for each document, with the lines that answer them."""
    found = []
    for name, text in clause_texts().items():
        for number, (asked, (told, _)) in enumerate(_CLAUSES.items()):
            start = text.index(told.format(name))
            place = Evidence(
                document_id=f"{name}.txt", start=start, end=start + len(told.format(name))
            )
            found.append(
                LabelledQuestion(id=f"{name} {number}", text=asked.format(name), evidence=(place,))
            )
    return found
