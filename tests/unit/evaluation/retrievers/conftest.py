"""A small knowledge base for retrievers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spanwise.knowledge_base import KnowledgeBase

_TOPICS = {
    "north": "freight by rail and the price of diesel",
    "south": "rent for the warehouses near the harbour",
    "east": "wages of the drivers and their training",
}


def _report(region: str, topic: str) -> str:
    return f"# Report {region}\n" + "".join(
        f"\n## Year {year}\n\nThis part is about {topic}. In {year} the costs of {topic} rose by "
        f"{year - 2010} percent. Nobody had planned for it. The board asked for a review of all "
        "contracts. It was told that the contracts could not be changed before the end of their "
        "term. A second review was ordered. Its result was the same. The money was taken from the "
        "reserve, which the shareholders had approved two years before.\n"
        for year in range(2015, 2021)
    )


@pytest.fixture(scope="session")
def base() -> Iterator[KnowledgeBase]:
    """Return a knowledge base with three reports."""
    with KnowledgeBase(":memory:", tokenizer="chars:4") as made:
        for region, topic in _TOPICS.items():
            made.add_text(
                _report(region, topic),
                document_id=f"reports/{region}.md",
                title=f"Annual review of the {region}",
                media_type="text/markdown",
            )
        yield made
