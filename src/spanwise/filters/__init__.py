"""Filters on the metadata of documents, built in Python or parsed from text.

::

    (field("year") >= 2018) & field("company").is_in(["3M", "Apple"])
    parse_filter('year >= 2018 and company in ("3M", "Apple")')

Rules:
    Both forms give the same tree. `str` of a tree is its canonical text, which parses to an equal
    tree.
    Texts compare without case and accents, by code point after folding; only `exactly` compares
    them as they are.
    A date is a text in ISO 8601 form. A partial date means all of its days, and so does a
    year given as a number.
    A field with a list passes a comparison if one of its items does. For `!=` and `not in`, none of
    the items may be equal.
    Integers and floats are one kind. Booleans are not numbers and have no order.
    A document without the field matches no comparison, including `!=` and `not in`; `~` inverts
    that.
    Values of different kinds are never equal and have no order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from spanwise.errors import FilterError, shown
from spanwise.loading import lazy_names

if TYPE_CHECKING:
    from spanwise.filters.fields import (
        filter_fields,
        known_fields,
        record_fields,
    )
    from spanwise.filters.matching import (
        check_filter,
        document_test,
        matches,
        value_test,
    )
    from spanwise.filters.relaxation import (
        RelaxedFilter,
        relaxed_filters,
        relaxed_warning,
    )
    from spanwise.filters.suggestions import (
        no_match_message,
    )
    from spanwise.filters.text import (
        MAX_FILTER_CHARS,
        parse_filter,
    )
    from spanwise.filters.tree import (
        MAX_FILTER_DEPTH,
        MAX_FILTER_PARTS,
        And,
        Comparison,
        Exists,
        Field,
        Filter,
        Membership,
        Not,
        Operator,
        Or,
        Where,
        checked_filter,
        children,
        field,
        leaves,
        read_mapping,
    )
    from spanwise.filters.values import (
        MAX_DIGITS,
        FieldKind,
        Kind,
        folded,
        items_of,
        kind_of,
        single_values,
        value_key,
        value_texts,
    )


def read_filter(where: Where | None) -> Filter | None:
    """Return a filter given in any form; None for None, an empty text or an empty mapping.

    Raises:
        FilterError: If the text cannot be parsed, a value of the mapping cannot be compared, or the
            argument is something else.
    """
    if where is None:
        return None
    if isinstance(where, str):
        if not where:
            return None
        from spanwise.filters.text import parse_filter

        return parse_filter(where)
    from spanwise.filters.tree import Filter, read_mapping

    if isinstance(where, Mapping):
        return read_mapping(where)
    if not isinstance(where, Filter):
        raise FilterError(
            f"the filter is {shown(where)}; give a text ('year >= 2018'), a comparison "
            '(field("year") >= 2018) or a mapping ({"year": 2018})'
        )
    return where


__all__ = [
    "MAX_DIGITS",
    "MAX_FILTER_CHARS",
    "MAX_FILTER_DEPTH",
    "MAX_FILTER_PARTS",
    "And",
    "Comparison",
    "Exists",
    "Field",
    "FieldKind",
    "Filter",
    "Kind",
    "Membership",
    "Not",
    "Operator",
    "Or",
    "RelaxedFilter",
    "Where",
    "check_filter",
    "checked_filter",
    "children",
    "document_test",
    "field",
    "filter_fields",
    "folded",
    "items_of",
    "kind_of",
    "known_fields",
    "leaves",
    "matches",
    "no_match_message",
    "parse_filter",
    "read_filter",
    "read_mapping",
    "record_fields",
    "relaxed_filters",
    "relaxed_warning",
    "single_values",
    "value_key",
    "value_test",
    "value_texts",
]

_HOMES = {
    "MAX_DIGITS": "values",
    "MAX_FILTER_CHARS": "text",
    "MAX_FILTER_DEPTH": "tree",
    "MAX_FILTER_PARTS": "tree",
    "And": "tree",
    "Comparison": "tree",
    "Exists": "tree",
    "Field": "tree",
    "FieldKind": "values",
    "Filter": "tree",
    "Kind": "values",
    "Membership": "tree",
    "Not": "tree",
    "Operator": "tree",
    "Or": "tree",
    "RelaxedFilter": "relaxation",
    "Where": "tree",
    "check_filter": "matching",
    "checked_filter": "tree",
    "children": "tree",
    "document_test": "matching",
    "field": "tree",
    "filter_fields": "fields",
    "folded": "values",
    "items_of": "values",
    "kind_of": "values",
    "known_fields": "fields",
    "leaves": "tree",
    "matches": "matching",
    "no_match_message": "suggestions",
    "parse_filter": "text",
    "read_mapping": "tree",
    "record_fields": "fields",
    "relaxed_filters": "relaxation",
    "relaxed_warning": "relaxation",
    "single_values": "values",
    "value_key": "values",
    "value_test": "matching",
    "value_texts": "values",
}
"""Module of each name. Modules are loaded when they are used: most searches have no filter."""

__getattr__ = lazy_names(__name__, _HOMES)
