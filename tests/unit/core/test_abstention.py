"""Abstention signals and models, compared with explicit sums."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.scans import passages_of, scan_of

from spanwise.core.ranking.abstention import (
    SIGNALS,
    AbstentionModel,
    LogisticModel,
    ScoreSignals,
    abstention_signals,
    is_assessable,
)
from spanwise.core.ranking.features import build_rows
from spanwise.core.ranking.question import read_question
from spanwise.core.ranking.scan import PassageRange
from spanwise.errors import OptionError

WORDS, COVERAGE, SCORE, MEANING, SIMILAR, FOUND = range(6)
DEFAULT_SCORES = ScoreSignals(8.5)


def signals(
    question: str = "freight margin",
    impacts: tuple[list[float], ...] = ([0.0, 2.0, 0.0], [0.0, 0.0, 1.1]),
    *,
    holders: tuple[int, ...] = (1, 1),
    titles: tuple[bool, ...] = (False, False),
    spans: tuple[tuple[int, int], ...] = ((0, 3),),
    candidates: tuple[int, ...] | None = None,
    scores: ScoreSignals = DEFAULT_SCORES,
) -> NDArray[np.float64]:
    """Return the signals of a question to one document; a row of impacts a word."""
    scan = replace(
        scan_of([90]),
        term_chunks=np.array(holders),
        title_documents=np.array(titles, dtype=np.int64),
        document_terms=np.array([holders]),
        document_titles=np.array([titles]),
    )
    passages = replace(
        passages_of([0.0] * len(impacts[0])),
        impacts=np.array(impacts, dtype=np.float32),
        similarities=np.array([[0.2, 0.5, 0.1]], dtype=np.float32),
    )
    return abstention_signals(
        read_question(question),
        scan=scan,
        rows=build_rows([(0, PassageRange(10, start, end)) for start, end in spans]),
        passages=passages,
        candidates=np.array(candidates or range(len(impacts[0]))),
        scores=scores,
    )


def test_the_words_signal_is_that_of_the_best_chunk() -> None:
    assert signals()[WORDS] == pytest.approx(2.0 / (2 * 2.2))


def test_a_word_is_covered_by_a_neighbour_and_by_the_title() -> None:
    assert signals()[COVERAGE] == 1.0
    assert signals(impacts=([2.0, 0.0, 0.0], [0.0, 0.0, 0.0]))[COVERAGE] == pytest.approx(0.5)
    titled = signals(impacts=([2.0, 0.0, 0.0], [0.0, 0.0, 0.0]), titles=(False, True))
    assert titled[COVERAGE] == 1.0
    assert titled[WORDS] == pytest.approx((2.0 + 1.0) / (2 * 2.2))


def test_a_chunk_of_another_range_is_no_neighbour() -> None:
    apart = signals(impacts=([0.0, 2.0, 0.0], [0.0, 0.0, 1.1]), spans=((0, 2), (5, 6)))
    assert apart[COVERAGE] == pytest.approx(0.5)


def test_a_word_in_no_chunk_has_the_full_weight() -> None:
    unknown = signals(impacts=([0.0, 2.0, 0.0], [0.0, 0.0, 0.0]), holders=(1, 0))
    known, missing = np.log(1 + 289.5 / 1.5), np.log1p(290)
    assert unknown[WORDS] == pytest.approx(2.0 * known / (2.2 * (known + missing)))
    roots = np.sqrt([known, missing])
    assert unknown[COVERAGE] == pytest.approx(roots[0] / roots.sum())


def test_request_words_weigh_less() -> None:
    asked = signals("summarize margin", impacts=([0.0, 0.0, 0.0], [0.0, 2.0, 0.0]))
    assert asked[WORDS] == pytest.approx(2.0 / (1.4 * 2.2))


def test_score_and_nearest_meaning_are_of_candidates() -> None:
    assert signals()[[SCORE, MEANING]].tolist() == pytest.approx([8.5, 0.5])
    of_one = signals(candidates=(2,))
    assert of_one[MEANING] == pytest.approx(0.1)
    assert of_one[WORDS] == pytest.approx(1.1 / (2 * 2.2))
    assert of_one[COVERAGE] == 1.0


def test_low_scores_have_a_lower_limit() -> None:
    low, lower = signals(scores=ScoreSignals(6.9)), signals(scores=ScoreSignals(1.0))
    assert lower[SCORE] == low[SCORE] < signals()[SCORE]


def test_similar_words_are_signals() -> None:
    given = signals(scores=ScoreSignals(8.5, similar=0.6, found=0.3))
    assert given[[SIMILAR, FOUND]].tolist() == [0.6, 0.3]


@pytest.mark.parametrize(
    ("question", "judged"),
    [
        ("Why did the margin fall?", True),
        ("Summarize this document.", False),
        ("What is it about?", False),
        ("Why?", False),
        ("Summarize the margin.", True),
        (" ".join(f"word{at}" for at in range(63)), True),
        (" ".join(f"word{at}" for at in range(64)), False),
    ],
)
def test_only_a_question_with_a_subject_is_assessed(question: str, judged: bool) -> None:
    assert is_assessable(read_question(question)) is judged


def test_a_request_in_another_language_is_a_request() -> None:
    question = read_question("Fasse das Dokument zusammen", languages=["de"])
    assert not is_assessable(question)


MODEL = LogisticModel(
    weights=np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.0]), bias=-1.0, weak=0.5, missing=0.3
)


@pytest.mark.parametrize(
    ("words", "evidence", "is_weak", "is_missing"),
    [(0.0, 0.2689, True, True), (0.25, 0.3775, True, False), (0.5, 0.5, False, False)],
)
def test_two_thresholds_separate_weak_and_missing_evidence(
    words: float, evidence: float, is_weak: bool, is_missing: bool
) -> None:
    judged = MODEL.assess(np.array([words, 9.0, 9.0, 9.0, 9.0, 9.0]))
    assert judged.evidence == pytest.approx(evidence, abs=1e-4)
    assert (judged.is_weak, judged.is_missing) == (is_weak, is_missing)


@pytest.mark.parametrize("far", [-1e6, 1e6])
def test_extreme_signals_do_not_overflow(far: float) -> None:
    judged = MODEL.assess(np.array([far, 0.0, 0.0, 0.0, 0.0, 0.0]))
    assert judged.evidence == pytest.approx(float(far > 0))


@pytest.mark.parametrize("words", [-1.0, 0.0, 0.5, 3.0])
def test_a_certain_reranker_decides(words: float) -> None:
    signals_of_words = np.array([words, 0.0, 0.0, 0.0, 0.0, 0.0])
    sure = MODEL.assess(signals_of_words, reranker_chance=1.0)
    assert (sure.is_weak, sure.is_missing) == (False, False)
    assert sure.evidence > 0.99
    none = MODEL.assess(signals_of_words, reranker_chance=0.0)
    assert none.is_missing
    assert none.evidence < 0.01


def test_an_undecided_reranker_changes_nothing() -> None:
    given = np.array([0.25, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert MODEL.assess(given, reranker_chance=0.5) == MODEL.assess(given)


def as_json(**changes: object) -> str:
    logistic = {"weights": [1, 1, 1, 1, 1, 1], "bias": 0, "weak": 0.2, "missing": 0.1}
    data: dict[str, object] = {
        "signals": list(SIGNALS),
        "embedders": {
            "vendor:model": logistic,
            "vendor:second": {**logistic, "bias": 1},
            "none": {**logistic, "weights": [1, 1, 1, 0, 1, 1]},
        },
    }
    return json.dumps({**data, **changes})


def test_each_embedder_has_a_model_and_cosines_of_others_are_ignored() -> None:
    model = AbstentionModel.from_json(as_json())
    assert model.for_embedder("vendor:model").bias == 0
    assert model.for_embedder("vendor:second").bias == 1
    assert model.for_embedder("vendor:model").weights[MEANING] == 1
    assert model.keywords_alone.weights[MEANING] == 0
    assert model.for_embedder("vendor:other") is model.keywords_alone
    assert model.for_embedder(None) is model.keywords_alone


def test_a_model_for_other_signals_is_rejected() -> None:
    with pytest.raises(OptionError, match="for the signals"):
        AbstentionModel.from_json(as_json(signals=["x"]))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", as_json(embedders={}), as_json(embedders={"none": {"weights": [1]}})],
)
def test_an_invalid_model_is_rejected(text: str) -> None:
    with pytest.raises(OptionError, match="cannot be read"):
        AbstentionModel.from_json(text)
