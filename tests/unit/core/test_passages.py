"""The passage that is most similar to a quote."""

import time

import pytest

from spanwise.core.answers.citations import nearest_passage

PROSE = (
    "Margins fell in the second half because freight cost more than planned. "
    "The board expects that contracts signed in autumn bring relief. "
    "Inventories rose as customers in the south delayed their orders. "
    "A new plant near the harbour opens next year and doubles capacity."
)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        (
            "The board hopes that contracts signed in autumn bring relief.",
            "The board expects that contracts signed in autumn bring relief",
        ),
        (
            "delayed their orders. A new harbour opens next year.",
            "delayed their orders. A new plant near the harbour opens next year",
        ),
        (
            "customers in the  south delayed\ntheir orders",
            "customers in the south delayed their orders",
        ),
        ("Inventories rose as orders", "Inventories rose as customers"),
    ],
)
def test_the_passage_that_is_most_like_a_quote_is_found(quote: str, found: str) -> None:
    passage = nearest_passage(PROSE, quote, near=0)
    assert passage is not None
    assert PROSE[passage.start : passage.end].strip(" .") == found


def test_white_space_alone_makes_no_difference() -> None:
    passage = nearest_passage(PROSE, PROSE[72:135].replace(" ", "\n"), near=0)
    assert passage is not None
    assert passage.similarity == 1.0


def test_a_script_without_spaces_is_compared_too() -> None:
    text = "当社の売上高は前年度に比べて増加しました。物流費の上昇により利益率は低下しました。"
    passage = nearest_passage(text, "物流費の上昇により利益率は大きく低下しました。", near=0)
    assert passage is not None
    assert text[passage.start : passage.end].startswith("物流費")


@pytest.mark.parametrize("quote", ["", "x", "Zebras graze on wide plains at dawn.", "in the"])
def test_text_without_a_similar_passage_has_no_result(quote: str) -> None:
    assert (
        nearest_passage("Revenue by segment is shown below for each quarter.", quote, near=0)
        is None
    )


def test_of_two_passages_that_are_as_like_the_nearer_counts() -> None:
    text = "Freight rose by a third. " + "z " * 250 + "Freight rose by a third."
    for near, start in ((0, 0), (500, 525)):
        passage = nearest_passage(text, "Freight rose by a quarter.", near=near)
        assert passage is not None
        assert passage.start == start


def test_time_is_linear() -> None:
    """A long quote and a long text of one word, which a diff would compare in quadratic time."""
    began = time.process_time()
    nearest_passage("lease " * 300_000, "lease of " * 20_000, near=0)
    assert time.process_time() - began < 10
