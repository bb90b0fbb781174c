"""Titles and summaries of sections and documents are searched."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from spanwise import GivenParts, KnowledgeBase
from spanwise.knowledge_base.internals import store_of
from spanwise.types import Section

TEXTS = (
    "Retired staff get 60 % of their last wage, and the firm sets money aside for it each year.\n",
    "The canteen opens at noon and closes at two, except on days before a holiday.\n",
    "The plant in Austin was let for ten years to a maker of bicycles.\n",
)
TITLES = ("Pension obligations", "Meals", "Leases")


def sections(*, summaries: tuple[str, ...] = ("", "", "")) -> tuple[Section, ...]:
    ends = [0]
    for text in TEXTS:
        ends.append(ends[-1] + len(text) * 8)
    return tuple(
        Section(start=start, end=end, title=title, path=(), summary=summary)
        for (start, end), title, summary in zip(pairwise(ends), TITLES, summaries, strict=True)
    )


HANDBOOK = "".join(text * 8 for text in TEXTS)


def first_start(path: Path, question: str, given: GivenParts) -> int:
    """Return where the best segment starts; -1 if nothing is found."""
    with KnowledgeBase(path) as knowledge_base:
        knowledge_base.add_text(HANDBOOK, document_id="handbook", given=given)
        knowledge_base.add_text("The weather was fine. " * 60, document_id="weather")
        found = knowledge_base.search(question, budget_tokens=200, deep=False).segments
    best = min(found, key=lambda segment: segment.rank, default=None)
    return best.start if best is not None and best.document_id == "handbook" else -1


@pytest.mark.parametrize(
    ("question", "at"), [("Pension obligations", 0), ("leases", 2), ("What are the meals?", 1)]
)
def test_a_section_is_found_by_its_title(tmp_path: Path, question: str, at: int) -> None:
    """No text contains a word of the titles."""
    given = GivenParts(sections=sections())
    section = given.sections[at]
    start = first_start(tmp_path / "a.kb", question, given)
    assert section.start <= start < section.end


def test_a_section_is_found_by_its_summary(tmp_path: Path) -> None:
    given = GivenParts(sections=sections(summaries=("", "", "A tenant of real estate.")))
    start = first_start(tmp_path / "a.kb", "Which tenant is there?", given)
    assert start >= given.sections[2].start


def test_a_document_is_found_by_its_summary(tmp_path: Path) -> None:
    """The summary has words that occur nowhere in the documents."""
    given = GivenParts(summary="Guidance for newcomers.")
    assert first_start(tmp_path / "a.kb", "newcomers", given) >= 0


def test_a_new_summary_replaces_the_old_one(tmp_path: Path) -> None:
    """The section is found by the new words and no longer by the old ones."""
    path = tmp_path / "a.kb"
    for summary in ("A tenant.", "An occupant."):
        given = GivenParts(sections=sections(summaries=("", "", summary)))
        assert first_start(path, summary, given) >= given.sections[2].start
    with (
        KnowledgeBase(path, create=False) as knowledge_base,
        store_of(knowledge_base).snapshot() as snapshot,
    ):
        assert snapshot.term_counts(["tenant", "occup"])[0].tolist() == [0, 2]


LONG_SECTION = "".join(f"Rule {n}: spindle {n} is oiled on day {n % 31}.\n\n" for n in range(1200))


@pytest.mark.parametrize("preset", ["precise", "balanced"])
def test_a_long_section_is_returned_whole_if_it_is_named(preset: str) -> None:
    """A question that names it wants all of its tokens, whatever their price."""
    text = (
        f"# Handbook\n\n## Significant mill policies\n\n{LONG_SECTION}## Outlook\n\n{TEXTS[1] * 90}"
    )
    with KnowledgeBase(":memory:", tokenizer="chars:4", embedder=None) as knowledge_base:
        knowledge_base.add_text(text, document_id="rules", media_type="text/markdown")
        question = "Explain the mill policies"
        result = knowledge_base.search(question, budget_tokens=40_000, preset=preset, deep=False)
        (segment,) = result.segments
        excerpts = knowledge_base.excerpts(
            question, excerpts=1, excerpt_tokens=40_000, preset=preset, deep=False
        )
    assert LONG_SECTION.strip() in segment.text
    assert "canteen" not in segment.text
    assert LONG_SECTION.strip() in excerpts.excerpts[0].text


def test_a_named_section_longer_than_the_budget_is_cut_at_its_end() -> None:
    with KnowledgeBase(":memory:", tokenizer="chars:4", embedder=None) as knowledge_base:
        text = f"# Handbook\n\n{TEXTS[1] * 90}\n\n## Significant mill policies\n\n{LONG_SECTION}"
        knowledge_base.add_text(text, document_id="rules", media_type="text/markdown")
        result = knowledge_base.search("Explain the mill policies", budget_tokens=900, deep=False)
    (segment,) = result.segments
    assert "Rule 0:" in segment.text
    assert 700 < segment.tokens <= 900


def test_an_excerpt_names_all_sections_that_it_shows() -> None:
    """Its citation, the citations of its spans, and the line above a part that spans several."""
    answer = "The gross margin fell because of the price of wool. "
    text = (
        f"# Report\n\n{TEXTS[1] * 90}\n\n"
        f"## Results\n\n{answer * 6}\n\n## Margins\n\nThe gross margin fell again. {answer * 6}\n\n"
        f"## Outlook\n\n{TEXTS[2] * 90}"
    )
    with KnowledgeBase(":memory:", tokenizer="chars:4", embedder=None) as knowledge_base:
        knowledge_base.add_text(text, document_id="rules", media_type="text/markdown")
        result = knowledge_base.excerpts(
            "Why did the gross margin fall?", excerpts=1, excerpt_tokens=400, deep=False
        )
        sections = {one.path: one for one in knowledge_base.sections("rules")}
    (excerpt,) = result.excerpts
    shown = [
        path
        for path, section in sections.items()
        if any(span.start < section.end and section.start < span.end for span in excerpt.spans)
    ]
    assert len(shown) > 1
    assert list(excerpt.citation.sections) == shown
    named = {
        path
        for span in excerpt.spans
        for path in span.citation.sections or (span.citation.section_path,)
    }
    assert named == set(shown)
    line = excerpt.text.splitlines()[0]
    assert all(path[-1] in line for path in shown)


def test_a_named_section_leaves_room_for_the_chunk_of_another_query() -> None:
    """No chunk has a word of the question; its section is found by the number alone."""
    titles = ("Business", "Properties", "Legal Proceedings")
    parts = [
        f"## Section {number}. {title}\n\n" + f"{title} matters are described here. " * 12
        for number, title in enumerate(titles, 1)
    ]
    with KnowledgeBase(":memory:", embedder=None) as base:
        text = "\n\n".join(["The zeppelin factory burned down.", *parts])
        base.add_text(text, document_id="report", media_type="text/markdown")
        found = base.search("What does article III say?", more_queries=["zeppelin factory"])
    texts = {segment.queries: segment.text for segment in found.segments}
    assert "Legal Proceedings matters" in texts[0,]
    assert "zeppelin" in texts[1,]
