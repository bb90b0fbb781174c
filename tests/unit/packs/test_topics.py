"""Topics of questions that ask for documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from spanwise.errors import PackError
from spanwise.packs.pack_file import read_pack, shipped_packs
from spanwise.packs.topics import topic_phrases

TEXT = """
name = "leases"
description = "Leases."
nouns = ["leases"]

[landmarks.rent]
titles = ["rent"]
items = ["monthly rent"]

[topics.pets]
about = ["animals in the flat"]
asks = ["pets", "keep animals"]
says = ["dogs and cats", "no pets"]

[topics.garden]
about = ["use of the green area"]
asks = ["garden", "keep plants"]
says = ["the garden"]
"""
PACK = read_pack(TEXT, place="leases.toml")


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return vectors that distinguish texts about animals, plants, and other things."""
    kinds = [("animal", "cat"), ("green", "keep something")]
    rows = [[any(word in text for word in words) for words in kinds] for text in texts]
    return np.array([[*row, not any(row)] for row in rows], dtype=np.float32)


@pytest.mark.parametrize(
    ("question", "noun", "phrases"),
    [
        ("allow pets", "leases", ("dogs and cats", "no pets")),
        ("let a tenant keep an animal", "", ("dogs and cats", "no pets")),
        ("allow pets", "reports", ()),
        ("forbid smoking", "leases", ()),
    ],
)
def test_words_determine_the_topic(question: str, noun: str, phrases: tuple[str, ...]) -> None:
    assert topic_phrases([PACK], question, noun=noun, embed=None) == phrases


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        ("allow a cat", ("dogs and cats", "no pets")),
        ("pets in a garden, green", ("the garden",)),
        ("forbid smoking", ()),
    ],
)
def test_descriptions_decide_without_a_phrase_or_among_several(
    question: str, phrases: tuple[str, ...]
) -> None:
    assert topic_phrases([PACK], question, noun="leases", embed=embed) == phrases


def test_a_topic_needs_phrases() -> None:
    with pytest.raises(PackError, match=r"leases\.toml:\d+: topics\.pets\.says"):
        read_pack(TEXT.replace('says = ["dogs and cats", "no pets"]', ""), place="leases.toml")
    more = "".join(f'[topics.t{n}]\nasks = ["a{n}b"]\nsays = ["b"]\n' for n in range(255))
    with pytest.raises(PackError, match="topics has 257 tables"):
        read_pack(TEXT + more, place="leases.toml")


def test_the_contracts_pack_knows_usual_clauses() -> None:
    packs = [named.pack for named in shipped_packs()]
    phrases = topic_phrases(packs, "require insurance", noun="contracts", embed=None)
    assert "certificate of insurance" in phrases
    assert not topic_phrases(packs, "require insurance", noun="reports", embed=None)
