"""Signals of pack landmarks: one point for each version of a document and set of packs."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from spanwise.stores.qdrant.points import point_id

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from qdrant_client import models


def signal_point_id(token: str, packs: str) -> str:
    """Return the id of the point with the signals of a version, computed with some packs."""
    return point_id("signals", token, packs)


def signal_points(
    token: str, document: str, packs: str, signals: Mapping[str, NDArray[np.float16]]
) -> list[models.PointStruct]:
    """Return the point with the signals of a version; none if it has no signals."""
    from qdrant_client import models

    if not signals:
        return []
    data = {
        landmark: b64encode(np.ascontiguousarray(signals[landmark], dtype="<f2").tobytes()).decode()
        for landmark in sorted(signals)
    }
    payload: dict[str, Any] = {
        "kind": "signals",
        "token": token,
        "document": document,
        "packs": point_id(packs),
        "landmarks": sorted(data),
        "signals": data,
    }
    return [models.PointStruct(id=signal_point_id(token, packs), vector={}, payload=payload)]


def read_signals(payload: Mapping[str, Any]) -> dict[str, NDArray[np.float16]]:
    """Return the signals of a point, by landmark."""
    return {
        landmark: np.frombuffer(b64decode(text), dtype="<f2").astype(np.float16)
        for landmark, text in payload["signals"].items()
    }
