"""Places that questions are made from."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise

import pytest

from spanwise import KnowledgeBase
from spanwise.errors import OptionError
from spanwise.evaluation.questions.generator import pick_places

WORDS = "The harbour of Northport takes dues from every boat that stays for more than a night. "


def document(sections: int, *, sentences: int = 12) -> str:
    return "\n\n".join(
        f"# Part {number}\n\n" + f"Rule {number}. {WORDS}" * sentences for number in range(sections)
    )


@pytest.fixture
def base() -> Iterator[KnowledgeBase]:
    """Return a knowledge base of five documents, one of them empty of words."""
    with KnowledgeBase(":memory:", embedder=None) as made:
        for number in range(4):
            made.add_text(
                document(number + 1),
                document_id=f"{number}.md",
                title=f"Rules {number}",
                media_type="text/markdown",
            )
        made.add_text("1 2 3 | 4 5 6", document_id="numbers.md")
        yield made


def test_a_place_is_the_text_that_stands_there(base: KnowledgeBase) -> None:
    for place in pick_places(base, seed=0):
        whole = base.get(place.document_id).text
        assert whole[place.start : place.start + len(place.text)] == place.text
        assert place.title == f"Rules {place.document_id[0]}"
        assert place.path[0].startswith("Part")


def test_every_document_comes_before_any_comes_twice(base: KnowledgeBase) -> None:
    order = [place.document_id for place in pick_places(base, seed=3)]
    assert sorted(order[:4]) == ["0.md", "1.md", "2.md", "3.md"]
    assert "numbers.md" not in order


def test_every_section_comes_before_any_comes_twice() -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text(document(3, sentences=100), document_id="a.md", media_type="text/markdown")
        paths = [place.path for place in pick_places(base, seed=1)]
    assert len(set(paths[:3])) == 3
    assert len(paths) > 6


def test_no_place_overlaps_another(base: KnowledgeBase) -> None:
    spans = sorted(
        (place.document_id, place.start, place.start + len(place.text))
        for place in pick_places(base, seed=0)
    )
    for (document_id, _, end), (other, start, _) in pairwise(spans):
        assert document_id != other or end <= start


def test_the_seed_alone_says_which_places_come_first(base: KnowledgeBase) -> None:
    def first(seed: int) -> list[tuple[str, int]]:
        return [(one.document_id, one.start) for one in islice(pick_places(base, seed=seed), 5)]

    assert first(0) == first(0)
    assert len({tuple(first(seed)) for seed in range(5)}) > 1
    before = [one for one in first(0) if one[0] != "late.md"]
    base.add_text(document(1), document_id="late.md")
    after = [one for one in first(0) if one[0] != "late.md"]
    assert after == before[: len(after)]


def test_an_empty_knowledge_base_is_said() -> None:
    with KnowledgeBase(":memory:", embedder=None) as base, pytest.raises(OptionError, match="no d"):
        pick_places(base, seed=0)
