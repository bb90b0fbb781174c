"""Embedders that the nodes of a Ray cluster import."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from spanwise.models.ports import EmbedReply
from spanwise.types import Usage

__all__ = ["POISON", "HashEmbedder"]

POISON = "zanzibar"
_DIMENSION = 16


class HashEmbedder:
    """Local embedder of texts by their hashes. Except in its owner, it dies of one word."""

    name = "tests:hash"
    version = "1"
    dimension = _DIMENSION
    is_local = True
    batch_texts = 32
    concurrency = 1

    def __init__(self) -> None:
        """Create the embedder in the process that owns it."""
        self.owner = os.getpid()

    def estimate(self, texts: Sequence[str]) -> Usage:
        """Return no usage."""
        del texts
        return Usage()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector per text."""
        assert len(texts) <= self.batch_texts
        if os.getpid() != self.owner and any(POISON in text for text in texts):
            os._exit(1)
        rows = [hashlib.sha512(text.encode()).digest()[:_DIMENSION] for text in texts]
        return np.array([list(row) for row in rows], dtype=np.float32) - 127

    def embed_texts(
        self, texts: Sequence[str], *, kind: Literal["document", "query"]
    ) -> EmbedReply:
        """Return the vectors of texts."""
        del kind
        return EmbedReply(vectors=self.embed(texts), usage=Usage())
