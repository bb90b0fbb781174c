"""What was returned, as places in documents."""

import pytest

from spanwise.errors import OptionError
from spanwise.evaluation.dataset import DocumentText
from spanwise.evaluation.metrics.ranges import Place, page_text, place
from spanwise.evaluation.retrieval import Retrieved
from spanwise.types import Page

TEXT = "aaaa bbbb cccc dddd"
PAGES = (Page(start=0, end=5), Page(start=5, end=5), Page(start=5, end=10), Page(start=11, end=19))
TEXTS = {
    "paged": DocumentText(text=TEXT, pages=PAGES),
    "plain": DocumentText(text=TEXT),
    "empty": DocumentText(text=""),
}


def at(document_id: str, start: int, end: int) -> Place | None:
    return place(Retrieved(document_id=document_id, start=start, end=end), TEXTS)


def test_characters_give_their_text_and_the_pages_they_touch() -> None:
    found = at("paged", 4, 12)
    assert found == Place(
        document_id="paged", characters=(4, 12), pages=range(1, 5), text=TEXT[4:12]
    )


@pytest.mark.parametrize(
    ("start", "end", "pages"),
    [(0, 5, [1]), (5, 10, [3]), (4, 6, [1, 2, 3]), (10, 11, []), (18, 19, [4])],
)
def test_a_page_is_touched_by_a_character_of_it(start: int, end: int, pages: list[int]) -> None:
    found = at("paged", start, end)
    assert found is not None
    assert pages == list(found.pages)


def test_no_characters_are_no_place() -> None:
    assert at("plain", 3, 3) is None


def test_the_text_that_stands_there_comes_before_one_that_is_given() -> None:
    found = place(Retrieved(document_id="plain", start=0, end=4, text="header: aaaa"), TEXTS)
    assert found is not None
    assert found.text == "aaaa"


def test_pages_give_their_text_without_what_stands_between() -> None:
    found = place(Retrieved(document_id="paged", pages=(3, 4)), TEXTS)
    assert found == Place(
        document_id="paged", characters=(5, 19), pages=range(3, 5), text=TEXT[5:10] + TEXT[11:]
    )
    assert page_text(TEXTS["paged"], 1, 2) == TEXT[:5]


def test_pages_with_a_text_of_their_own_keep_it() -> None:
    found = place(Retrieved(document_id="plain", pages=(7, 8), text="read by another"), TEXTS)
    assert found == Place(
        document_id="plain", characters=None, pages=range(7, 9), text="read by another"
    )


def test_a_text_without_a_place_has_no_characters() -> None:
    found = place(Retrieved(document_id="plain", text="somewhere"), TEXTS)
    assert found == Place(document_id="plain", characters=None, pages=range(0), text="somewhere")


def test_a_document_alone_is_all_of_its_text() -> None:
    found = place(Retrieved(document_id="plain"), TEXTS)
    assert found == Place(
        document_id="plain", characters=(0, len(TEXT)), pages=range(1, 1), text=TEXT
    )
    assert place(Retrieved(document_id="empty"), TEXTS) is None


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (Retrieved(document_id="other", start=0, end=1), "no document 'other'"),
        (Retrieved(document_id="plain", start=0, end=20), "characters 0 to 20"),
        (Retrieved(document_id="plain", start=-1, end=2), "characters -1 to 2"),
        (Retrieved(document_id="plain", start=3, end=2), "characters 3 to 2"),
        (Retrieved(document_id="plain", start=3), "characters 3 to None"),
        (Retrieved(document_id="paged", pages=(0, 1)), "pages 0 to 1"),
        (Retrieved(document_id="paged", pages=(4, 5)), "which has 4"),
        (Retrieved(document_id="paged", pages=(4, 5), text="x"), "which has 4"),
        (Retrieved(document_id="paged", pages=(3, 2)), "pages 3 to 2"),
        (Retrieved(document_id="plain", pages=(1, 1)), "which has 0"),
    ],
)
def test_a_place_that_does_not_exist_is_an_error(found: Retrieved, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        place(found, TEXTS)
