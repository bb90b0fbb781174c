"""Laws of filters in SQL: their results are those of filters in Python."""

from collections.abc import Iterator
from typing import get_args

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from spanwise.errors import FilterError
from spanwise.filters import (
    Comparison,
    Exists,
    Filter,
    Membership,
    Operator,
    check_filter,
    document_test,
    field,
    folded,
    known_fields,
)
from spanwise.stores.postgres.connections import Connection
from spanwise.stores.postgres.fields import insert_fields
from spanwise.stores.postgres.filters import matching_documents, read_kinds
from spanwise.stores.postgres.store import open_postgres
from spanwise.types import MetadataValue, Scalar

_NAMES = st.sampled_from(["a", "b", "Ä\x00"])
_TEXTS = st.text(alphabet="aAáﬁİß\x00\x10\x11 收0", max_size=3) | st.sampled_from(
    ["2019", "2019-02", "2019-02-01", "2019-02-01T10:00", "２０１９", "2019-1", "a" * 70, "a" * 71]
)
_NUMBERS = (
    st.integers(-2, 2)
    | st.sampled_from([2019, 2019.0, 2019.5, -0.0, 0.1, 5e-324, 1e308, 2**53 + 1, 10**399])
    | st.floats(allow_nan=False, allow_infinity=False)
)
_VALUES = _TEXTS | _NUMBERS | st.booleans()
_STORED: st.SearchStrategy[MetadataValue] = _VALUES | st.lists(_VALUES, max_size=3).map(tuple)
_LEAVES: st.SearchStrategy[Filter] = (
    st.builds(
        Comparison,
        name=_NAMES,
        operator=st.sampled_from(["=", "!=", "exactly"]),
        value=_VALUES | st.just("\ud800"),
    )
    | st.builds(
        Comparison,
        name=_NAMES,
        operator=st.sampled_from(["<", "<=", ">", ">="]),
        value=_TEXTS | _NUMBERS | st.just("\ud800"),
    )
    | st.builds(
        Comparison,
        name=_NAMES,
        operator=st.sampled_from(["contains", "starts with"]),
        value=_TEXTS.filter(folded),
    )
    | st.builds(Comparison, name=_NAMES, operator=st.just("contains"), value=_VALUES.filter(str))
    | st.builds(Exists, name=_NAMES | st.just("half \ud800"))
    | st.builds(
        Membership,
        name=_NAMES,
        values=st.lists(_VALUES, max_size=4).map(tuple),
        negated=st.booleans(),
    )
)


def _combined(children: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    pairs = st.tuples(children, children)
    return (
        pairs.map(lambda pair: pair[0] & pair[1])
        | pairs.map(lambda pair: pair[0] | pair[1])
        | children.map(lambda child: ~child)
    )


_FILTERS = st.recursive(_LEAVES, _combined, max_leaves=6)
_RECORDS = st.lists(st.dictionaries(_NAMES, _STORED, max_size=3), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def connection(postgres_url: str) -> Iterator[Connection]:
    """Return a connection to an empty knowledge base, inside a transaction."""
    store = open_postgres(f"{postgres_url}?schema=filters")
    with store.connections.writing() as connection:
        connection.execute("select setval('document_number', 1000)")
        yield connection
        connection.execute("rollback")
        connection.execute("begin")
    store.close()


def _insert(connection: Connection, records: list[dict[str, MetadataValue]]) -> None:
    """Replace all documents by documents that have nothing but these fields."""
    connection.execute("delete from document")
    connection.execute("delete from field")
    for number, record in enumerate(records):
        connection.execute(
            "insert into document select %s, '', %s, '', '', '', '', '{}', '', '', '', '', '', '',"
            " 0, 0, 0, 0, '', '', '', ''",
            (number, str(number)),
        )
        insert_fields(connection, number, record, tenant="")


ODD_VALUES: tuple[Scalar, ...] = (
    *("", "a", "A", "á", "ab", "a\x00", "a\x10", "0", "true", "收益", "a" * 70, "a" * 71),
    *("2019", "2019-02", "2019-02-01", "2019-02-01T10:00", "２０１９", "2020-01", "2019-1"),
    *(True, False, 0, 1, -0.0, 1.0, 1.5, 2019, 2019.0, 2020, 2019.5, 0.1, 5e-324, 1e308),
    *(2**53 + 1, float(2**53), 10**399, -(10**399)),
)


def test_every_operator_compares_every_pair_of_values(connection: Connection) -> None:
    """Texts, dates, numbers and booleans, alone and in lists, compare as in Python."""
    single: list[dict[str, MetadataValue]] = [{"a": value} for value in ODD_VALUES]
    listed: list[dict[str, MetadataValue]] = [
        {"a": pair} for pair in zip(ODD_VALUES, ODD_VALUES[5:], strict=False)
    ]
    records: list[dict[str, MetadataValue]] = [*single, *listed, {"a": ()}, {}]
    _insert(connection, records)
    for value in ODD_VALUES:
        for operator in get_args(Operator):
            try:
                where = Comparison(name="a", operator=operator, value=value)
            except FilterError:  # as an order of booleans
                continue
            test = document_test(where)
            expected = [number for number, record in enumerate(records) if test(record)]
            found = matching_documents(connection, where, is_checked=True)
            assert found.tolist() == expected, str(where)


@given(records=_RECORDS, filters=st.lists(_FILTERS, min_size=1, max_size=8))
@example(records=[{"a": ("x", 1)}, {"a": ()}], filters=[field("a") != "x", field("a").exists()])
@example(records=[{"a": "a\x10"}, {"a": "a\x000"}], filters=[field("a").contains("0")])
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_sql_selects_what_python_selects(
    connection: Connection, records: list[dict[str, MetadataValue]], filters: list[Filter]
) -> None:
    """Every filter selects the same documents in SQL and in Python."""
    _insert(connection, records)
    for where in filters:
        test = document_test(where)
        expected = [number for number, record in enumerate(records) if test(record)]
        found = matching_documents(connection, where, is_checked=True)
        assert found.tolist() == expected, str(where)


@given(records=_RECORDS, where=_FILTERS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_sql_knows_the_fields_and_their_kinds(
    connection: Connection, records: list[dict[str, MetadataValue]], where: Filter
) -> None:
    """A filter that does not fit the fields of the documents is refused with the same message."""
    _insert(connection, records)
    known = known_fields(records)
    assert read_kinds(connection) == known
    expected = ""
    try:
        check_filter(where, known)
    except FilterError as error:
        expected = str(error)
    try:
        matching_documents(connection, where)
        found = ""
    except FilterError as error:
        found = str(error)
    assert found == expected


def test_a_filter_with_many_parts_is_evaluated(connection: Connection) -> None:
    """A filter with thousands of comparisons selects the same documents."""
    records: list[dict[str, MetadataValue]] = [{"a": number} for number in range(20)]
    _insert(connection, records)
    where: Filter = field("a") == 0
    for number in range(2, 3_000, 2):
        where = where | (field("a") == number)
    connection.execute(
        "update document set metadata = json_build_object('a', number) where number < 20"
    )
    assert matching_documents(connection, where).tolist() == list(range(0, 20, 2))
