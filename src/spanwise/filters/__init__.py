"""Filters on the metadata of documents, built in Python or parsed from text.

::

    (field("year") >= 2018) & field("company").is_in(["3M", "Apple"])
    parse_filter('year >= 2018 and company in ("3M", "Apple")')

Rules:
    Both forms give the same tree. `str` of a tree is its canonical text, which parses to an equal
    tree.
    Integers and floats are one kind. Booleans are not numbers and have no order.
    A document without the field matches no comparison, including `!=` and `not in`; `~` inverts
    that.
    Values of different kinds are never equal and have no order.
    Texts compare by code point, so ISO 8601 dates compare in time order.
"""

from spanwise.filters.matcher import check_filter, filter_fields, known_fields, matches
from spanwise.filters.text import MAX_FILTER_CHARS, parse_filter
from spanwise.filters.tree import (
    MAX_FILTER_DEPTH,
    MAX_FILTER_PARTS,
    And,
    Comparison,
    Exists,
    Field,
    Filter,
    Kind,
    Membership,
    Not,
    Operator,
    Or,
    field,
)

__all__ = [
    "MAX_FILTER_CHARS",
    "MAX_FILTER_DEPTH",
    "MAX_FILTER_PARTS",
    "And",
    "Comparison",
    "Exists",
    "Field",
    "Filter",
    "Kind",
    "Membership",
    "Not",
    "Operator",
    "Or",
    "check_filter",
    "field",
    "filter_fields",
    "known_fields",
    "matches",
    "parse_filter",
]
