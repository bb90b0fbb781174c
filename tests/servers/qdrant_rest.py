"""REST interface of Qdrant for tests: the requests of `qdrant_client` over HTTP to an engine.

It speaks the part of the interface that the store uses, with the types of `qdrant_client`. The
engine is `tests.servers.qdrant_edge`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from pydantic import TypeAdapter
from qdrant_client.http import models
from tests.servers.qdrant_edge import EdgeClient

_SELECTOR: TypeAdapter[Any] = TypeAdapter(models.PointsSelector)


class RestServer(ThreadingHTTPServer):
    """Server of one engine."""

    daemon_threads = True

    def __init__(self, engine: EdgeClient, *, key: str = "") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.engine = engine
        self.key = key
        self.refuses_writes = False
        """Whether the key may only read."""
        self.failures: list[int] = []
        """Status codes of the next answers, before any request is carried out."""
        self.requests = 0

    @property
    def port(self) -> int:
        """Port of the server."""
        return int(self.server_address[1])


@contextmanager
def rest_server(engine: EdgeClient, *, key: str = "") -> Iterator[RestServer]:
    """Yield a running server."""
    with RestServer(engine, key=key) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: RestServer

    def _serve(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        server = self.server
        server.requests += 1
        if server.key and self.headers.get("api-key") != server.key:
            self._answer(401, {"status": {"error": "Must provide an API key"}})
        elif server.refuses_writes and _call(self) in _WRITES:
            self._answer(403, {"status": {"error": "Write access is not granted"}})
        elif server.failures:
            self._answer(server.failures.pop(0), {"status": {"error": "as the test asked"}})
        else:
            name = urlsplit(self.path).path.split("/")[2]
            result = _results(server.engine, name, _call(self), body)
            self._answer(200, {"result": result, "status": "ok", "time": 0.0})

    do_GET = do_PUT = do_POST = _serve  # noqa: N815

    def _answer(self, status: int, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Write no log."""


def _call(handler: BaseHTTPRequestHandler) -> str:
    """Return the method of a request and its path below the name of the collection."""
    parts = urlsplit(handler.path).path.split("/")[3:]
    return f"{handler.command} {'/'.join(parts)}"


def _results(engine: EdgeClient, name: str, call: str, body: bytes) -> Any:
    """Return the result of a request."""
    if call == "GET exists":
        return {"exists": engine.collection_exists(name)}
    if call in _WRITES:
        _WRITES[call](engine, name, body)
        done = {"operation_id": 0, "status": "completed"}
        return True if call == "PUT " else done
    return _READS[call](engine, name, body)


def _create(engine: EdgeClient, name: str, body: bytes) -> None:
    given = models.CreateCollection.model_validate_json(body)
    dense = given.vectors if isinstance(given.vectors, dict) else {}
    engine.create_collection(name, dense, given.sparse_vectors or {})


def _index(engine: EdgeClient, name: str, body: bytes) -> None:
    given = json.loads(body)
    engine.create_payload_index(name, given["field_name"], given["field_schema"])


def _upsert(engine: EdgeClient, name: str, body: bytes) -> None:
    given = models.PointsList.model_validate_json(body)
    engine.upsert(name, given.points, given.update_filter, given.update_mode)


def _set(engine: EdgeClient, name: str, body: bytes) -> None:
    given = models.SetPayload.model_validate_json(body)
    assert given.filter is not None
    engine.set_payload(name, given.payload, given.filter)


def _delete(engine: EdgeClient, name: str, body: bytes) -> None:
    given = _SELECTOR.validate_json(body)
    selector = given.filter if isinstance(given, models.FilterSelector) else given
    engine.delete(name, selector)


_WRITES = {
    "PUT ": _create,
    "PUT index": _index,
    "PUT points": _upsert,
    "POST points/payload": _set,
    "POST points/delete": _delete,
}


def _plain(points: list[Any]) -> list[Any]:
    return [point.model_dump(mode="json") for point in points]


def _retrieve(engine: EdgeClient, name: str, body: bytes) -> Any:
    given = models.PointRequest.model_validate_json(body)
    ids = [str(one) for one in given.ids]
    return _plain(engine.retrieve(name, ids, given.with_payload, bool(given.with_vector)))


def _scroll(engine: EdgeClient, name: str, body: bytes) -> Any:
    given = models.ScrollRequest.model_validate_json(body)
    where = given.filter or models.Filter()
    points, following = engine.scroll(
        name, where, given.limit or 10, given.offset, given.with_payload
    )
    return {"points": _plain(points), "next_page_offset": following and str(following)}


def _count(engine: EdgeClient, name: str, body: bytes) -> Any:
    given = models.CountRequest.model_validate_json(body)
    return engine.count(name, given.filter, bool(given.exact)).model_dump()


def _facet(engine: EdgeClient, name: str, body: bytes) -> Any:
    given = models.FacetRequest.model_validate_json(body)
    where = given.filter or models.Filter()
    return engine.facet(name, given.key, where, given.limit or 10, bool(given.exact)).model_dump()


def _query(engine: EdgeClient, name: str, body: bytes) -> Any:
    given = models.QueryRequestBatch.model_validate_json(body)
    found = engine.query_batch_points(name, given.searches)
    return [one.model_dump(mode="json") for one in found]


_READS = {
    "POST points": _retrieve,
    "POST points/scroll": _scroll,
    "POST points/count": _count,
    "POST facet": _facet,
    "POST points/query/batch": _query,
}
