"""Collections of a knowledge base: their vectors, payload indexes, shards and replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwise.errors import FormatError, StoreError
from spanwise.stores.qdrant.points import CHUNKS, COUNTS, DENSE, DOCUMENTS, STATE, TERMS, TITLES

if TYPE_CHECKING:
    from spanwise.stores.qdrant.address import QdrantAddress
    from spanwise.stores.qdrant.requests import Requests

_INDEXES = {
    DOCUMENTS: {
        "kind": "keyword",
        "changed": "integer",
        "tags": "keyword",
        "language": "keyword",
    },
    CHUNKS: {
        "document": "keyword",
        "token": "keyword",
        "sample": "integer",
        "tags": "keyword",
    },
    STATE: {"kind": "keyword", "token": "keyword", "thread": "keyword"},
}


def open_collections(requests: Requests, address: QdrantAddress, *, create: bool) -> None:
    """Create the collections of documents and state if they are missing.

    Raises:
        FormatError: If they are missing and `create` is False.
        StoreError: If the server cannot be reached or refuses a request.
    """
    missing = [kind for kind in (DOCUMENTS, STATE) if not _exists(requests, kind)]
    if missing and not create:
        raise FormatError(
            f"there is no knowledge base {address.name!r} on {address}; check the name, or create "
            "it by adding a document"
        )
    for kind in missing:
        sparse = (COUNTS, TITLES) if kind == DOCUMENTS else ()
        _create(requests, address, kind, dimension=0, sparse=sparse)


def open_chunks(requests: Requests, address: QdrantAddress, *, dimension: int) -> None:
    """Create the collection of chunks if it is missing.

    Args:
        requests: Requests to the server.
        address: Address with the options of new collections.
        dimension: Dimension of the vectors, 0 for none.
    """
    if not _exists(requests, CHUNKS):
        _create(requests, address, CHUNKS, dimension=dimension, sparse=(TERMS,))


def index_field(requests: Requests, key: str) -> None:
    """Create the index of a payload field with numbers, in documents and chunks."""
    for kind in (DOCUMENTS, CHUNKS):
        requests.call("create_payload_index", kind, field_name=key, field_schema="float", wait=True)


def _exists(requests: Requests, kind: str) -> bool:
    return bool(requests.call("collection_exists", kind))


def _create(
    requests: Requests,
    address: QdrantAddress,
    kind: str,
    *,
    dimension: int,
    sparse: tuple[str, ...],
) -> None:
    from qdrant_client import models

    disk = address.on_disk
    dense: dict[str, Any] = {}
    if dimension:
        dense[DENSE] = models.VectorParams(
            size=dimension,
            distance=models.Distance.DOT,  # rows have unit length, and must not be changed
            on_disk=disk,
            datatype=models.Datatype.FLOAT16,
        )
    replicated: dict[str, Any] = {"replication_factor": address.replicas}
    if address.shards:
        replicated["shard_number"] = address.shards
    if address.replicas > 1:
        replicated["write_consistency_factor"] = address.replicas // 2 + 1
    if dimension and address.quantization == "int8":
        replicated["quantization_config"] = models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(
                type=models.ScalarType.INT8, quantile=0.99, always_ram=True
            )
        )
    try:
        requests.call(
            "create_collection",
            kind,
            vectors_config=dense,
            sparse_vectors_config={
                name: models.SparseVectorParams(index=models.SparseIndexParams(on_disk=disk))
                for name in sparse
            },
            on_disk_payload=True,
            **replicated,
        )
    except (StoreError, ValueError):  # another process created it at the same time
        if not _exists(requests, kind):
            raise
    for key, schema in _INDEXES[kind].items():
        requests.call("create_payload_index", kind, field_name=key, field_schema=schema, wait=True)
