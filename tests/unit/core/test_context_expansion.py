"""Context expansion of an excerpt, measured in characters."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from spanwise.core.extraction.context_expansion import (
    Part,
    Window,
    fill_excerpt,
    merge_parts,
    subtract_parts,
)
from spanwise.core.extraction.render import ExcerptPart, render_parts

TEXT = (
    "Alpha one is here. Alpha two is here. Beta one is long and here. Beta two is here. "
    "Gamma one is here. Gamma two is here. Delta one is here."
)


def place(words: str, text: str = TEXT) -> Part:
    start = text.index(words)
    return (start, start + len(words))


def filled(
    evidence: Sequence[Part],
    budget: int,
    *,
    text: str = TEXT,
    windows: Sequence[Part] = (),
    sections: tuple[int, ...] = (),
) -> list[str]:
    """Return the texts of the parts of an excerpt of so many characters."""

    def measure(parts: Sequence[Part]) -> int:
        return len(render_parts([ExcerptPart(start=a, text=text[a:b]) for a, b in parts]))

    parts = fill_excerpt(
        evidence,
        [
            Window(start=a, text=text[a:b], section_starts=sections)
            for a, b in windows or [(0, len(text))]
        ],
        budget_tokens=budget,
        measure=measure,
        count_tokens=lambda texts: [len(one) for one in texts],
    )
    return [text[a:b] for a, b in parts]


def test_evidence_over_the_budget_stays_as_it_is() -> None:
    assert filled([place("Beta one is long and here. ")], 10) == ["Beta one is long and here. "]


def test_a_gap_is_closed_before_text_around_is_taken() -> None:
    evidence = [place("Alpha two is here. "), place("Beta two is here. ")]
    assert filled(evidence, 64) == [
        "Alpha two is here. Beta one is long and here. Beta two is here. "
    ]


def test_closing_a_gap_saves_its_gap_line() -> None:
    """The gap line puts the evidence over the budget; the text of the gap does not."""
    evidence = [place("Alpha two is here. "), place("Beta two is here. ")]
    assert len(filled(evidence, 63)) == 1


def test_shorter_gaps_are_closed_first() -> None:
    evidence = [place("Alpha one"), place("Beta two is"), place("Gamma one is here. ")]
    first, second = filled(evidence, 95)
    assert first.startswith("Alpha one")
    assert second.startswith("Beta two is here. Gamma one")


def test_text_is_taken_in_whole_sentences_on_both_sides() -> None:
    (part,) = filled([place("Beta two is here. ")], 66)
    assert part == "Beta one is long and here. Beta two is here. Gamma one is here. "


def test_text_of_the_section_is_taken_before_text_beyond_it() -> None:
    (part,) = filled([place("Beta one is long and here. ")], 84, sections=(TEXT.index("Beta one"),))
    assert part.startswith("Beta one")


def test_a_piece_is_cut_between_words_where_much_would_stay_unused() -> None:
    (part,) = filled([place("Alpha one is here. ")], 32)
    assert part == "Alpha one is here. Alpha two is "


def test_a_piece_is_cut_at_a_clause_before_a_word() -> None:
    clause = "He came. Then he saw the wide and quiet sea that nobody had told him of before, "
    text = clause + "a new and blue one, as it is in the spring of the year."
    (part,) = filled([(0, 9)], len(clause) + 3, text=text)
    assert part == clause


def test_a_section_ends_where_no_sentence_does() -> None:
    text = "Old text. Beta one. beta tail\nGamma is a long line without any end"
    starts = (text.index("Beta"), text.index("Gamma"))
    (part,) = filled([place("Beta one. ", text)], 20, text=text, sections=starts)
    assert part == "Beta one. beta tail\n"


def test_a_row_of_a_table_is_never_cut() -> None:
    rows = ["| 2018 | 1,000 | 2,000 | 3,000 |", "| 2019 | 4,000 | 5,000 | 6,000 |"]
    text = "\n".join(["Sales by year.", *rows, "The end."])
    evidence = [place("Sales by year.\n", text)]
    assert filled(evidence, 30, text=text) == ["Sales by year.\n"]
    assert filled(evidence, 52, text=text) == [text[: text.index("| 2019")]]


@pytest.mark.parametrize("text", ["市場は上昇した" * 40, "ไก่จิกเด็กตาย" * 30])
def test_scripts_without_spaces_are_cut_between_characters(text: str) -> None:
    (part,) = filled([(0, 7)], 100, text=text)
    assert 95 <= len(part) <= 100


def test_a_line_without_any_end_is_cut_between_words() -> None:
    text = "word " * 100_000
    (part,) = filled([(250_000, 250_020)], 1_000, text=text, windows=[(245_000, 255_000)])
    assert 950 <= len(part.strip()) <= 1_000
    assert not part.strip().replace("word", "").replace(" ", "")


def test_data_without_spaces_is_cut_anywhere() -> None:
    text = "A word. " + "x" * 5_000
    (part,) = filled([(0, 8)], 500, text=text)
    assert 475 <= len(part) <= 500


def test_only_text_of_the_windows_is_shown() -> None:
    window = place("Alpha two is here. Beta one is long and here. ")
    assert filled([place("Beta one")], 500, windows=[window]) == [TEXT[slice(*window)]]


def test_a_gap_that_was_not_read_stays() -> None:
    windows = [place("Alpha one is here. "), place("Delta one is here.")]
    assert filled([place("Alpha one"), place("Delta one")], 500, windows=windows) == [
        "Alpha one is here. ",
        "Delta one is here.",
    ]


def test_parts_that_touch_are_one() -> None:
    assert merge_parts([(5, 9), (0, 2), (2, 5), (20, 30)]) == [(0, 9), (20, 30)]


def test_taken_ranges_are_subtracted() -> None:
    assert subtract_parts([(0, 10), (20, 30)], [(3, 5), (8, 22), (40, 50)]) == [
        (0, 3),
        (5, 8),
        (22, 30),
    ]
