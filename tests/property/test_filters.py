"""Laws of filters."""

import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.errors import FilterError
from spanwise.filters import (
    Comparison,
    Exists,
    Filter,
    Membership,
    check_filter,
    field,
    folded,
    known_fields,
    matches,
    parse_filter,
    read_filter,
)
from spanwise.types import MetadataValue

_ODD_NAMES = ["contains", "starts", "2019-02", "3", "`", "x.y-z", "\\", "İ", "\n"]
NAMES = st.sampled_from(["year", "a b", "not", *_ODD_NAMES]) | st.text(min_size=1)
_ODD_TEXTS = ["true", '"', "\\", "\r\n", "'", "\\n", "Café", "CAFE", "2019-02-01", "2019-02"]
VALUES = (
    st.text()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(_ODD_TEXTS)
)
STORED: st.SearchStrategy[MetadataValue] = VALUES | st.lists(VALUES, max_size=3).map(tuple)
ORDERED = st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
COMPARISONS: st.SearchStrategy[Filter] = st.builds(
    Comparison, name=NAMES, operator=st.sampled_from(["=", "!=", "exactly"]), value=VALUES
) | st.builds(
    Comparison, name=NAMES, operator=st.sampled_from(["<", "<=", ">", ">="]), value=ORDERED
)
LEAVES: st.SearchStrategy[Filter] = (
    COMPARISONS
    | st.builds(
        Comparison,
        name=NAMES,
        operator=st.sampled_from(["contains", "starts with"]),
        value=st.text().filter(folded),
    )
    | st.builds(Exists, name=NAMES)
    | st.builds(
        Membership,
        name=NAMES,
        values=st.lists(VALUES, max_size=4).map(tuple),
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


FILTERS = st.recursive(LEAVES, _combined, max_leaves=8)
METADATA = st.dictionaries(NAMES, STORED, max_size=5)


@given(where=FILTERS)
@settings(max_examples=100)
def test_the_canonical_text_reads_back_to_an_equal_tree(where: Filter) -> None:
    """`str` and `parse_filter` are inverse."""
    again = parse_filter(str(where))
    assert again == where
    assert str(again) == str(where)


@given(text=st.text() | st.text(alphabet="ab=<>!()'\"`\\ \n12.e-notrui,"))
@settings(max_examples=100)
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text makes another error than FilterError, and what is read has a canonical text."""
    try:
        where = parse_filter(text)
    except FilterError:
        return
    assert parse_filter(str(where)) == where


@given(first=FILTERS, second=FILTERS, metadata=METADATA)
@settings(max_examples=100)
def test_combinations_mean_what_logic_says(
    first: Filter, second: Filter, metadata: dict[str, MetadataValue]
) -> None:
    """`&`, `|` and `~` are and, or and not of the meanings."""
    left, right = matches(first, metadata), matches(second, metadata)
    assert matches(first & second, metadata) == (left and right)
    assert matches(first | second, metadata) == (left or right)
    assert matches(~first, metadata) != left


@given(leaf=LEAVES, metadata=METADATA)
@settings(max_examples=100)
def test_a_document_without_the_field_meets_nothing(
    leaf: Filter, metadata: dict[str, MetadataValue]
) -> None:
    """Neither a comparison nor its opposite holds of what is not there."""
    assert isinstance(leaf, Comparison | Membership | Exists)
    metadata = {name: value for name, value in metadata.items() if name != leaf.name}
    assert not matches(leaf, metadata)


@given(name=NAMES, value=STORED, other=VALUES)
@settings(max_examples=100)
def test_a_field_is_equal_or_not_equal(
    name: str, value: MetadataValue, other: str | float | bool
) -> None:
    """Of a document with the field, exactly one of `=` and `!=`, of `in` and `not in` holds."""
    metadata = {name: value}
    equal = Comparison(name=name, operator="=", value=other)
    different = Comparison(name=name, operator="!=", value=other)
    assert matches(equal, metadata) != matches(different, metadata)
    if not isinstance(value, tuple):
        exactly = Comparison(name=name, operator="exactly", value=other)
        assert not matches(exactly, metadata) or matches(equal, metadata)
    inside = Membership(name=name, values=(other,))
    assert matches(inside, metadata) == matches(equal, metadata)
    outside = Membership(name=name, values=(other,), negated=True)
    assert matches(outside, metadata) == matches(different, metadata)


@given(leaf=COMPARISONS)
@settings(max_examples=50)
def test_a_filter_on_values_that_exist_is_accepted(leaf: Filter) -> None:
    """A document that has the value makes the field and its kind known."""
    assert isinstance(leaf, Comparison)
    check_filter(leaf, known_fields([{leaf.name: leaf.value}]))


@given(value=ORDERED, other=ORDERED)
@settings(max_examples=200)
def test_values_of_one_kind_are_before_equal_or_after(
    value: str | float, other: str | float
) -> None:
    """Exactly one of `<`, `=` and `>` holds, also for partial dates and folded texts."""
    if isinstance(value, str) != isinstance(other, str):
        return
    results = [
        matches(Comparison(name="a", operator=operator, value=other), {"a": value})
        for operator in ("<", "=", ">")
    ]
    assert results.count(True) == 1


@given(text=st.text())
@settings(max_examples=100)
def test_case_and_accents_do_not_change_equality(text: str) -> None:
    """A text equals its upper-case, decomposed and accented forms."""
    for form in (
        text,
        text.casefold(),
        unicodedata.normalize("NFD", text),
        "".join(c + "\u0301" if c.isascii() and c.isalpha() else c for c in text),
    ):
        assert matches(field("a") == form, {"a": text}), form


@given(fields=st.dictionaries(NAMES, VALUES | st.lists(VALUES, max_size=3), min_size=1, max_size=4))
@settings(max_examples=100)
def test_a_mapping_means_equality_of_every_field(
    fields: dict[str, str | float | bool | list[str | float | bool]],
) -> None:
    """A mapping gives the tree of `==` and `is_in`, combined by `&`."""
    tree = read_filter(fields)
    assert tree is not None
    parts = [
        field(name).is_in(value) if isinstance(value, list) else field(name) == value
        for name, value in fields.items()
    ]
    assert tree == (read_filter(" and ".join(map(str, parts))))
