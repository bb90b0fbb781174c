"""Hashed word counts."""

import numpy as np

from spanwise.core.documents.topics import BUCKETS, hashed_word_counts


def counts_of(*runs: str) -> list[list[float]]:
    bounds = [0]
    for run in runs:
        bounds.append(bounds[-1] + len(run))
    return [
        [float(value) for value in row if value]
        for row in hashed_word_counts("".join(runs), bounds)
    ]


def same(first: str, second: str) -> bool:
    """Return whether two texts of one word each count as the same word."""
    counts = hashed_word_counts(
        first + " " + second + " other", [0, len(first), len(first + second) + 1]
    )
    return bool((np.flatnonzero(counts[0]) == np.flatnonzero(counts[1])).all())


def test_short_words_are_ignored() -> None:
    """Words of fewer than four bytes are not counted."""
    assert counts_of("the cat sat. ", "grain ") == [[], [float(np.float32(np.log(2)))]]


def test_forms_of_a_word_count_as_one() -> None:
    """Case and endings after the sixth letter make no difference."""
    assert same("Develop", "developing")
    assert same("GRAINS", "grains")
    assert not same("grain", "barge")


def test_quotes_and_dashes_are_no_letters() -> None:
    """Typographic signs and hard spaces bound words."""
    assert same("“harbour”", "harbour")
    assert same("\xa0harbour—", "harbour")


def test_ideographs_are_words() -> None:
    """Each character of a text without spaces is counted."""
    assert [len(row) for row in counts_of("他说我们走吧。", "x")] == [6, 0]


def test_every_run_has_a_row() -> None:
    """Runs without words, even empty ones, have rows of zeros."""
    counts = hashed_word_counts("grain!!!", [0, 5, 5, 8])
    assert counts.shape == (3, BUCKETS)
    assert counts.any(axis=1).tolist() == [True, False, False]
