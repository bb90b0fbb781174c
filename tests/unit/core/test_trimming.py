"""Trimming of a chunk to sentences."""

from __future__ import annotations

from itertools import pairwise

import pytest

from spanwise.search.trim import select_sentences, sentence_places


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Margin fell. Freight cost more.", ["Margin fell. ", "Freight cost more."]),
        (
            "It fell 3.5 points, see No. 7.\nThen it rose.",
            ["It fell 3.5 points, see No. 7.\n", "Then it rose."],
        ),
        ("毛利率下降。运费上涨。", ["毛利率下降。", "运费上涨。"]),
        ('He said "No." Then he left.\n\n', ['He said "No." ', "Then he left.\n\n"]),
    ],
)
def test_a_text_is_cut_where_sentences_stop(text: str, sentences: list[str]) -> None:
    places = sentence_places(text)
    assert [text[a:b] for a, b in pairwise(places)] == sentences


@pytest.mark.parametrize(
    "text",
    [
        "| year | margin |\n| 2022 | 3.5. |\n| 2023 | 2.9. |\n",
        "def margin(sales):\n    return cost(sales)\n\n\nmargin(3)\n",
        "- freight\n- wheat\n- repairs\n",
        "# Margin\n\nIt fell in spring",
        "one line that a writer\nwrapped here",
        "x",
    ],
)
def test_rows_code_items_and_headings_are_not_cut(text: str) -> None:
    assert sentence_places(text) == [0, len(text)]


def test_a_heading_stays_with_its_text() -> None:
    text = "Rain fell.\n\nMargin\n\nIt fell."
    assert sentence_places(text) == [0, text.index("Margin"), len(text)]


def test_the_sentence_that_contains_the_words_is_kept() -> None:
    assert select_sentences([100, 100, 100], [0.0, 0.9, 0.0], share=0.3, cost=0.1) == (1, 2)


def test_a_weak_sentence_between_two_strong_ones_is_kept() -> None:
    assert select_sentences([100, 20, 100], [0.6, 0.0, 0.6], share=0.5, cost=0.2) == (0, 3)


def test_of_sentences_alike_all_are_kept() -> None:
    assert select_sentences([40, 90, 60], [0.2, 0.2, 0.2], share=0.3, cost=0.1) == (0, 3)


def test_without_a_cost_all_are_kept() -> None:
    assert select_sentences([40, 90, 60], [0.0, 1.0, 0.0], share=0.3, cost=0.0) == (0, 3)


def test_if_nothing_is_worth_its_tokens_the_least_loss_is_kept() -> None:
    assert select_sentences([50, 10, 50], [0.0, 0.0, 0.0], share=0.1, cost=0.9) == (1, 2)
