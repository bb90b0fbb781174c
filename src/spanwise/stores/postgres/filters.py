"""Filters on the metadata of documents, as conditions in SQL.

Rules:
    The result of a filter is that of `filters.document_test`, for every record and filter.
    A statement is composed of constants of this module; all names and values of a filter are
        parameters.
    A leaf of a filter is a set of document numbers, read from the table `field`.
    A filter with many leaves is evaluated in Python, because PostgreSQL plans each leaf.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args

import numpy as np
from psycopg import sql

from spanwise.errors import FilterError
from spanwise.filters import (
    And,
    Comparison,
    Exists,
    FieldKind,
    Filter,
    Membership,
    Not,
    Or,
    document_test,
    filter_fields,
    folded,
    leaves,
)
from spanwise.filters.values import is_date, year_text
from spanwise.stores.document_values import read_fields
from spanwise.stores.entries import check_known
from spanwise.stores.postgres.fields import number_text, read_former_fields
from spanwise.stores.postgres.values import byte_strings, texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.stores.postgres.connections import Connection
    from spanwise.types import Scalar

_MAX_LEAVES = 100
_HEAD_BYTES = 64  # length of the texts in the index `field_text`
_KINDS: tuple[FieldKind, ...] = get_args(FieldKind)
_ORDERS = {"<": sql.SQL("<"), "<=": sql.SQL("<="), ">": sql.SQL(">"), ">=": sql.SQL(">=")}


class Condition(NamedTuple):
    """Condition in SQL with its parameters, in order."""

    text: sql.Composable
    parameters: tuple[Any, ...] = ()


def _joined(word: sql.SQL, conditions: Sequence[Condition]) -> Condition:
    inner = word.join([condition.text for condition in conditions])
    parameters = [value for condition in conditions for value in condition.parameters]
    return Condition(sql.SQL("({})").format(inner), tuple(parameters))


_FALSE = Condition(sql.SQL("false"))
_AND, _OR = sql.SQL(" and "), sql.SQL(" or ")


def _any(conditions: Sequence[Condition]) -> Condition:
    return _joined(_OR, conditions) if conditions else _FALSE


def _encoded(text: str) -> bytes:
    """Return a text as bytes; no stored text has the lone surrogates that a filter may have."""
    return text.encode(errors="surrogatepass")


def document_condition(where: Filter) -> Condition:
    """Return the condition on rows of the table `document` for a filter."""
    if isinstance(where, And | Or):
        parts = [document_condition(part) for part in where.parts]
        return _joined(_AND if isinstance(where, And) else _OR, parts)
    if isinstance(where, Not):
        inner = document_condition(where.part)
        return Condition(sql.SQL("(not {})").format(inner.text), inner.parameters)
    try:
        where.name.encode()
    except UnicodeEncodeError:  # lone surrogate: no field has such a name
        return _FALSE
    has_field = _documents_with(where.name, None)
    if isinstance(where, Exists):
        return has_field
    item, is_negated = _leaf_condition(where)
    found = _documents_with(where.name, item)
    if not is_negated:
        return found
    return Condition(
        sql.SQL("({} and not {})").format(has_field.text, found.text),
        (*has_field.parameters, *found.parameters),
    )


def _documents_with(name: str, item: Condition | None) -> Condition:
    """Return the condition for documents with a field, one of whose items meets a condition."""
    text = sql.SQL("number in (select document from field where name = %s{})")
    if item is None:
        return Condition(text.format(sql.SQL("")), (name,))
    return Condition(text.format(sql.SQL(" and {}").format(item.text)), (name, *item.parameters))


def _leaf_condition(leaf: Comparison | Membership) -> tuple[Condition, bool]:
    """Return the condition on an item of a field, and whether no item may meet it."""
    if isinstance(leaf, Membership):
        return _equality(leaf.values), leaf.negated
    if leaf.operator in _ORDERS:
        return _order(_ORDERS[leaf.operator], leaf.value), False
    if leaf.operator == "exactly":
        return _exact(leaf.value), False
    if leaf.operator == "starts with":
        return _prefix(_encoded(folded(str(leaf.value)))), False
    if leaf.operator == "contains" and leaf.kind == "text":
        return _containment(str(leaf.value)), False
    return _equality((leaf.value,)), leaf.operator == "!="


def _containment(value: str) -> Condition:
    """Return the condition for texts that contain a text, and for items of lists that equal it."""
    equal = _equality((value,))
    return Condition(
        sql.SQL(
            "case when is_listed then {} else coalesce(position(%s in folded) > 0, false) end"
        ).format(equal.text),
        (*equal.parameters, _encoded(folded(value))),
    )


def _equality(values: Collection[Scalar]) -> Condition:
    """Return the condition for items that equal one of some values, see `filters`."""
    booleans = {value for value in values if isinstance(value, bool)}
    strings = {folded(value) for value in values if isinstance(value, str)}
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    dates = {text for text in strings if is_date(text)}
    dates |= {year for year in map(year_text, numbers) if year}
    conditions = []
    if strings:
        exact = sorted(map(_encoded, strings))
        heads = sorted({text[:_HEAD_BYTES] for text in exact})
        conditions.append(
            Condition(
                sql.SQL(
                    "(substring(folded from 1 for 64) = any(%s::bytea[])"
                    " and folded = any(%s::bytea[]))"
                ),
                (byte_strings(heads), byte_strings(exact)),
            )
        )
    if numbers:
        listed = texts(sorted(map(number_text, numbers)))
        conditions.append(Condition(sql.SQL("number = any(%s::text[]::numeric[])"), (listed,)))
    if booleans:
        listed = texts(sorted("true" if value else "false" for value in booleans))
        conditions.append(Condition(sql.SQL("truth = any(%s::text[]::boolean[])"), (listed,)))
    by_length: dict[int, list[bytes]] = defaultdict(list)
    for date in sorted(dates):
        by_length[len(date)].append(date.encode())
    conditions += [
        Condition(
            sql.SQL("(is_date and substring(folded from 1 for %s) = any(%s::bytea[]))"),
            (length, byte_strings(listed_dates)),
        )
        for length, listed_dates in by_length.items()
    ]
    return _any(conditions)


def _exact(value: Scalar) -> Condition:
    """Return the condition for items that have a value, including case and accents."""
    if isinstance(value, bool):
        return Condition(sql.SQL("truth = %s"), (value,))
    if isinstance(value, str):
        return Condition(sql.SQL("exact = %s"), (_encoded(value),))
    return Condition(sql.SQL("number = %s::text::numeric"), (number_text(value),))


def _prefix(start: bytes) -> Condition:
    """Return the condition for texts that start with a folded text."""
    return Condition(sql.SQL("substring(folded from 1 for %s) = %s"), (len(start), start))


def _order(operator: sql.SQL, wanted: Scalar) -> Condition:
    """Return the condition for items before or after a value, see `filters`."""
    is_text = isinstance(wanted, str)
    limit = folded(wanted) if isinstance(wanted, str) else year_text(wanted)
    encoded = _encoded(limit)
    conditions = []
    if not isinstance(wanted, str):
        text = sql.SQL("number {} %s::text::numeric").format(operator)
        conditions.append(Condition(text, (number_text(wanted),)))
    if is_date(limit):
        text = sql.SQL("(is_date and substring(folded from 1 for %s) {} %s)").format(operator)
        conditions.append(Condition(text, (len(encoded), encoded)))
        if is_text:
            text = sql.SQL("(not is_date and folded {} %s)").format(operator)
            conditions.append(Condition(text, (encoded,)))
    elif is_text:
        conditions.append(Condition(sql.SQL("folded {} %s").format(operator), (encoded,)))
    return _any(conditions)


def matching_documents(
    connection: Connection, where: Filter, *, is_checked: bool = False
) -> NDArray[np.int64]:
    """Return the numbers of the documents that match a filter, ascending.

    Args:
        connection: Connection inside a transaction.
        where: Filter.
        is_checked: Whether the filter has been checked against the fields of more documents.

    Raises:
        FilterError: If the filter is not checked and names a field that no document has or had, or
            compares a field with a value of another type.
    """
    if not is_checked:
        _check(connection, where)
    if sum(1 for _ in leaves(where)) > _MAX_LEAVES:
        return _evaluate(connection, where)
    condition = document_condition(where)
    rows = connection.execute(
        sql.SQL("select number from document where {} order by number").format(condition.text),
        condition.parameters,
        binary=True,
    ).fetchall()
    return np.fromiter((number for (number,) in rows), dtype=np.int64, count=len(rows))


def _evaluate(connection: Connection, where: Filter) -> NDArray[np.int64]:
    """Return the numbers of the documents that match a filter, which is evaluated in Python."""
    test = document_test(where)
    rows = connection.execute(
        "select number, metadata::text, title, language, status from document order by number"
    )
    numbers = [
        number
        for number, metadata, title, language, status in rows
        if test(filter_fields(read_fields(metadata), title=title, language=language, status=status))
    ]
    return np.array(numbers, dtype=np.int64)


def _check(connection: Connection, where: Filter) -> None:
    """Raise an error for a filter that does not fit the fields of the documents."""
    with suppress(FilterError):
        named = read_kinds(connection, sorted({leaf.name for leaf in leaves(where)}))
        check_known(where, named, former=frozenset)
        return
    # The message names all fields.
    check_known(where, read_kinds(connection), former=lambda: read_former_fields(connection))


def read_kinds(
    connection: Connection, names: Sequence[str] | None = None
) -> dict[str, frozenset[FieldKind]]:
    """Return the kinds of the values of fields that documents have, sorted by field.

    Args:
        connection: Connection inside a transaction.
        names: Names of fields; None for all.
    """
    if names is None:
        names = _read_names(connection)
    known = [name for name in names if name.isascii() or _is_encodable(name)]
    rows = connection.execute(
        "select wanted.name, kinds.kind from unnest(%s::text[]) as wanted (name),"
        " unnest(%s::text[]) as kinds (kind) where exists (select from field"
        " where field.name = wanted.name and field.kind = kinds.kind)",
        (texts(known), texts([*_KINDS, ""])),
    )
    found: dict[str, set[str]] = {}
    for name, kind in rows:
        found.setdefault(name, set()).add(kind)
    return {
        name: frozenset(cast("set[FieldKind]", kinds - {""}))
        for name, kinds in sorted(found.items())
    }


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read_names(connection: Connection) -> list[str]:
    """Return the names of all fields of documents."""
    # Loose index scan: jumps from one distinct name to the next in the index.
    rows = connection.execute(
        "with recursive found (name) as ((select min(name) from field) union all"
        " select (select min(field.name) from field where field.name > found.name) from found"
        " where found.name is not null) select name from found where name is not null"
    )
    return [name for (name,) in rows]
