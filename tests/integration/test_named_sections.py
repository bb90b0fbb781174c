"""A question that names a section by its title, in several documents with such a section."""

from __future__ import annotations

from spanwise import KnowledgeBase


def test_the_date_of_a_file_is_no_date_of_its_contents() -> None:
    """A report of 2021 is filed in 2022; a question about 2022 is about the next report."""
    text = "# Overview\n\nThe mill grew.\n\n# Segment net sales\n\nNet sales of wool rose."
    with KnowledgeBase(":memory:", embedder=None) as base:
        for year in (2021, 2022):
            base.add_text(
                text if year == 2021 else text.replace("# Segment net sales", "# Wool"),
                document_id=f"mill_{year}.md",
                title=f"Mill annual report {year}",
                metadata={"file_date": f"{year + 1}-02-14"},
                media_type="text/markdown",
            )
        found = base.search("Mill segment net sales 2022", budget_tokens=300)
        assert found.segments[0].document_id == "mill_2022.md"
        found = base.search("Mill segment net sales 2021", budget_tokens=300)
        assert found.segments[0].document_id == "mill_2021.md"
        assert "Segment net sales" in found.segments[0].text
