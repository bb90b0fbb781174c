import numpy as np
import pytest

from spanwise.core.extraction.exact import NumbersByDocument, by_document


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.5, 0.25], [[0.5, 0.25]]),
        (np.array([0.5, 0.25]), [[0.5, 0.25]]),
        ([[0.5], [0.25, 1.0]], [[0.5], [0.25, 1.0]]),
        ([np.array([0.5]), (0.25,)], [[0.5], [0.25]]),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        ([[], [1]], [[], [1]]),
        ([], []),
        ([[]], [[]]),
    ],
)
def test_numbers_come_by_document(given: NumbersByDocument, expected: list[list[float]]) -> None:
    """A flat list is one document; lists and arrays of both kinds may be mixed."""
    assert [row.tolist() for row in by_document(given)] == expected
