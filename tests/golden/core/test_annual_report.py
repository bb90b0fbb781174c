"""Questions about an annual report: named sections whole, one-line facts in few tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO

import pytest
from tests.annual_report import FACTS, NOTES, STATEMENTS, TITLE, markdown_report, plain_report

from spanwise import KnowledgeBase
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.types import Segment

FORMS = {"annual_report.txt": plain_report, "annual_report.md": markdown_report}
FACT_BUDGET = 600


@pytest.fixture(scope="module", params=FORMS)
def base(request: pytest.FixtureRequest) -> Iterator[KnowledgeBase]:
    """Return a knowledge base with one form of the report, without a model."""
    with KnowledgeBase(":memory:") as base:
        text = FORMS[request.param]().encode()
        base.add(BytesIO(text), document_id=request.param, metadata={"title": TITLE})
        yield base


def best(base: KnowledgeBase, question: str, *, budget: int = 4_000) -> Segment:
    """Return the best segment for a question; checks the budget with the counted context."""
    result = base.search(question, budget_tokens=budget, deep=False)
    counted = make_tokenizer("o200k_base").count([result.context])[0]
    assert counted <= result.tokens <= budget
    return min(result.segments, key=lambda segment: segment.rank)


def squeezed(text: str) -> str:
    return " ".join(text.split()).casefold()


def test_the_sections_of_the_report(
    base: KnowledgeBase, golden: Callable[[str, object], None]
) -> None:
    """Items, statements and notes are sections."""
    (record,) = base.list()
    paths = [list(section.path) for section in base.sections(record.id)]
    golden(record.id, paths)


@pytest.mark.parametrize(
    "question", ["Note {number} {title}", "the note on {title}", "{title} note"]
)
@pytest.mark.parametrize("title", ["Leases", "Income Taxes", "Revenues"])
def test_a_named_note_is_returned_whole(base: KnowledgeBase, question: str, title: str) -> None:
    """By its number, and by its topic."""
    number = list(NOTES).index(title) + 1
    segment = best(base, question.format(number=number, title=title.lower()))
    following = list(NOTES)[number]
    assert squeezed(segment.text).lstrip("# ").startswith(f"note {number} — {title.lower()}")
    assert f"{list(NOTES.values())[number - 1].split()[-1]} of the year" in squeezed(segment.text)
    assert f"note {number + 1} — {following.lower()}" not in squeezed(segment.text)


def test_named_statements_are_returned_together_and_each_is_named(base: KnowledgeBase) -> None:
    """The segment goes from the first to the last; its citation names all of them."""
    segment = best(base, "Wrenlock consolidated financial statements")
    assert [path[-1].casefold() for path in segment.citation.sections] == [
        title.casefold() for title in STATEMENTS
    ]
    first, *_, last = (title.casefold() for title in STATEMENTS)
    named = segment.citation.spanned_path[-1].casefold()
    assert named == f"{first} … {last}"
    assert named in segment.header.casefold()
    for rows in STATEMENTS.values():
        assert squeezed(rows[-1]) in squeezed(segment.text)


def test_a_named_item_is_returned_with_all_its_parts(base: KnowledgeBase) -> None:
    """It is longer than one section may be, and cut where its topic changes."""
    segment = best(base, "Item 1A risk factors")
    path = segment.citation.section_path
    assert any("risk factors" in title.casefold() for title in path)
    assert "item 2." not in squeezed(segment.text)


def test_a_section_longer_than_the_budget_is_returned_from_its_beginning(
    base: KnowledgeBase,
) -> None:
    """As far as the budget goes."""
    segment = best(base, "Note 4 Leases", budget=400)
    assert squeezed(segment.text).lstrip("# ").startswith("note 4 — leases")


def test_an_explanation_gives_the_name_as_the_reason(base: KnowledgeBase) -> None:
    """Each chunk of a named section has it."""
    explanation = base.explain("the note on leases", deep=False)
    reasons = {one.reason for one in explanation.candidates if one.decision == "named"}
    (reason,) = reasons
    assert 'the section that the question names, "' in reason
    assert "leases" in reason.casefold()


def test_a_border_costs_a_tenth_of_the_charge(base: KnowledgeBase) -> None:
    """It costs nothing with a preset that fills the budget."""
    question = "Why do harvests spoil?"
    balanced = base.explain(question, deep=False)
    comprehensive = base.explain(question, preset="comprehensive", deep=False)
    runs = [run for document in balanced.documents for run in document.runs]
    assert {part for run in runs for part in run.borders} == {0.0, 0.1}
    assert not any(run.borders for one in comprehensive.documents for run in one.runs)


@pytest.mark.parametrize("question", FACTS)
def test_a_fact_is_found_in_few_tokens(base: KnowledgeBase, question: str) -> None:
    """The sentence is inside the segments, and no section is returned for its topic."""
    result = base.search(question, budget_tokens=FACT_BUDGET, deep=False)
    assert any(squeezed(FACTS[question][1]) in squeezed(one.text) for one in result.segments)
    explanation = base.explain(question, budget_tokens=FACT_BUDGET, deep=False)
    assert not explanation.terms.named


def test_a_note_that_does_not_exist_is_reported(base: KnowledgeBase) -> None:
    missing = [w for w in base.search("Note 97 Leases").warnings if "note 97" in w]
    present = [w for w in base.search("note 2").warnings if "note 2" in w]
    assert len(missing) == 1
    assert not present
