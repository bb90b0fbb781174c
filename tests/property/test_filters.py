"""Laws of filters."""

from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.errors import FilterError
from spanwise.filters import (
    Comparison,
    Exists,
    Filter,
    Membership,
    check_filter,
    known_fields,
    matches,
    parse_filter,
)

NAMES = st.sampled_from(["year", "a b", "not", "`", "x.y-z", "\\", "İ", "\n"]) | st.text(min_size=1)
VALUES = (
    st.text()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["true", '"', "\\", "\r\n", "'", "\\n"])
)
ORDERED = st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
COMPARISONS: st.SearchStrategy[Filter] = st.builds(
    Comparison, name=NAMES, operator=st.sampled_from(["=", "!="]), value=VALUES
) | st.builds(
    Comparison, name=NAMES, operator=st.sampled_from(["<", "<=", ">", ">="]), value=ORDERED
)
LEAVES: st.SearchStrategy[Filter] = (
    COMPARISONS
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
METADATA = st.dictionaries(NAMES, VALUES, max_size=5)


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
    first: Filter, second: Filter, metadata: dict[str, str | int | float | bool]
) -> None:
    """`&`, `|` and `~` are and, or and not of the meanings."""
    left, right = matches(first, metadata), matches(second, metadata)
    assert matches(first & second, metadata) == (left and right)
    assert matches(first | second, metadata) == (left or right)
    assert matches(~first, metadata) != left


@given(leaf=LEAVES, metadata=METADATA)
@settings(max_examples=100)
def test_a_document_without_the_field_meets_nothing(
    leaf: Filter, metadata: dict[str, str | int | float | bool]
) -> None:
    """Neither a comparison nor its opposite holds of what is not there."""
    assert isinstance(leaf, Comparison | Membership | Exists)
    metadata = {name: value for name, value in metadata.items() if name != leaf.name}
    assert not matches(leaf, metadata)


@given(name=NAMES, value=VALUES, other=VALUES)
@settings(max_examples=100)
def test_a_field_is_equal_or_not_equal(
    name: str, value: str | float | bool, other: str | float | bool
) -> None:
    """Of a document with the field, exactly one of `=` and `!=`, of `in` and `not in` holds."""
    metadata = {name: value}
    equal = Comparison(name=name, operator="=", value=other)
    different = Comparison(name=name, operator="!=", value=other)
    assert matches(equal, metadata) != matches(different, metadata)
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
