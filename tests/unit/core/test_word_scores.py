"""Scores by words and similar words, compared with sums over single chunks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scans import passages_of, scan_of

from spanwise.core.ranking.features import Rows, build_rows, question_share
from spanwise.core.ranking.scan import PassageRange, Passages, Scan
from spanwise.core.ranking.similar_words import SimilarWord
from spanwise.core.ranking.word_scores import (
    SimilarTerms,
    TermMatches,
    add_similar_scores,
    exact_matches,
    exact_scores,
    similar_matches,
    similar_terms,
)

ROWS = build_rows([(0, PassageRange(10, 0, 6))])
_IMPACTS = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=6, max_size=6)


def scan_of_words(held: int) -> Scan:
    """Return the scan of one word that some of the six chunks of one document contain."""
    return scan_of([6], terms=[held])


def matches_of(impacts: list[float], similar: list[tuple[float, list[float]]]) -> TermMatches:
    """Return the matches of one word and its similar words, each with similarity and impacts."""
    passages = passages_of(impacts)
    scan = scan_of_words(int(np.count_nonzero(impacts)))
    terms = similar_of([similarity for similarity, _ in similar], chunks=3)
    rows = np.array([held for _, held in similar], dtype=np.float32).reshape(len(similar), 6)
    return similar_matches(exact_matches(scan, passages, ROWS), terms, rows, scan=scan, rows=ROWS)


def similar_of(similarities: list[float], *, chunks: int) -> SimilarTerms:
    """Return the similar words of one word, each in so many of six chunks."""
    words = [SimilarWord(f"word{n}", f"term{n}", one) for n, one in enumerate(similarities)]
    return similar_terms([words], np.full(len(words), chunks), chunks=6)


def exact(impacts: list[float], *, rows: Rows = ROWS) -> tuple[Scan, Passages, TermMatches]:
    passages = passages_of(impacts)
    scan = scan_of_words(int(np.count_nonzero(impacts)))
    assert len(rows.chunks) == 6
    return scan, passages, exact_matches(scan, passages, ROWS)


@given(_IMPACTS, st.lists(st.tuples(st.floats(0.25, 1.0), _IMPACTS), max_size=3))
def test_a_chunk_has_the_best_match_among_the_word_and_its_similar_words(
    impacts: list[float], similar: list[tuple[float, list[float]]]
) -> None:
    matches = matches_of(impacts, similar)
    own = exact(impacts)[2]
    forms = similar_of([similarity for similarity, _ in similar], chunks=3).weights
    for chunk in range(6):
        best = own.impacts[0, chunk]
        for (similarity, held), weight in zip(similar, forms, strict=True):
            limit = min(own.weights[0], weight) if own.weights[0] else weight
            best = max(best, similarity * limit * np.float32(held[chunk]))
        assert matches.impacts[0, chunk] == pytest.approx(best)


@given(_IMPACTS, st.lists(st.tuples(st.floats(0.25, 1.0), _IMPACTS), max_size=3))
def test_similar_words_never_lower_a_match_and_never_count_more_than_the_word(
    impacts: list[float], similar: list[tuple[float, list[float]]]
) -> None:
    matches, own = matches_of(impacts, similar), exact(impacts)[2]
    assert (matches.presence >= own.presence).all()
    assert (matches.presence <= 1).all()
    assert (matches.impacts >= own.impacts).all()


def test_words_that_stand_together_are_found() -> None:
    scan, passages, matches = exact([2.0] * 6)
    scores = exact_scores(matches, scan=scan, rows=ROWS)
    assert scores.found == 1
    assert scores.coverage.tolist() == [1.0] * 6
    assert np.array_equal(scores.similar_coverage, scores.coverage)
    assert passages.impacts.shape == (1, 6)


def test_a_word_of_no_document_is_not_found_and_its_similar_word_counts() -> None:
    scan, _, matches = exact([0.0] * 6)
    alone = exact_scores(matches, scan=scan, rows=ROWS)
    assert alone.found == 0
    assert not alone.similar_coverage.any()
    similar = matches_of([0.0] * 6, [(0.6, [0.0, 0.0, 0.0, 0.0, 2.0, 0.0])])
    scores = add_similar_scores(alone, similar, scan=scan, rows=ROWS)
    assert int(np.argmax(scores.residual)) == 4
    assert scores.similar_coverage.tolist() == pytest.approx([0, 0, 0, 0.6, 0.6, 0.6])
    assert not scores.coverage.any()


def test_similar_words_count_by_how_little_the_words_are_found() -> None:
    scan, _, matches = exact([2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    own = exact_scores(matches, scan=scan, rows=ROWS)
    similar = matches_of([2.0, 0.0, 0.0, 0.0, 0.0, 0.0], [(0.9, [0.0, 0, 0, 0, 2, 0])])
    at = [
        add_similar_scores(own._replace(found=found), similar, scan=scan, rows=ROWS).residual[4]
        for found in (0.0, 0.5, 1.0)
    ]
    assert at[0] > at[1] > at[2] == own.residual[4]


def test_a_title_word_counts_little_in_the_text_by_similar_words_too() -> None:
    impacts = [0.0] * 6
    similar = matches_of(impacts, [(0.6, [0.0, 0.0, 0.0, 0.0, 2.0, 0.0])])
    scan = scan_of([6], titles=[True], terms=[0])
    own = exact_scores(exact_matches(scan, passages_of(impacts), ROWS), scan=scan, rows=ROWS)
    scores = add_similar_scores(own, similar, scan=scan, rows=ROWS)
    plain = add_similar_scores(own, similar, scan=scan_of_words(0), rows=ROWS)
    assert scores.residual[4] < plain.residual[4]


def test_the_share_of_words_follows_how_well_they_are_found() -> None:
    assert question_share(0.5, found=1.0) == pytest.approx(0.5)
    assert question_share(0.5, found=0.0) == pytest.approx(0.2)
