"""Questions out of the documents."""

from __future__ import annotations

from spanwise import KnowledgeBase
from spanwise.evaluation.tuning import made_questions

BODY = "The crew checked every valve and wrote down what it had found in the morning. " * 5
TEXT = "".join(
    f"# {title}\n\n{BODY}\n\n"
    for title in (
        "Maintenance schedule of pumps",
        "Notes",
        "Permits for hot work",
        "Repeated title of sections",
        "Repeated title of sections",
        "Delivery of spare parts",
    )
)


def test_a_title_asks_for_the_text_below_it() -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text(TEXT, document_id="works.md", media_type="text/markdown")
        made = made_questions(base)
        text = base.get("works.md").text
    asked = {one.text for one in made}
    assert asked == {
        "Maintenance schedule of pumps",
        "Permits for hot work",
        "Delivery of spare parts",
    }
    for one in made:
        (place,) = one.evidence
        held = text[place.start : place.end]
        assert BODY.strip() in held
        assert one.text not in held


def test_no_more_are_made_than_asked_for_spread_over_all() -> None:
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_text(TEXT, document_id="works.md", media_type="text/markdown")
        made = made_questions(base, most=2)
    assert [one.text for one in made] == ["Maintenance schedule of pumps", "Permits for hot work"]
