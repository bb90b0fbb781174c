"""Filters: what the tree and its text form accept, refuse and mean."""

import datetime
import re
from typing import Any

import pytest

from spanwise.errors import FilterError
from spanwise.filters import (
    MAX_FILTER_CHARS,
    MAX_FILTER_DEPTH,
    And,
    Comparison,
    Exists,
    Filter,
    Membership,
    Not,
    Or,
    check_filter,
    field,
    filter_fields,
    known_fields,
    matches,
    parse_filter,
    read_filter,
)
from spanwise.types import MetadataValue

YEAR = field("year") >= 2018


def test_python_and_text_give_the_same_tree() -> None:
    """The example of the design."""
    built = YEAR & field("company").is_in(["3M", "Apple"]) & ~(field("draft") == True)  # noqa: E712
    text = "year >= 2018 and company in (\"3M\", 'Apple') and not (draft = true)"
    assert parse_filter(text) == built


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1", field("a") == 1),
        ("a == 1", field("a") == 1),
        ("a!=-1.5e3", field("a") != -1500.0),
        ("a < 'x'", field("a") < "x"),
        ("a<=+2", field("a") <= 2),
        ("a > 2", field("a") > 2),
        ("a = FALSE", field("a") == False),  # noqa: E712
        ("`a b\\`` = 1", field("a b`") == 1),
        ("`and` exists", field("and").exists()),
        ("a-b.c_d exists", field("a-b.c_d").exists()),
        ("10-K exists", field("10-K").exists()),
        ("a NOT IN (1, 'b')", field("a").not_in([1, "b"])),
        ("a in ()", field("a").is_in([])),
        ("a contains 'x'", field("a").contains("x")),
        ("'x' in a", field("a").contains("x")),
        ("3 IN a", field("a").contains(3)),
        ("true in `b c`", field("b c").contains(True)),
        ("'x' not in a", field("a").exists() & ~field("a").contains("x")),
        ("3 in (1, 3)", field("3").is_in([1, 3])),
        ("a STARTS  WITH 'x'", field("a").starts_with("x")),
        ("a exactly 'X'", field("a").exactly("X")),
        ("contains contains 'x'", field("contains").contains("x")),
        ("a >= 2019-02-01", field("a") >= datetime.date(2019, 2, 1)),
        ("a < 2019-02", field("a") < "2019-02"),
        ("2019-02-01 in a", field("a").contains(datetime.date(2019, 2, 1))),
        ("a in (2019-02, 2020)", field("a").is_in(["2019-02", 2020])),
        (r"a = 'it\'s \"\n\\'", field("a") == "it's \"\n\\"),
        ("((a = 1))", field("a") == 1),
        ("not not a = 1", ~~(field("a") == 1)),
        ("a = 1 and (b = 2 and c = 3)", (field("a") == 1) & (field("b") == 2) & (field("c") == 3)),
        (
            "a = 1 or b = 2 and not c = 3",
            (field("a") == 1) | ((field("b") == 2) & ~(field("c") == 3)),
        ),
    ],
)
def test_text_is_read(text: str, expected: Filter) -> None:
    """Operators, values, names and binding."""
    assert parse_filter(text) == expected
    assert parse_filter(str(expected)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at character 0: expected the name of a field"),
        ("  ", "at character 2: expected the name of a field"),
        ("a", "at character 1: expected one of ="),
        ("a = ", "at character 4: expected a value"),
        ("a = b", "at character 4: expected a value: a text in quotes"),
        ("a = 12abc", "at character 4: expected a value"),
        ("a = 1 2", "at character 6: expected `and`, `or` or the end, found '2'"),
        ("a = 1 and", "at character 9: expected the name"),
        ("(a = 1", "at character 6: expected `)`, found the end"),
        ("a in 3", "at character 5: expected `(`"),
        ("a in (1 2)", "at character 8: expected `,` or `)`"),
        ("a in (1,)", "at character 8: expected a value"),
        ("a not 3", "at character 6: expected `in`"),
        ("a starts 'x'", "at character 9: expected `with`"),
        ("'x' = a", "at character 4: expected `in` or `not in` between a value and a field"),
        ("'x' in 'y'", "at character 7: expected the name of a field"),
        ("a > 2019-02-30", "at character 4: expected a date that exists"),
        ("a > 2019-13", "at character 4: expected a date that exists"),
        ("`` = 1", "at character 0: expected a name between"),
        ("and = 1", "at character 0: expected the name of a field (in backquotes"),
        ('a = "x', 'at character 4: expected the closing quote of "'),
        (r"a = '\q'", "at character 5: expected one of"),
        ("a = 1e999", "at character 4: expected a number below"),
        ("true > 1", "at character 0"),
    ],
)
def test_unreadable_text_is_refused_with_its_place(text: str, message: str) -> None:
    """The message says where and what was expected."""
    with pytest.raises(FilterError, match=re.escape(message)):
        parse_filter(text)


def test_long_text_is_refused() -> None:
    """A text beyond the limit is not even looked at."""
    with pytest.raises(FilterError, match=f"give at most {MAX_FILTER_CHARS}"):
        parse_filter(" " * (MAX_FILTER_CHARS + 1))


@pytest.mark.parametrize("opening", ["(", "not ", "not ("])
def test_deep_text_is_refused(opening: str) -> None:
    """Nesting ends before Python's stack does."""
    with pytest.raises(FilterError):
        parse_filter(opening * 3000 + "a = 1")


def test_the_deepest_tree_is_read_back() -> None:
    """The limit of the text admits every tree."""
    tree: Filter = YEAR
    for _ in range(MAX_FILTER_DEPTH - 1):
        tree = ~tree
    assert parse_filter(str(tree)) == tree
    with pytest.raises(FilterError, match="flatter"):
        _ = ~tree
    with pytest.raises(FilterError, match="flatter"):
        _ = tree & YEAR


def test_wide_trees_are_no_deep_trees() -> None:
    """A thousand alternatives stand side by side."""
    tree: Filter = YEAR
    for year in range(1000):
        tree = tree | (field("year") == year)
    assert isinstance(tree, Or)
    assert len(tree.parts) == 1001


@pytest.mark.parametrize(
    "value", [None, float("nan"), float("inf"), b"x", [1], field("b"), 1j, YEAR]
)
def test_other_values_are_refused(value: object) -> None:
    """Only texts, finite numbers and booleans are compared."""
    with pytest.raises(FilterError, match="give a text, a finite number"):
        _ = field("a") == value


def test_values_of_derived_classes_become_plain() -> None:
    """The canonical text never shows a class of the caller."""

    class Loud(str):
        __slots__ = ()

        def __str__(self) -> str:
            return "loud"

    class Number(float):
        def __repr__(self) -> str:
            return "Number"

    assert str(field("a") == Loud("x")) == 'a = "x"'
    assert str(field("a") == Number(2.5)) == "a = 2.5"


def test_a_filter_has_no_truth_value() -> None:
    """`and`, `or`, `not` and chains would drop half of it in silence."""
    with pytest.raises(FilterError, match="combine filters by &"):
        _ = YEAR and field("b") > 1
    with pytest.raises(FilterError, match="combine filters by &"):
        _ = not field("a")
    with pytest.raises(FilterError, match="combine filters by &"):
        _ = 1 < field("a") <= 3


def test_combining_with_something_else_is_refused() -> None:
    """`year >= 2018 & other` binds wrongly in Python, and says so."""
    with pytest.raises(FilterError, match="put each comparison in parentheses"):
        _ = field("year") >= 2018 & YEAR
    with pytest.raises(FilterError, match="put each comparison in parentheses"):
        _ = YEAR & True  # type: ignore[operator]
    with pytest.raises(FilterError, match="put each comparison in parentheses"):
        Not(part=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("where", [True, 5, ["year = 1"], field("title")])
def test_what_is_no_filter_is_named(where: Any) -> None:
    with pytest.raises(FilterError, match="the filter is") as refusal:
        read_filter(where)
    assert "combined" not in str(refusal.value)


def test_impossible_nodes_are_refused() -> None:
    """Nodes made by hand keep the rules of the canonical form."""
    with pytest.raises(FilterError, match="two or more"):
        And(parts=(YEAR,))
    with pytest.raises(FilterError, match="none of them of type Or"):
        Or(parts=(YEAR, YEAR | YEAR))
    with pytest.raises(FilterError, match="unknown operator"):
        Comparison(name="a", operator="~", value=1)  # type: ignore[arg-type]
    with pytest.raises(FilterError, match="give a text that is not empty"):
        Exists(name="")
    with pytest.raises(FilterError, match="give a list"):
        field("a").is_in("3M")
    with pytest.raises(FilterError, match="by == and != only"):
        _ = field("a") < True


def test_one_is_not_true() -> None:
    """Python takes 1 and True for equal; filters do not."""
    assert (field("a") == 1) != (field("a") == True)  # noqa: E712
    assert field("a").is_in([1]) != field("a").is_in([True])
    assert hash(field("a") == 1) == hash(field("a") == 1.0)
    assert not matches(field("a") == 1, {"a": True})
    assert not matches(field("a").is_in([0]), {"a": False})


def test_impossible_comparisons_are_refused() -> None:
    """An empty text is part of every text, and a number does not start with a text."""
    for text in ("", "\u0301"):
        with pytest.raises(FilterError, match="empty text"):
            field("a").contains(text)
        with pytest.raises(FilterError, match="empty text"):
            field("a").starts_with(text)
    with pytest.raises(FilterError, match="give a text"):
        field("a").starts_with(3)  # type: ignore[arg-type]
    with pytest.raises(FilterError, match=r"field\(...\).contains\('nda'\)"):
        _ = "nda" in field("tags")


def test_a_mapping_is_a_filter_on_equality() -> None:
    """A list accepts any of its values; an empty mapping is no filter."""
    where = read_filter(
        {"company": "nike", "year": [2018, 2019], "signed": datetime.date(2020, 1, 2)}
    )
    assert where == parse_filter(
        "company = 'nike' and year in (2018, 2019) and signed = '2020-01-02'"
    )
    assert read_filter({}) is read_filter("") is read_filter(None) is None
    wrong: tuple[object, ...] = ({"a": None}, {"a": {"b": 1}}, {"a": [None]}, {1: 2}, 5, ["a = 1"])
    for given in wrong:
        with pytest.raises(FilterError):
            read_filter(given)  # type: ignore[arg-type]


METADATA: dict[str, MetadataValue] = {
    "year": 2018,
    "price": 1.5,
    "name": "Apfel",
    "draft": False,
    "company": "NIKE, Inc.",
    "city": "Zürich",
    "tags": ("NDA", "Élan", 3),
    "none": (),
    "signed": "2019-02-28",
    "sent": "2019-02-28T10:30:00Z",
    "kana": "ガ",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("year = 2018.0", True),
        ("year != 2018", False),
        ("year < 2018", False),
        ("year <= 2018 and price > 1", True),
        ("year = '2018'", False),
        ("year != '2018'", True),
        ("year < '3'", False),
        ("name < 'B'", True),
        ("name in ('Birne', 'Apfel')", True),
        ("name in ()", False),
        ("name not in ()", True),
        ("name not in ('Apfel')", False),
        ("draft = false", True),
        ("draft = 0", False),
        ("draft exists", True),
        ("other exists", False),
        ("not other exists", True),
        ("other != 1", False),
        ("other not in (1)", False),
        ("not (other = 1)", True),
        ("other = 1 or year = 2018", True),
        ("company = 'nike, inc.'", True),
        ("company != 'nike, inc.'", False),
        ("company in ('x', 'Nike, INC.')", True),
        ("company not in ('x', 'Nike, INC.')", False),
        ("company exactly 'nike, inc.'", False),
        ("company exactly 'NIKE, Inc.'", True),
        ("company contains 'ike'", True),
        ("company contains 'nike inc'", False),
        ("company starts with 'nike'", True),
        ("company starts with 'inc'", False),
        ("company < 'oslo'", True),
        ("company > 'MARS'", True),
        ("city = 'ZURICH'", True),
        ("city = 'zürich'", True),
        ("city contains 'ZÜR'", True),
        ("city exactly 'Zurich'", False),
        ("kana = 'カ'", False),
        ("tags = 'nda'", True),
        ("'nda' in tags", True),
        ("'nd' in tags", False),
        ("tags starts with 'el'", True),
        ("tags exactly 'nda'", False),
        ("tags exactly 'NDA'", True),
        ("3 in tags", True),
        ("tags != 'msa'", True),
        ("tags != 'nda'", False),
        ("'nda' not in tags", False),
        ("'msa' not in tags", True),
        ("'msa' not in other", False),
        ("tags in ('msa', 'nda')", True),
        ("tags > 2", True),
        ("none exists", True),
        ("none = 1", False),
        ("none != 1", True),
        ("year = 2018 and 2018 in year", True),
        ("signed = 2019-02", True),
        ("signed = 2019", True),
        ("signed != 2019", False),
        ("signed >= 2019-02-28", True),
        ("signed > 2019-02", False),
        ("signed <= 2019-02", True),
        ("signed < 2019-02", False),
        ("signed < 2020", True),
        ("signed > 2018", True),
        ("signed in (2017, 2019)", True),
        ("signed exactly '2019-02'", False),
        ("sent = 2019-02-28", True),
        ("sent <= 2019-02-28", True),
        ("sent < 2019-03-01", True),
    ],
)
def test_what_a_filter_means(text: str, expected: bool) -> None:
    """Kinds, missing fields and inversion."""
    assert matches(parse_filter(text), METADATA) is expected


_SOME = ("year", "price", "name", "draft")
FIELDS = known_fields([{name: METADATA[name] for name in _SOME}, {"year": "unknown"}, {}])


def test_known_fields_are_listed_by_name_with_their_kinds() -> None:
    """Whole and decimal numbers are one kind, booleans another."""
    assert list(FIELDS) == ["draft", "name", "price", "year"]
    assert FIELDS["year"] == {"number", "text"}
    assert FIELDS["price"] == {"number"}
    assert FIELDS["draft"] == {"boolean"}


def test_an_unknown_field_is_named_with_the_known_ones_closest_first() -> None:
    """A slip of the pen is seen at once."""
    with pytest.raises(FilterError, match=r"unknown field 'Yaer' in `Yaer > 1`.*first: year, "):
        check_filter((field("name") == "x") | ~(field("Yaer") > 1), FIELDS)
    with pytest.raises(FilterError, match="no document has any metadata"):
        check_filter(field("a").exists(), {})
    many = {f"field{number}": frozenset({"text"}) for number in range(30)}
    with pytest.raises(FilterError, match=r"field5, .* and 20 more"):
        check_filter(field("field-5").exists(), many)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["price = '1'", "draft = 1", "name in ('a', 2)", "name > 3"])
def test_a_kind_that_the_field_never_has_is_refused(text: str) -> None:
    """The field, what it holds and the comparison are named."""
    with pytest.raises(FilterError, match=re.escape(f"`{parse_filter(text)}` compares it with")):
        check_filter(parse_filter(text), FIELDS)


def test_a_field_without_any_usable_value_is_known() -> None:
    """Such as an empty list; every comparison finds nothing."""
    fields = known_fields([{"odd": float("nan"), "empty": ()}])
    check_filter(field("odd").exists(), fields)
    check_filter(field("odd") > 1, fields)
    check_filter(field("empty").contains("nda"), fields)
    assert not matches(field("odd") > 1, {"odd": float("nan")})


def test_dates_and_lists_have_kinds() -> None:
    """A date is compared with texts and years; a list has the kinds of its items."""
    fields = known_fields([METADATA])
    assert fields["signed"] == {"date"}
    assert fields["tags"] == {"text", "number"}
    check_filter(parse_filter("signed < 2020 and signed >= '2019' and 'nda' in tags"), fields)
    for text in ("signed < 3", "signed = true", "'nda' in year", "name = 2018", "true in tags"):
        with pytest.raises(FilterError, match="compares it with"):
            check_filter(parse_filter(text), fields)


def test_kinds_that_the_field_has_are_accepted() -> None:
    """A field may hold several kinds."""
    check_filter(parse_filter("year = 'unknown' or year > 3 or year in ('a', 1)"), FIELDS)
    check_filter(parse_filter("draft != true and name exists"), FIELDS)


def test_membership_in_nothing_is_a_filter() -> None:
    """An empty list from a program is no error."""
    assert field("a").is_in(()) == Membership(name="a", values=())


def test_fields_of_a_document_are_its_metadata_and_what_it_knows_itself() -> None:
    """Title, language and status can be asked for; metadata of these names goes before them."""
    fields = filter_fields({"year": 2018}, title="Tides", language="", status="ok")
    assert fields == {"year": 2018, "title": "Tides", "status": "ok"}
    fields = filter_fields({"language": "de"}, title="", language="en", status="")
    assert fields == {"language": "de"}
