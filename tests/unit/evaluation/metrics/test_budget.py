"""Cutting to a budget."""

import pytest

from spanwise.evaluation.dataset import DocumentText
from spanwise.evaluation.metrics import counter, cut
from spanwise.evaluation.retrieval import Retrieved
from spanwise.models.providers.tokenizer import make_tokenizer
from spanwise.types import Page

TEXTS = {
    "a": DocumentText(
        text="0123456789" * 4, pages=tuple(Page(start=at, end=at + 10) for at in (0, 10, 20, 30))
    ),
    "words": DocumentText(text="The margin of the segment rose by three points. " * 50),
}


def span(start: int, end: int, document_id: str = "a") -> Retrieved:
    return Retrieved(document_id=document_id, start=start, end=end)


def cut_characters(found: list[Retrieved], budget: float) -> tuple[Retrieved, ...]:
    return cut(found, budget_tokens=budget, count=len, texts=TEXTS)


def test_what_fits_stays_as_it_is() -> None:
    found = [span(0, 5), span(20, 30)]
    assert tuple(found) == cut_characters(found, 15)
    assert tuple(found) == cut_characters(found, 1_000)


def test_the_last_text_is_cut_and_the_rest_left_out() -> None:
    found = [span(0, 5), span(20, 30), span(35, 36)]
    assert (span(0, 5), span(20, 24)) == cut_characters(found, 9)


def test_empty_texts_are_left_out_and_end_nothing() -> None:
    assert (span(7, 9),) == cut_characters([span(3, 3), span(7, 9)], 5)


def test_no_budget_shows_nothing() -> None:
    assert cut_characters([span(0, 5)], 0) == ()


def test_fractions_of_tokens_are_summed_not_rounded() -> None:
    """Ten texts of one character are 2.5 tokens of four characters, not ten."""
    found = [span(at, at + 1) for at in range(12)]
    count = counter(make_tokenizer("chars:4"))
    assert tuple(found[:10]) == cut(found, budget_tokens=2.5, count=count, texts=TEXTS)


@pytest.mark.parametrize("tokenizer", ["o200k_base", "cl100k_base"])
def test_a_vocabulary_cuts_to_the_longest_beginning_that_fits(tokenizer: str) -> None:
    count = counter(make_tokenizer(tokenizer))
    (kept,) = cut([span(0, 2_000, "words")], budget_tokens=100, count=count, texts=TEXTS)
    text = TEXTS["words"].text
    assert kept.end is not None
    assert count(text[: kept.end]) == 100
    assert count(text[: kept.end + 1]) > 100


def test_a_count_that_falls_is_never_over_the_budget() -> None:
    """As where three more letters complete a word that is one token."""

    def count(text: str) -> int:
        return len(text) - 3 * (len(text) // 4)

    for budget in range(1, 12):
        (kept,) = cut([span(0, 40)], budget_tokens=budget, count=count, texts=TEXTS)
        assert kept.end is not None
        assert 0 < count("x" * kept.end) <= budget


def test_whole_pages_alone_are_shown_and_the_next_text_fills_up() -> None:
    found = [Retrieved(document_id="a", pages=(1, 3)), span(30, 40)]
    assert (Retrieved(document_id="a", pages=(1, 2)), span(30, 35)) == cut_characters(found, 25)


def test_a_first_page_that_does_not_fit_ends_it() -> None:
    found = [span(0, 5), Retrieved(document_id="a", pages=(1, 3)), span(0, 2)]
    assert (span(0, 5),) == cut_characters(found, 12)


@pytest.mark.parametrize(("budget", "last"), [(3, 1), (4, 2), (6, 2), (7, 3), (8, 3), (12, 4)])
def test_pages_with_a_text_keep_as_many_as_their_share(budget: int, last: int) -> None:
    found = Retrieved(document_id="a", pages=(1, 4), text="twelve chars")
    kept = Retrieved(document_id="a", pages=(1, last), text="twelve chars"[:budget])
    assert (kept,) == cut_characters([found], budget)


def test_a_text_without_a_place_is_cut() -> None:
    found = Retrieved(document_id="a", text="twelve chars")
    assert (Retrieved(document_id="a", text="twel"),) == cut_characters([found], 4)


def test_a_document_alone_is_cut_to_its_beginning() -> None:
    assert (span(0, 7),) == cut_characters([Retrieved(document_id="a")], 7)


def test_a_given_text_is_cut_with_its_place() -> None:
    found = Retrieved(document_id="a", start=10, end=20, text="0123456789")
    kept = Retrieved(document_id="a", start=10, end=13, text="012")
    assert (kept,) == cut_characters([found], 3)
