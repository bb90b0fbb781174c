"""Weights from examples: where they go, and from where they start."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from spanwise.evaluation.dataset import LabelledQuestion
from spanwise.evaluation.tuning.examples import Example, Rows
from spanwise.evaluation.tuning.fit import Known, ListwiseLoss, minimise


def example(features: object, evidence: object) -> Example:
    """Return the example of a question with given candidates, each a chunk of its own."""
    held = np.array(evidence, dtype=np.float64)
    count = len(held)
    return Example(
        question=LabelledQuestion(id="q", text="q"),
        features=np.array(features, dtype=np.float32),
        lifts=np.zeros(count),
        evidence=held,
        documents=np.zeros(count, dtype=np.int64),
        compares=False,
        candidates=np.arange(count),
        rows=Rows(
            starts=np.array([0]),
            tokens=np.full(count, 10),
            evidence=held,
            all_evidence=int(held.sum()),
        ),
    )


def random_examples(seed: int, *, questions: int = 30) -> list[Example]:
    """Return questions of which the first feature tells the evidence, and the second does not."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(questions):
        features = random.normal(size=(20, 2))
        evidence = np.zeros(20)
        evidence[int(np.argmax(features[:, 0] + 0.5 * random.normal(size=20)))] = 50
        found.append(example(features, evidence))
    return found


def loss_of(examples: list[Example]) -> ListwiseLoss:
    return ListwiseLoss(examples, means=np.zeros(2), deviations=np.ones(2))


def test_gradient_and_hessian_are_those_of_the_loss() -> None:
    loss = loss_of(random_examples(1))
    at, step = np.array([0.7, -0.3]), 1e-5
    value, gradient, hessian = loss(at)
    assert value > 0
    for column, unit in enumerate(np.eye(2)):
        above, below = loss(at + step * unit), loss(at - step * unit)
        assert gradient[column] == pytest.approx((above[0] - below[0]) / (2 * step), rel=1e-5)
        assert hessian[column] == pytest.approx((above[1] - below[1]) / (2 * step), rel=1e-4)


def test_newton_finds_what_another_method_finds() -> None:
    loss = loss_of(random_examples(2))
    known = Known(mean=np.array([0.5, 0.5]), precision=2.0 * np.eye(2))

    def whole(weights: np.ndarray) -> float:
        away = weights - known.mean
        return loss(weights)[0] + float(away @ known.precision @ away) / 2

    expected = minimize(whole, known.mean, method="Nelder-Mead", options={"xatol": 1e-8})
    assert minimise(loss, known=known) == pytest.approx(expected.x, abs=1e-5)


def test_the_feature_that_tells_the_evidence_gets_the_weight() -> None:
    known = Known(mean=np.zeros(2), precision=1e-3 * np.eye(2))
    telling, idle = minimise(loss_of(random_examples(3)), known=known)
    assert telling > 1
    assert abs(idle) < telling / 3


def test_what_is_known_for_sure_does_not_move() -> None:
    known = Known(mean=np.array([-1.0, 2.0]), precision=1e9 * np.eye(2))
    assert minimise(loss_of(random_examples(4)), known=known) == pytest.approx([-1, 2], abs=1e-4)


def test_a_direction_that_nothing_tells_of_stays_where_it_was() -> None:
    same = [example([[1, 3], [0, 3], [2, 3]], [10, 0, 0]) for _ in range(3)]
    known = Known(mean=np.array([0.0, 5.0]), precision=np.diag([1.0, 0.0]))
    assert minimise(loss_of(same), known=known)[1] == pytest.approx(5.0)


def test_a_lift_counts_and_is_not_learned() -> None:
    """Where what packs add explains the evidence, no weight has to."""
    plain = example([[1, 0], [0, 0]], [10, 0])
    known = Known(mean=np.zeros(2), precision=0.1 * np.eye(2))
    lifted = [
        Example(**{name: getattr(plain, name) for name in _FIELDS}, lifts=np.array([8.0, 0.0]))
    ]
    assert minimise(loss_of(lifted), known=known)[0] < minimise(loss_of([plain]), known=known)[0]


_FIELDS = ("question", "features", "evidence", "documents", "compares", "candidates", "rows")
