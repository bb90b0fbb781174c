"""Qdrant's engine behind the methods of `QdrantClient`: one shard of Qdrant Edge per collection.

Requests and answers have the types of `qdrant_client`. Only the methods and conditions that the
store uses are there; anything else is an error.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import qdrant_edge as edge
from qdrant_client import models
from qdrant_client.http import models as http_models


@contextmanager
def edge_client(*, indexing_threshold: int | None = None) -> Iterator[EdgeClient]:
    """Yield a client with no collections, in memory where the system has a file system for that.

    The engine waits for the disk at every new collection, which takes seconds on a busy one.
    """
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        client = EdgeClient(Path(folder), indexing_threshold=indexing_threshold)
        yield client
        client.close()


class SharedClient:
    """Client that several stores share; closing a store does not close it."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def close(self) -> None:
        """Keep the client open for the other stores."""


class EdgeClient:
    """Collections of one folder."""

    def __init__(self, folder: Path, *, indexing_threshold: int | None = None) -> None:
        """Create a client.

        Args:
            folder: Folder for the shards.
            indexing_threshold: Size of a segment in kilobytes from which vectors are indexed; None
                for the default.
        """
        self._folder = folder
        self._threshold = indexing_threshold
        self._shards: dict[str, edge.EdgeShard] = {}
        self._lock = threading.RLock()

    def collection_exists(self, collection_name: str) -> bool:
        """Return whether there is a collection."""
        return collection_name in self._shards

    def create_collection(
        self,
        collection_name: str,
        vectors_config: dict[str, models.VectorParams],
        sparse_vectors_config: dict[str, models.SparseVectorParams],
        **_: Any,
    ) -> None:
        """Create a collection."""
        optimizers = edge.EdgeOptimizersConfig(
            default_segment_number=2, indexing_threshold=self._threshold
        )
        config = edge.EdgeConfig(
            vectors={
                name: edge.EdgeVectorParams(
                    size=one.size,
                    distance=edge.Distance.Dot,
                    datatype=edge.VectorStorageDatatype.Float16,
                )
                for name, one in vectors_config.items()
            },
            # An engine without a server refuses a collection without vectors.
            sparse_vectors={
                name: edge.EdgeSparseVectorParams() for name in [*sparse_vectors_config, "none"]
            },
            optimizers=optimizers,
        )
        with self._lock:
            path = self._folder / collection_name
            self._shards[collection_name] = edge.EdgeShard.create(str(path), config)

    def create_payload_index(
        self, collection_name: str, field_name: str, field_schema: str, **_: Any
    ) -> None:
        """Create the index of a payload field."""
        schema = getattr(edge.PayloadSchemaType, field_schema.capitalize())
        self._update(collection_name, edge.UpdateOperation.create_field_index(field_name, schema))

    def _update(self, collection_name: str, operation: edge.UpdateOperation) -> None:
        with self._lock:
            self._shards[collection_name].update(operation)

    def optimize(self, collection_name: str) -> None:
        """Build the indexes of a collection."""
        with self._lock:
            self._shards[collection_name].optimize()

    def upsert(
        self,
        collection_name: str,
        points: Sequence[models.PointStruct],
        update_filter: models.Filter | None = None,
        update_mode: models.UpdateMode | None = None,
        **_: Any,
    ) -> None:
        """Write points."""
        mode = edge.UpdateMode.InsertOnly if update_mode == models.UpdateMode.INSERT_ONLY else None
        made = [edge.Point(p.id, _vectors(p.vector), p.payload) for p in points]
        condition = None if update_filter is None else _filter(update_filter)
        self._update(collection_name, edge.UpdateOperation.upsert_points(made, condition, mode))

    def set_payload(
        self, collection_name: str, payload: dict[str, Any], points: models.Filter, **_: Any
    ) -> None:
        """Set fields of the points that match a filter."""
        operation = edge.UpdateOperation.set_payload_by_filter(_filter(points), payload)
        self._update(collection_name, operation)

    def delete(
        self,
        collection_name: str,
        points_selector: models.Filter | models.PointIdsList,
        **_: Any,
    ) -> None:
        """Delete points."""
        if isinstance(points_selector, models.PointIdsList):
            operation = edge.UpdateOperation.delete_points(points_selector.points)
        else:
            operation = edge.UpdateOperation.delete_points_by_filter(_filter(points_selector))
        self._update(collection_name, operation)

    def retrieve(
        self, collection_name: str, ids: list[str], with_payload: Any, with_vectors: bool, **_: Any
    ) -> list[models.Record]:
        """Return the points with some ids."""
        with self._lock:
            found = self._shards[collection_name].retrieve([*ids], with_payload, with_vectors)
        return [_record(one) for one in found]

    def scroll(
        self,
        collection_name: str,
        scroll_filter: models.Filter,
        limit: int,
        offset: Any,
        with_payload: Any,
        **_: Any,
    ) -> tuple[list[models.Record], Any]:
        """Return a page of the points that match a filter."""
        request = edge.ScrollRequest(
            offset=offset, limit=limit, filter=_filter(scroll_filter), with_payload=with_payload
        )
        with self._lock:
            found, following = self._shards[collection_name].scroll(request)
        return [_record(one) for one in found], following

    def count(
        self, collection_name: str, count_filter: models.Filter | None, exact: bool
    ) -> models.CountResult:
        """Return the number of points that match a filter."""
        where = None if count_filter is None else _filter(count_filter)
        with self._lock:
            count = self._shards[collection_name].count(edge.CountRequest(exact, where))
        return models.CountResult(count=count)

    def facet(
        self, collection_name: str, key: str, facet_filter: models.Filter, limit: int, exact: bool
    ) -> models.FacetResponse:
        """Return the distinct values of a field."""
        request = edge.FacetRequest(key, limit, exact, _filter(facet_filter))
        with self._lock:
            hits = self._shards[collection_name].facet(request).hits
        return models.FacetResponse(
            hits=[models.FacetValueHit(value=hit.value, count=hit.count) for hit in hits]
        )

    def query_batch_points(
        self, collection_name: str, requests: list[models.QueryRequest], **_: Any
    ) -> list[http_models.QueryResponse]:
        """Return the best points of each query."""
        made = [
            edge.QueryRequest(
                limit=one.limit or 10,
                query=None
                if one.query is None
                else edge.Query.Nearest(_query_vector(one.query), using=one.using),
                filter=None if one.filter is None else _filter(one.filter),
                with_payload=_fields(one.with_payload),
                params=_parameters(one.params),
            )
            for one in requests
        ]
        with self._lock:
            found = self._shards[collection_name].query_batch(edge.QueryBatchRequest(made))
        return [
            http_models.QueryResponse(
                points=[
                    models.ScoredPoint(
                        id=str(p.id), version=p.version, score=p.score, payload=p.payload
                    )
                    for p in points
                ]
            )
            for points in found
        ]

    def close(self) -> None:
        """Close all collections."""
        with self._lock:
            for shard in self._shards.values():
                shard.close()
            self._shards.clear()


def _fields(given: Any) -> Any:
    """Return which payload fields are wanted, in the form of the engine."""
    return given


def _record(one: edge.Record) -> models.Record:
    vector: Any = one.vector
    if isinstance(vector, dict):
        vector = {name: _plain(value) for name, value in vector.items()}
    return models.Record(id=str(one.id), payload=one.payload, vector=vector or None)


def _plain(value: Any) -> Any:
    if isinstance(value, edge.SparseVector):
        return models.SparseVector(indices=value.indices, values=value.values)
    return value


def _vectors(vector: Any) -> dict[str, Any]:
    return {name: _query_vector(value) for name, value in vector.items()}


def _query_vector(value: Any) -> Any:
    if isinstance(value, models.NearestQuery):
        return _query_vector(value.nearest)
    if isinstance(value, models.SparseVector):
        return edge.SparseVector(value.indices, value.values)
    return list(value)


def _parameters(given: models.SearchParams | None) -> edge.SearchParams | None:
    if given is None:
        return None
    return edge.SearchParams(hnsw_ef=given.hnsw_ef, exact=bool(given.exact))


def _filter(where: models.Filter) -> edge.Filter:
    def listed(part: Any) -> list[Any] | None:
        if part is None:
            return None
        return [_condition(one) for one in (part if isinstance(part, list) else [part])]

    return edge.Filter(
        must=listed(where.must), should=listed(where.should), must_not=listed(where.must_not)
    )


def _condition(one: Any) -> Any:
    if isinstance(one, models.Filter):
        return _filter(one)
    if isinstance(one, models.HasIdCondition):
        return edge.HasIdCondition(set(one.has_id))
    if one.range is not None:
        limits = one.range.model_dump(include={"gt", "gte", "lt", "lte"})
        return edge.FieldCondition(one.key, range=edge.RangeFloat(**limits))
    if isinstance(one.match, models.MatchAny):
        return edge.FieldCondition(
            one.key, match=edge.MatchAny([str(value) for value in one.match.any])
        )
    return edge.FieldCondition(one.key, match=edge.MatchValue(one.match.value))
