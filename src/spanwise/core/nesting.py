"""Numbers of chunks as callers hold them: of several documents, or of one in a flat list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["NumbersByDocument", "by_document"]

NumbersByDocument = ArrayLike | Sequence[ArrayLike]
"""A list or array for each document, or one of numbers for a single document."""


def by_document(numbers: NumbersByDocument) -> list[NDArray[Any]]:
    """Return one array for each document; a flat list of numbers is a single document.

    An empty list holds no document; an empty document is an empty list inside it.
    """
    rows: Any = numbers
    if len(rows) and np.ndim(rows[0]) == 0:
        rows = [rows]
    return [np.asarray(row) for row in rows]
