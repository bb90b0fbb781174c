"""Near-duplicate texts and their representatives."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.core.ranking.duplicates import (
    TextFingerprint,
    are_near_duplicates,
    deduplicate_shares,
    find_representatives,
)

CLAUSE = (
    "Each party shall keep confidential all information that it receives from the other party "
    "under this agreement and shall not disclose it to any third party without consent, for "
    "a period of 5 years after the end of this agreement."
)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (CLAUSE, True),
        (CLAUSE.upper().replace(" ", "\n"), True),
        (CLAUSE.replace("the other party", "Acme"), True),
        (CLAUSE.replace("5 years", "3 years"), False),
        (CLAUSE.replace("5 years", "5 and 6 years"), False),
        (" ".join(reversed(CLAUSE.split())), False),
        (CLAUSE[:100], False),
    ],
)
def test_near_duplicates_have_the_same_numbers_and_similar_words(
    other: str, expected: bool
) -> None:
    assert are_near_duplicates(TextFingerprint(CLAUSE), TextFingerprint(other)) is expected


@given(st.text(st.characters(max_codepoint=127)))
def test_an_ascii_text_has_the_words_and_numbers_of_the_regular_expressions(text: str) -> None:
    assert TextFingerprint(text).words == re.findall(r"\w+", text.casefold())
    assert TextFingerprint(text).numbers == sorted(re.findall(r"\d+", text))


def test_headings_and_phrases_are_no_duplicates() -> None:
    assert not are_near_duplicates(
        TextFingerprint("Item 7. Risk factors"), TextFingerprint("Item 7. Risk factors")
    )


def test_the_document_with_the_most_shares_represents_duplicates() -> None:
    shares = np.array([0.1, 0.1, 0.2, 0.5, 0.1])
    documents = np.array([0, 1, 1, 2, 2])
    assert find_representatives([(0, 1)], shares=shares, documents=documents).tolist() == [
        1,
        1,
        2,
        3,
        4,
    ]
    chain = find_representatives([(0, 1), (1, 4)], shares=shares, documents=documents)
    assert chain.tolist() == [4, 4, 2, 3, 4]


def test_the_order_of_pairs_does_not_matter() -> None:
    shares, documents = np.array([0.4, 0.3, 0.2, 0.1]), np.arange(4)
    pairs = [(0, 3), (1, 2), (2, 3)]
    expected = [0, 0, 0, 0]
    assert find_representatives(pairs, shares=shares, documents=documents).tolist() == expected
    assert (
        find_representatives(pairs[::-1], shares=shares, documents=documents).tolist() == expected
    )


def test_neighbours_of_a_duplicate_lose_decreasing_shares() -> None:
    shares = np.array([0.05, 0.2, 0.1, 0.3, 0.01, 0.05, 0.15, 0.1, 0.04])
    copy_of = np.arange(9)
    copy_of[6] = 1
    once = deduplicate_shares(shares, copy_of, starts=np.array([0, 4]))
    assert once.tolist() == pytest.approx([0.05, 0.35, 0.1, 0.3, 0, 0, 0, 0, 0])
    kept = deduplicate_shares(shares, copy_of, starts=np.array([0, 4, 6, 7]))
    assert kept.tolist() == pytest.approx([0.05, 0.35, 0.1, 0.3, 0.01, 0.05, 0, 0.1, 0.04])
    risen = deduplicate_shares(
        np.array([0.2, 0.1, 0.3, 0.05, 0.4]), np.array([0, 1, 2, 0, 4]), starts=np.array([0, 1])
    )
    assert risen.tolist() == pytest.approx([0.25, 0.1, 0.3, 0, 0.4])


def test_the_best_chunk_of_a_query_keeps_its_share() -> None:
    shares, copy_of = np.array([0.5, 0.4, 0.4, 0.3]), np.array([0, 0, 2, 3])
    starts = np.array([0, 1])
    gone = deduplicate_shares(shares, copy_of, starts=starts)
    assert gone.tolist() == pytest.approx([0.9, 0, 0, 0])
    kept = deduplicate_shares(shares, copy_of, starts=starts, protected=[2])
    assert kept.tolist() == pytest.approx([0.9, 0, 0.4, 0.3])


@pytest.mark.parametrize(
    "text",
    [
        "双方应对在履行本协议过程中从对方获得的一切信息严格保密，未经披露方事先书面同意，"
        "不得向任何第三方披露，但法律另有规定的除外。",
        "各当事者は、相手方から受領したすべての情報を秘密として保持し、事前の同意なく第三者に"
        "開示してはならない。",
    ],
)
def test_near_duplicates_are_detected_without_spaces(text: str) -> None:
    assert are_near_duplicates(TextFingerprint(text), TextFingerprint(f"{text}\n"))
    assert not are_near_duplicates(TextFingerprint(text), TextFingerprint(text[::-1]))
