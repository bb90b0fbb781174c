"""Comparison of the best candidates with the question by MiniLM, a small transformer.

Rules:
    The candidates with the best scores are compared, best first. A chunk is embedded with its
    header.
    If a pack leads a question to a table of numbers, such as a balance sheet, nothing is compared:
    MiniLM prefers text about the numbers.
    A vector is computed once. The knowledge base and the memory of the process store it, with the
    text as the key. For a read-only knowledge base, it is stored in memory only.
    Stored vectors are read in one request, and new ones are written in one request.
    Texts without a stored vector are embedded in small batches until the time limit. The first
    batch is always embedded.
    The differences between the scores are multiplied by the certainty of the comparison, so a
    question with a clear answer has a short result.
    If the model fails, the scores are unchanged and the result has a warning.
"""

from __future__ import annotations

import logging
import time
from base64 import b64decode, b64encode
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Literal

import numpy as np

from spanwise.core.ranking.deep import (
    DeepModel,
    certainty,
    deep_features,
    load_deep_model,
    scaled_scores,
)
from spanwise.core.ranking.vectors import unit_rows
from spanwise.errors import ModelError, OptionError, StoreError
from spanwise.packs.intents import leads_to_table
from spanwise.packs.pack_file import recorded_packs
from spanwise.search.lifts import MINILM
from spanwise.search.rerank import CandidateReader
from spanwise.search.scoring import DeepResult, add_lift
from spanwise.types.output_cache import CachedOutput, output_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.models.ports import ContextualEmbedder
    from spanwise.packs.pack_file import Pack
    from spanwise.search.scoring import QueryHits, ScoredChunks
    from spanwise.stores.port import Snapshot
    from spanwise.types.output_cache import OutputCache

_logger = logging.getLogger("spanwise")
DEEP_CHUNKS = 100
"""Number of best candidates of each query that are compared."""
_TASK = "deep"
_BATCH = 8  # texts; the time limit is checked between batches
_MAX_VECTORS = 20_000  # maximum size of the cache in memory


@dataclass(slots=True, kw_only=True)
class DeepReader:
    """Compares candidates with questions. Thread-safe."""

    load: Callable[[], ContextualEmbedder]
    """Function that loads the model; called once, by the first search."""
    cache: OutputCache
    """Cache of the vectors in the knowledge base."""
    model: DeepModel = field(default_factory=load_deep_model)
    """Linear model that combines first scores and cosines."""
    chunks: int = DEEP_CHUNKS
    """Number of best candidates of each query to compare."""
    _embedder: ContextualEmbedder | None = None
    _loading: Lock = field(default_factory=Lock)
    _vectors: OrderedDict[str, NDArray[np.float16]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def read(self, hits: Sequence[QueryHits], *, snapshot: Snapshot, seconds: float) -> DeepResult:
        """Return the hits of the queries of one question with new scores.

        Args:
            hits: Hits of each query.
            snapshot: Snapshot that was searched.
            seconds: Time limit for all queries together. Loading the model is not counted.
        """
        packs = [named.pack for named in recorded_packs(snapshot.packs())]
        chosen = [_chunks_to_compare(query, packs) for query in hits]
        if not any(scored is not None for scored in chosen):
            return DeepResult(hits=tuple(hits))
        try:
            embedder = self._loaded()
            deadline = time.perf_counter() + seconds
            reader = CandidateReader.of(snapshot)
            seen: set[tuple[int, int]] = set()
            compared = tuple(
                query
                if scored is None
                else self._compare(query, scored, reader, embedder, deadline=deadline, seen=seen)
                for query, scored in zip(hits, chosen, strict=True)
            )
        except (ModelError, OptionError) as error:
            warning = f"the candidates were not compared by MiniLM: {error}"
            return DeepResult(hits=tuple(hits), warnings=(warning,))
        return DeepResult(hits=compared, chunks=len(seen))

    def with_cache(self, cache: OutputCache) -> DeepReader:
        """Return a reader with another cache that shares the model and the vectors in memory."""
        return replace(self, load=self._loaded, cache=cache, _loading=Lock())

    def _loaded(self) -> ContextualEmbedder:
        with self._loading:
            if self._embedder is None:
                self._embedder = self.load()
            return self._embedder

    def _compare(
        self,
        query: QueryHits,
        scored: ScoredChunks,
        reader: CandidateReader,
        embedder: ContextualEmbedder,
        *,
        deadline: float,
        seen: set[tuple[int, int]],
    ) -> QueryHits:
        """Return a query with new scores of its chunks."""
        read = reader.read(query, self.chunks)
        vectors = self._text_vectors(embedder, read.texts, deadline=deadline)
        (question,) = _embedded(embedder, [read.query], "query").astype(np.float64)
        cosines = np.full(len(scored.candidates), np.nan)
        for at, text in zip(read.candidates.tolist(), read.texts, strict=True):
            if text in vectors:
                cosines[at] = vectors[text].astype(np.float64) @ question
        rows = scored.candidates[~np.isnan(cosines)]
        handles = scored.scan.handles[scored.rows.documents[rows]].tolist()
        seen.update(zip(handles, scored.rows.chunks[rows].tolist(), strict=True))
        lifts = np.zeros(len(scored.scores))
        for addition in scored.lifts.values():
            lifts += addition
        features = deep_features(
            scored.scores - lifts,
            cosines,
            candidates=scored.candidates,
            rows=scored.rows,
            found=scored.found,
        )
        factor = certainty(cosines, is_lifted=bool(lifts.any()))
        scores = scaled_scores(self.model.scores(features) + lifts, factor)
        lift = scores - scored.scores
        changed = add_lift(scored, lift, name=MINILM, compares=query.question.compares)
        best = float(np.nanmax(cosines)) if len(rows) else None
        return query._replace(scored=changed._replace(deep_similarity=best))

    def _text_vectors(
        self, embedder: ContextualEmbedder, texts: Sequence[str], *, deadline: float
    ) -> dict[str, NDArray[np.float16]]:
        """Return the vectors by text: the stored ones, and new ones until the deadline."""
        keys = {text: output_key([_TASK, embedder.name, text]) for text in texts}
        size = embedder.dimension
        found = self._stored(list(keys.values()), size=size)
        vectors = {text: found[key] for text, key in keys.items() if key in found}
        new = [text for text in keys if text not in vectors]
        computed: dict[str, NDArray[np.float16]] = {}
        try:
            for start in range(0, len(new), _BATCH):
                if start and time.perf_counter() > deadline:
                    break
                batch = new[start : start + _BATCH]
                for text, vector in zip(batch, _embedded(embedder, batch, "document"), strict=True):
                    vectors[text] = computed[keys[text]] = vector
        finally:
            self._store(computed, model=embedder.name)
        return vectors

    def _stored(self, keys: Sequence[str], *, size: int) -> dict[str, NDArray[np.float16]]:
        """Return the stored vectors by key, without those that are damaged."""
        with self._lock:
            found = {key: self._vectors[key] for key in keys if key in self._vectors}
        missing = [key for key in keys if key not in found]
        outputs = self.cache.get_outputs(missing) if missing else {}
        read = {key: _decoded(output, size=size) for key, output in outputs.items()}
        sound = {key: vector for key, vector in read.items() if vector is not None}
        self._remember(sound)
        return found | sound

    def _store(self, vectors: Mapping[str, NDArray[np.float16]], *, model: str) -> None:
        """Keep vectors by key in memory and in the knowledge base."""
        if not vectors:
            return
        self._remember(vectors)
        outputs = [
            CachedOutput(
                key=key,
                output=b64encode(vector.astype("<f2").tobytes()).decode(),
                task=_TASK,
                model=model,
            )
            for key, vector in vectors.items()
        ]
        try:
            self.cache.put_outputs(outputs)
        except StoreError as error:  # the vectors stay in memory
            _logger.warning("vectors of MiniLM were not stored: %s", error)

    def _remember(self, vectors: Mapping[str, NDArray[np.float16]]) -> None:
        with self._lock:
            self._vectors.update(vectors)
            while len(self._vectors) > _MAX_VECTORS:
                self._vectors.popitem(last=False)


def _chunks_to_compare(query: QueryHits, packs: Sequence[Pack]) -> ScoredChunks | None:
    """Return the chunks of a query; None without candidates, or if a pack leads it to a table."""
    scored = query.scored
    if scored is None or not len(scored.candidates) or leads_to_table(packs, scored.lifts):
        return None
    return scored


def _decoded(output: str, *, size: int) -> NDArray[np.float16] | None:
    """Return the vector of a stored output; None if it is not a finite vector of this size."""
    try:
        vector = np.frombuffer(b64decode(output, validate=True), dtype="<f2")
    except ValueError:
        return None
    return vector if vector.shape == (size,) and np.isfinite(vector).all() else None


def _embedded(
    embedder: ContextualEmbedder, texts: Sequence[str], kind: Literal["document", "query"]
) -> NDArray[np.float16]:
    return unit_rows(embedder.embed_texts(texts, kind=kind).vectors)
