"""Where a range of characters stands in pages."""

import pytest

from spanwise.query.present import page_numbers
from spanwise.types import Page

PAGES = (
    Page(start=0, end=10),
    Page(start=10, end=10),
    Page(start=10, end=25),
    Page(start=25, end=30),
)


@pytest.mark.parametrize(
    ("start", "end", "pages"),
    [(0, 10, (1, 1)), (0, 11, (1, 3)), (9, 26, (1, 4)), (10, 25, (3, 3)), (29, 30, (4, 4))],
)
def test_pages_are_those_that_hold_characters(start: int, end: int, pages: tuple[int, int]) -> None:
    assert page_numbers(PAGES, start, end) == pages


def test_a_document_without_pages_has_none() -> None:
    assert page_numbers((), 0, 5) is None
