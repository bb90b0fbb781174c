"""Calls of a contextual embedder: cache, batches, concurrency, checks and usage."""

from __future__ import annotations

import time
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from spanwise.core.ranking.vectors import unit_rows
from spanwise.models.embed_caller import TASK, WrappedEmbedder, checked_vectors, composed_texts
from spanwise.models.ledger import Ledger
from spanwise.models.model_checks import check_type, translated_errors
from spanwise.models.ports import ContextualEmbedder, EmbedReply
from spanwise.threads import map_bounded, without_turn
from spanwise.types import Usage
from spanwise.types.output_cache import CachedOutput, OutputCache, output_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BATCH_CHARS = 160_000
"""Maximum characters of one call; a longer text is sent alone. Vendors accept at least 120,000
tokens per call, and a token has one to four characters, depending on the script."""


@dataclass(slots=True, kw_only=True)
class ContextualCaller(WrappedEmbedder):
    """Embedder that calls a contextual embedder for documents or for queries. Thread-safe.

    Vectors have unit length, in half precision: cached and new vectors are equal bit for bit.
    """

    embedder: ContextualEmbedder
    kind: Literal["document", "query"]
    cache: OutputCache | None = None
    """Cache of the vectors of remote models; None to cache nothing."""
    recorded_dimension: int = 0
    """Dimension of the stored vectors; 0 if unknown."""
    ledger: Ledger = field(default_factory=Ledger)
    """Ledger with the usage and the cost limit of the calls."""

    @property
    def dimension(self) -> int:
        """Return the length of a vector; if it is not recorded, a remote model may be called."""
        return self.recorded_dimension or self.embedder.dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, (n, dimension).

        Each distinct text is sent once. Blank texts are not sent and get a vector of zeros.

        Raises:
            ModelAnswerError: If vectors are missing, of another dimension or not finite.
            CostLimitError: If a call could exceed the cost limit.
            ModelError: If the embedder fails.
        """
        texts = composed_texts(texts)
        distinct, batches = self._batches(texts)
        limit = max(1, self.embedder.concurrency)
        with without_turn():
            embedded = map_bounded(self._embed_batch, batches, limit=limit)
        length = embedded[0].shape[1] if embedded else self.dimension
        out = np.zeros((len(texts), length), dtype=np.float32)
        rows = dict(zip(distinct, (row for vectors in embedded for row in vectors), strict=True))
        for at, text in enumerate(texts):
            if text in rows:
                out[at] = rows[text]
        return out

    def dry_run(self, texts: Sequence[str]) -> None:
        """Add the estimated usage of embedding texts to the ledger; cached calls cost 0."""
        for batch in self._batches(composed_texts(texts))[1]:
            usage = Usage(cached_calls=1)
            if self._cached(self._key(batch)) is None:
                usage = replace(self._estimate(batch), calls=1)
            self.ledger.count(TASK, usage)

    def _batches(self, texts: Sequence[str]) -> tuple[list[str], list[list[str]]]:
        """Return the distinct texts that are not blank: in order, and grouped into batches."""
        distinct = list(dict.fromkeys(text for text in texts if text.strip()))
        batches: list[list[str]] = []
        chars = 0
        for text in distinct:
            chars += len(text)
            if not batches or len(batches[-1]) == self.embedder.batch_texts or chars > _BATCH_CHARS:
                batches.append([])
                chars = len(text)
            batches[-1].append(text)
        return distinct, batches

    def _embed_batch(self, texts: Sequence[str]) -> NDArray[np.float16]:
        key = self._key(texts)
        cached = self._cached(key)
        if cached is not None:
            self.ledger.count(TASK, Usage(cached_calls=1))
            return np.frombuffer(b64decode(cached), dtype="<f2").reshape(len(texts), -1)
        with self.ledger.reserve(self.name, partial(self._estimate, texts)) as at_most:
            started = time.perf_counter()
            with translated_errors(self.name):
                reply = check_type(
                    self.name,
                    self.embedder.embed_texts(texts, kind=self.kind),
                    EmbedReply,
                    what="reply",
                )
                check_type(self.name, reply.usage, Usage, what="usage of the reply")
            usage = replace(reply.usage, seconds=time.perf_counter() - started)
            self.ledger.count(TASK, usage, at_most=at_most)
        shape = (len(texts), self.dimension)
        vectors = unit_rows(checked_vectors(reply.vectors, shape, name=self.name))
        if self.cache is not None and not self.embedder.is_local:
            output = b64encode(vectors.astype("<f2").tobytes()).decode()
            self.cache.put_outputs(
                [CachedOutput(key=key, output=output, task=TASK, model=self.name)]
            )
        return vectors

    def _estimate(self, texts: Sequence[str]) -> Usage:
        with translated_errors(self.name):
            usage = self.embedder.estimate(texts)
        return check_type(self.name, usage, Usage, what="estimate")

    def _cached(self, key: str) -> str | None:
        """Return the cached vectors of a key; None if there are none."""
        if self.cache is None or self.embedder.is_local:
            return None
        return self.cache.get_outputs([key]).get(key)

    def _key(self, texts: Sequence[str]) -> str:
        parts = [TASK, self.name, self.version, self.kind, list(texts)]
        return output_key(parts)
