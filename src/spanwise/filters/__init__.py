"""Filters on the metadata of documents: a typed tree, made in Python or read from text.

::

    (field("year") >= 2018) & field("company").is_in(["3M", "Apple"])
    parse_filter('year >= 2018 and company in ("3M", "Apple")')

Rules:
    Both give the same tree; its `str` is the canonical text, which parses back to an equal tree.
    Whole and decimal numbers are one kind; booleans are no numbers and have no order.
    A document without the field meets no comparison, `!=` and `not in` among them; `~` inverts.
    Values of different kinds are never equal, and never in order.
    Texts compare by code point, so ISO 8601 dates compare in time order.
"""

from spanwise.filters.checks import check_filter, filter_fields, known_fields, matches
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
