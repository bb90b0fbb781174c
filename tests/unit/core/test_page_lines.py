"""Lines of texts whose page footers run into the next page."""

import pytest

from spanwise.core.documents.page_lines import restore_lines

PAGE = "The tide mill turns twice a day, and the keeper writes down every turn.\n" * 8


def paged(footer: str, *, pages: int = 10) -> str:
    """Return pages that each begin with the footer of the page before."""
    parts = [f"{footer.format(page)}HEADING {page}\n{PAGE}" for page in range(1, pages + 1)]
    return "".join(parts)


@pytest.mark.parametrize("footer", ["TIDE MILLS LTD.     {}", "2031 ANNUAL REPORT   {}    "])
def test_the_text_after_a_page_footer_begins_a_line(footer: str) -> None:
    """A footer is replaced by as many blanks and a line break."""
    text = paged(footer)
    restored = restore_lines(text)
    assert len(restored) == len(text)
    lines = [line.strip() for line in restored.split("\n")]
    assert [line for line in lines if line.startswith("HEADING")] == [
        f"HEADING {page}" for page in range(1, 11)
    ]
    assert "TIDE" not in restored
    assert "REPORT" not in restored


def test_digits_of_the_text_may_follow_a_page_number() -> None:
    """The page number is the next one, even if the text of the page begins with a digit."""
    text = paged("TIDE MILLS LTD.     {}").replace("9HEADING 9", "9101 boats")
    assert "\n101 boats" in restore_lines(text)


@pytest.mark.parametrize(
    "text",
    [
        paged("TIDE MILLS LTD.     {}", pages=7),  # too few
        paged("TIDE MILLS LTD. {}"),  # one blank
        paged("Note     {}"),  # headings
        "".join(f"TIDE MILLS     {80 - 9 * page} {PAGE}" for page in range(9)),  # not ascending
        "".join(f"Keeper     {turn} turns\n" for turn in range(1, 20)),  # a table
    ],
)
def test_other_lines_are_unchanged(text: str) -> None:
    """Numbered headings, rows of tables and rare lines are no page footers."""
    assert restore_lines(text) == text


def test_no_break_spaces_become_blanks() -> None:
    """A heading may be written with no-break spaces."""
    assert restore_lines("NOTE\xa03 — LEASES") == "NOTE 3 — LEASES"
