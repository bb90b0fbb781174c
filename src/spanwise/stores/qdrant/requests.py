"""Requests to Qdrant: retries, timeouts, consistency, and errors in the terms of the library.

Rules:
    Every write may be repeated: points have ids that do not change between attempts, and
        conditional writes are checked by reading the point afterwards.
    A write has been applied when it returns (`wait=True`), and a majority of the replicas has
        confirmed it (write consistency factor of the collections).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from spanwise.errors import (
    StoreBusyError,
    StoreError,
    StoreFullError,
    StorePermissionError,
    StoreUnavailableError,
)
from spanwise.threads import without_turn

if TYPE_CHECKING:
    from qdrant_client import models

    from spanwise.stores.qdrant.address import QdrantAddress

_ATTEMPTS = 4
_FIRST_PAUSE_SECONDS = 0.2
MAX_IDS = 5_000
"""Maximum number of points that are read by their ids in one request."""
_PAGE_POINTS = 2_000
_BATCH_BYTES = 8 << 20
_FORBIDDEN_STATUS, _FORBIDDEN_CODE = 403, "PERMISSION_DENIED"
_REFUSED_STATUS = (401, _FORBIDDEN_STATUS)
_REFUSED_CODES = ("UNAUTHENTICATED", _FORBIDDEN_CODE)
_RETRIED_STATUS = (408, 429, 500, 502, 503, 504)
_RETRIED_CODES = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED", "INTERNAL")


class Requests:
    """Requests to the collections of one knowledge base."""

    def __init__(self, client: Any, address: QdrantAddress, *, is_shared: bool) -> None:
        """Create the requests.

        Args:
            client: `QdrantClient`, or an object with its methods.
            address: Address of the knowledge base.
            is_shared: Whether the client may be used by several threads at once.
        """
        self._client = client
        self._address = address
        self._lock: AbstractContextManager[Any] = nullcontext() if is_shared else threading.RLock()
        replicated = address.replicas > 1
        self._read: dict[str, Any] = {}
        self._write: dict[str, Any] = {"wait": True}
        if replicated and address.consistency != "one":
            self._read["consistency"] = address.consistency
        self.count = 0

    def collection(self, kind: str) -> str:
        """Return the name of a collection of the knowledge base."""
        return f"{self._address.name}-{kind}"

    def call(self, method: str, kind: str | None, **arguments: Any) -> Any:
        """Return the result of a method of the client; failures of the network are retried.

        Raises:
            StoreFullError: If the disk of the server is full.
            StoreBusyError: If the server cannot be reached or is overloaded after all attempts.
            StorePermissionError: If the key has no right to do this.
            StoreUnavailableError: If the server refuses the key.
            StoreError: If the server refuses the request.
        """
        if kind is not None:
            arguments["collection_name"] = self.collection(kind)
        for attempt in range(_ATTEMPTS):
            try:
                with without_turn(), self._lock:
                    self.count += 1
                    return getattr(self._client, method)(**arguments)
            except Exception as error:
                failure = _translated(error, self._address)
                if failure is None:
                    raise
                is_last = attempt == _ATTEMPTS - 1
                if is_last or not isinstance(failure, StoreBusyError):
                    raise failure from error
            with without_turn():
                time.sleep(_FIRST_PAUSE_SECONDS * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    def upsert(self, kind: str, points: Sequence[models.PointStruct], **options: Any) -> None:
        """Write points, in several requests if they are large."""
        for batch in _batches(points):
            self.call("upsert", kind, points=batch, **options, **self._write)

    def set_payload(self, kind: str, payload: dict[str, Any], selector: models.Filter) -> None:
        """Set fields of the points that match a filter."""
        self.call("set_payload", kind, payload=payload, points=selector, **self._write)

    def delete(self, kind: str, selector: models.Filter | models.PointIdsList) -> None:
        """Delete points."""
        self.call("delete", kind, points_selector=selector, **self._write)

    def retrieve(
        self, kind: str, ids: Sequence[str], *, fields: Sequence[str] | bool, vectors: bool = False
    ) -> dict[str, models.Record]:
        """Return the points with some ids, by id; missing points are left out.

        Up to `MAX_IDS` points come from one request.
        """
        found: dict[str, models.Record] = {}
        for first in range(0, len(ids), MAX_IDS):
            points = self.call(
                "retrieve",
                kind,
                ids=list(ids[first : first + MAX_IDS]),
                with_payload=fields if isinstance(fields, bool) else list(fields),
                with_vectors=vectors,
                **self._read,
            )
            found.update((str(point.id), point) for point in points)
        return found

    def scroll(
        self, kind: str, where: models.Filter, *, fields: Sequence[str], limit: int | None = None
    ) -> Iterator[models.Record]:
        """Yield the points that match a filter, in the order of their ids."""
        offset = None
        left = limit
        while left is None or left > 0:
            page = _PAGE_POINTS if left is None else min(left, _PAGE_POINTS * 4)
            points, offset = self.call(
                "scroll",
                kind,
                scroll_filter=where,
                limit=page,
                offset=offset,
                with_payload=list(fields),
                with_vectors=False,
                **self._read,
            )
            yield from points
            if offset is None:
                return
            left = None if left is None else left - len(points)

    def count_points(self, kind: str, where: models.Filter | None, *, exact: bool = True) -> int:
        """Return the number of points that match a filter."""
        result = self.call("count", kind, count_filter=where, exact=exact)
        return int(result.count)

    def query(
        self, kind: str, queries: Sequence[models.QueryRequest]
    ) -> list[list[models.ScoredPoint]]:
        """Return the best points of each query, from one request."""
        if not queries:
            return []
        found = self.call("query_batch_points", kind, requests=list(queries), **self._read)
        return [list(response.points) for response in found]

    def values(self, kind: str, key: str, where: models.Filter) -> list[str]:
        """Return the distinct values of a field among the points that match a filter."""
        found = self.call("facet", kind, key=key, facet_filter=where, limit=1_000, exact=True)
        return [str(hit.value) for hit in found.hits]

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            self._client.close()


def _batches(points: Sequence[models.PointStruct]) -> Iterator[list[models.PointStruct]]:
    """Yield points in batches below the request limit of a server (32 MiB by default)."""
    batch: list[models.PointStruct] = []
    size = 0
    for point in points:
        payload = point.payload or {}
        own = sum(len(value) for value in payload.values() if isinstance(value, str | list))
        own += 16 * _numbers(point.vector)
        if batch and size + own > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(point)
        size += own
    if batch:
        yield batch


def _numbers(vector: Any) -> int:
    """Return about how many numbers the vectors of a point have."""
    if not isinstance(vector, dict):
        return 0
    return sum(
        len(one) if isinstance(one, list) else 2 * len(one.values) for one in vector.values()
    )


def _translated(error: Exception, address: QdrantAddress) -> StoreError | None:
    """Return the error for a failure of the client; None for an error of another origin."""
    name, text = type(error).__name__, str(error)
    status = getattr(error, "status_code", None)
    code = _grpc_code(error)
    known = name in ("UnexpectedResponse", "ResponseHandlingException", "ApiException")
    if not known and code is None and not isinstance(error, OSError):
        return None
    if (
        status == 507
        or "No space left" in text
        or ("disk" in text.lower() and "full" in text.lower())
    ):
        return StoreFullError(f"the disk of {address} is full; nothing of the write is visible")
    if status in _REFUSED_STATUS or code in _REFUSED_CODES:
        return _refusal(address, is_known=status == _FORBIDDEN_STATUS or code == _FORBIDDEN_CODE)
    if name == "ResponseHandlingException" or code in _RETRIED_CODES or status in _RETRIED_STATUS:
        reason = getattr(error, "source", None) or code or status
        return StoreBusyError(
            f"{address} cannot be reached, or did not answer in time ({reason}); try again later"
        )
    if isinstance(error, OSError):
        return StoreBusyError(f"{address} cannot be reached ({error}); try again later")
    return StoreError(f"{address} refused a request ({status or code}): {text[:500]}")


def _refusal(address: QdrantAddress, *, is_known: bool) -> StoreError:
    """Return the error for a refused key.

    Args:
        address: Address of the knowledge base.
        is_known: Whether the server knows the key, which lacks the right.
    """
    if is_known:
        return StorePermissionError(
            f"the key may not do this in {address}; set QDRANT_API_KEY in the environment to a key "
            "with the rights to read and write its collections"
        )
    return StoreUnavailableError(
        f"{address} refused the key; set QDRANT_API_KEY in the environment to a key of the server"
    )


def _grpc_code(error: Exception) -> str | None:
    """Return the name of the status code of an error of gRPC; None for other errors."""
    read: Callable[[], Any] | None = getattr(error, "code", None)
    if not callable(read):
        return None
    return str(getattr(read(), "name", ""))
