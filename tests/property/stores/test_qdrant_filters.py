"""Laws of filters as conditions of Qdrant: its engine selects what filters in Python select."""

from __future__ import annotations

from typing import get_args

from qdrant_client import models
from tests.property.stores.test_postgres_filters import ODD_VALUES
from tests.servers.qdrant_edge import edge_client

from spanwise.errors import FilterError
from spanwise.filters import Comparison, Filter, Membership, Operator, document_test, known_fields
from spanwise.stores.qdrant.fields import field_payload, payload_filter
from spanwise.types import MetadataValue


def test_every_operator_compares_every_pair_of_values() -> None:
    """A condition that is sent to Qdrant is exact; others are evaluated in Python."""
    records: list[dict[str, MetadataValue]] = [{"a": value} for value in ODD_VALUES]
    records += [{"a": pair} for pair in zip(ODD_VALUES, ODD_VALUES[5:], strict=False)]
    records += [{"a": ()}, {}]
    filters: list[Filter] = [
        Membership(name="a", values=ODD_VALUES[at : at + 3], negated=at % 2 == 0)
        for at in range(0, len(ODD_VALUES), 3)
    ]
    for value in ODD_VALUES:
        for operator in get_args(Operator):
            try:
                filters.append(Comparison(name="a", operator=operator, value=value))
            except FilterError:  # as an order of booleans
                continue
    kinds = known_fields(records)
    sent = 0
    with edge_client() as engine:
        engine.create_collection("a", {}, {})
        engine.upsert("a", [
            models.PointStruct(id=number, vector={}, payload=field_payload(record))
            for number, record in enumerate(records, 1)
        ])  # fmt: skip
        for where in [one for plain in filters for one in (plain, ~plain)]:
            condition = payload_filter(where, kinds)
            if condition is None:
                continue
            sent += 1
            test = document_test(where)
            expected = {str(n) for n, record in enumerate(records, 1) if test(record)}
            points, _ = engine.scroll("a", condition, 1_000, None, with_payload=False)
            assert {str(point.id) for point in points} == expected, str(where)
    assert sent > 200
