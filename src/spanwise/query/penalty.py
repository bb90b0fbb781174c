"""The penalty of one question: how relevant a chunk must be to be worth its tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from spanwise.core.relevance import RelevanceModel
    from spanwise.options import SegmentOptions
    from spanwise.query.evidence import Evidence

__all__ = ["with_penalty"]

_HIGHEST = 1 - 1e-9  # a penalty is below 1


def with_penalty(
    options: SegmentOptions, evidence: Evidence, model: RelevanceModel
) -> SegmentOptions:
    """Return options whose penalty is the higher of their own and of the relative one."""
    if not options.relative_penalty:
        return options
    share = options.relative_penalty * evidence.best_share(options.reference_length)
    relevance = float(model.relevance(np.array([share]))[0])
    penalty = max(options.irrelevant_chunk_penalty, min(relevance, _HIGHEST))
    return replace(options, irrelevant_chunk_penalty=penalty)
