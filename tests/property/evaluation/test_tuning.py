"""Laws of tuning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.core.ranking.features import FEATURES
from spanwise.evaluation.dataset import Evidence, LabelledQuestion
from spanwise.evaluation.tuning.examples import Example, Rows, fold_questions, question_groups
from spanwise.evaluation.tuning.fit import (
    HeldOutShares,
    Known,
    ListwiseLoss,
    fitted_table,
    minimise,
)
from spanwise.options import SegmentOptions
from spanwise.search.shipped_model import shipped_model
from spanwise.search.tuned_options import Measured, Tuning, read_tuning, tuning_text

CHANCES = st.floats(0, 1)


@st.composite
def _examples(draw: st.DrawFn) -> list[Example]:
    """Return questions with up to six candidates of three features."""
    found = []
    for number in range(draw(st.integers(1, 4))):
        count = draw(st.integers(1, 6))
        values = st.lists(st.floats(-4, 4, width=32), min_size=3, max_size=3)
        features = np.array([draw(values) for _ in range(count)], dtype=np.float32)
        evidence = np.array([float(draw(st.integers(0, 3))) for _ in range(count)])
        evidence[0] += 1
        found.append(
            Example(
                question=LabelledQuestion(id=str(number), text="?"),
                features=features,
                lifts=np.array([draw(st.floats(0, 2)) for _ in range(count)]),
                evidence=evidence,
                documents=np.zeros(count, dtype=np.int64),
                compares=False,
                candidates=np.arange(count),
                rows=Rows(
                    starts=np.array([0]),
                    tokens=np.ones(count, dtype=np.int64),
                    evidence=evidence,
                    all_evidence=int(evidence.sum()),
                ),
            )
        )
    return found


@given(_examples(), st.floats(0.01, 100), st.lists(st.floats(-3, 3), min_size=3, max_size=3))
@settings(max_examples=60)
def test_training_lessens_the_loss_and_ends_where_it_is_flat(
    examples: list[Example], precision: float, start: list[float]
) -> None:
    loss = ListwiseLoss(examples, means=np.zeros(3), deviations=np.ones(3))
    known = Known(mean=np.array(start), precision=precision * np.eye(3))
    weights = minimise(loss, known=known)
    assert loss(weights)[0] <= loss(known.mean)[0] + 1e-9
    gradient = loss(weights)[1] + known.precision @ (weights - known.mean)
    assert np.abs(gradient).max() < 1e-3


@given(st.lists(st.tuples(st.lists(CHANCES, min_size=1, max_size=8), st.booleans()), max_size=20))
def test_a_fitted_table_ascends_within_bounds(rows: list[tuple[list[float], bool]]) -> None:
    table = shipped_model().table
    held_out = [
        HeldOutShares(shares=np.array(shares), holds=np.full(len(shares), holds))
        for shares, holds in rows
    ]
    fitted = fitted_table(table, held_out)
    assert np.array_equal(fitted[0], table[0])
    assert fitted[1, 0] == 0
    assert fitted[1, -1] <= 1
    assert (np.diff(fitted[1]) >= 0).all()


@given(
    st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=3), min_size=2, max_size=40),
    st.integers(2, 5),
)
def test_parts_share_no_document_where_it_is_said(documents: list[list[str]], folds: int) -> None:
    asked = [
        LabelledQuestion(
            id=str(number),
            text="?",
            evidence=tuple(Evidence(document_id=one, start=0, end=1) for one in named),
        )
        for number, named in enumerate(documents)
    ]
    dealt = fold_questions(asked, folds=folds)
    assert len(dealt.of) == len(asked)
    assert all(0 <= part < folds for part in dealt.of)
    if dealt.by_document:
        parts: dict[str, int] = {}
        for group, part in zip(question_groups(asked), dealt.of, strict=True):
            assert parts.setdefault(group, part) == part


@given(
    embedder=st.text(max_size=20),
    weights=st.lists(st.floats(-1e4, 1e4), min_size=len(FEATURES), max_size=len(FEATURES)),
    share=CHANCES,
    charge=CHANCES,
    rerankers=st.dictionaries(st.text(min_size=1, max_size=8), st.floats(0, 100), max_size=3),
)
@settings(max_examples=60)
def test_a_file_is_read_as_it_was_written(
    embedder: str,
    weights: list[float],
    share: float,
    charge: float,
    rerankers: dict[str, float],
) -> None:
    tuning = Tuning(
        model=replace(
            shipped_model(),
            weights=np.array(weights),
            keyword_share=share,
            rerankers=rerankers,
        ),
        segments=SegmentOptions(segment_charge=charge),
        embedder=embedder,
        measured=Measured(questions=10, source="made", is_shown=False, figures=()),
    )
    text = tuning_text(tuning)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tuned.toml"
        path.write_text(text, encoding="utf-8", newline="\n")
        read = read_tuning(path)
    assert tuning_text(read) == text
    assert read.embedder == embedder
    assert np.allclose(read.model.weights, weights, atol=1e-6)
