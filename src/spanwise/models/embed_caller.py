"""Embed texts by a model: from what is kept, several calls at once, checked, counted."""

from __future__ import annotations

import hashlib
import json
import time
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeGuard

import numpy as np

from spanwise.core.ranking.vectors import unit_rows
from spanwise.errors import ModelAnswerError
from spanwise.models.ledger import Ledger
from spanwise.models.ports import ContextualEmbedder, Embedder, OutputCache
from spanwise.models.threads import map_bounded
from spanwise.types import Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray


_TASK = "embed"
_BATCH_CHARS = 160_000
"""Of the texts of one call, but for a single one that is longer. Vendors take 120,000 tokens and
more, which are as many characters in some scripts and four times as many in others."""


def is_contextual(embedder: Embedder) -> TypeGuard[ContextualEmbedder]:
    """Return whether an embedder reads texts as a whole."""
    return hasattr(embedder, "embed_texts")


def one_side(
    embedder: Embedder | None,
    kind: Literal["document", "query"],
    *,
    cache: OutputCache,
    recorded_dimension: int = 0,
    ledger: Ledger | None = None,
) -> Embedder | None:
    """Return what embeds one side of a search, counted and kept where a model is called.

    Args:
        embedder: None for none.
        kind: Which side.
        cache: Keeps what was paid.
        recorded_dimension: Length of the vectors that are stored; 0 where it is not known.
        ledger: Ledger that counts the calls and holds the cost limit; None for a new one.

    Raises:
        OptionError: If a cost limit applies and the price of the embedder is unknown.
    """
    if embedder is None or not is_contextual(embedder):
        return embedder
    ledger = Ledger() if ledger is None else ledger
    ledger.check_price(embedder.name, partial(embedder.estimate, ["price"]))
    return EmbedCaller(
        embedder=embedder,
        kind=kind,
        cache=cache,
        recorded_dimension=recorded_dimension,
        ledger=ledger,
    )


def embedding_usage(embedder: Embedder | None) -> Usage:
    """Return what an embedder's calls took so far; nothing of a static one."""
    if not isinstance(embedder, EmbedCaller):
        return Usage()
    return embedder.ledger.usage_by_task.get(_TASK, Usage())


@dataclass(slots=True, kw_only=True)
class EmbedCaller:
    """Calls a contextual embedder, for one side of a search: an embedder itself.

    Safe for use by several threads. Vectors have unit length, in half precision: what is kept is
    what was returned, bit for bit.
    """

    embedder: ContextualEmbedder
    kind: Literal["document", "query"]
    cache: OutputCache | None = None
    """Keeps the vectors of each call, unless the model runs here; None for nothing."""
    recorded_dimension: int = 0
    """Length of the vectors that are stored; 0 where it is not known."""
    ledger: Ledger = field(default_factory=Ledger)
    """Counts the calls, and lets none begin that may cost too much."""

    @property
    def name(self) -> str:
        """Return the name of the embedder."""
        return self.embedder.name

    @property
    def version(self) -> str:
        """Return the version of the embedder."""
        return self.embedder.version

    @property
    def dimension(self) -> int:
        """Return the length of a vector; a remote model may have to be asked for it."""
        return self.recorded_dimension or self.embedder.dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector a text, (n, dimension); zeros for a blank one, each text sent once.

        Raises:
            ModelAnswerError: If vectors are missing, of another length or not finite.
            CostLimitError: If a call may cost more than is left.
            ModelError: If the embedder fails.
        """
        distinct, batches = self._batches(texts)
        made = map_bounded(self._embed_batch, batches, limit=self.embedder.concurrency)
        length = made[0].shape[1] if made else self.dimension
        out = np.zeros((len(texts), length), dtype=np.float32)
        rows = dict(zip(distinct, (row for vectors in made for row in vectors), strict=True))
        for at, text in enumerate(texts):
            if text in rows:
                out[at] = rows[text]
        return out

    def foresee(self, texts: Sequence[str]) -> None:
        """Count what it would take to embed some texts, at most; what is kept costs nothing."""
        for batch in self._batches(texts)[1]:
            usage = Usage(cached_calls=1)
            if self._kept(self._key(batch)) is None:
                usage = replace(self.embedder.estimate(batch), calls=1)
            self.ledger.count(_TASK, usage)

    def _batches(self, texts: Sequence[str]) -> tuple[list[str], list[list[str]]]:
        """Return the texts that are not blank, each once, and the same as they are sent."""
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
        kept = self._kept(key)
        if kept is not None:
            self.ledger.count(_TASK, Usage(cached_calls=1))
            return np.frombuffer(b64decode(kept), dtype="<f2").reshape(len(texts), -1)
        with self.ledger.reserved(self.name, partial(self.embedder.estimate, texts)) as at_most:
            started = time.perf_counter()
            reply = self.embedder.embed_texts(texts, kind=self.kind)
            usage = replace(reply.usage, seconds=time.perf_counter() - started)
            self.ledger.count(_TASK, usage, at_most=at_most)
        vectors = self._checked(reply.vectors, len(texts))
        if self.cache is not None and not self.embedder.is_local:
            output = b64encode(vectors.astype("<f2").tobytes()).decode()
            self.cache.put_output(key, output, task=_TASK, model=self.name)
        return vectors

    def _kept(self, key: str) -> str | None:
        """Return the vectors that were paid before; None where there are none."""
        if self.cache is None or self.embedder.is_local:
            return None
        return self.cache.get_output(key)

    def _checked(self, vectors: NDArray[np.float32], count: int) -> NDArray[np.float16]:
        """Return vectors as they are kept."""
        wanted = (count, self.dimension)
        if vectors.shape != wanted or not np.isfinite(vectors).all():
            fault = f"of the shape {vectors.shape}" if vectors.shape != wanted else "not finite"
            provider, _, model = self.name.partition(":")
            raise ModelAnswerError(
                f"{self.name} gave vectors that are {fault}, where {wanted} is right; if the model "
                "changed, add the documents to a new knowledge base",
                provider=provider,
                model=model,
            )
        return unit_rows(vectors)

    def _key(self, texts: Sequence[str]) -> str:
        parts = [_TASK, self.name, self.version, self.kind, list(texts)]
        return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()
