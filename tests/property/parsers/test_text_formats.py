"""Laws of the parsers of formats that are text: what stands stays, and nothing is lost."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from spanwise.errors import ParseError
from spanwise.parsers.code import parse_code
from spanwise.parsers.csv_table import parse_csv
from spanwise.parsers.json_records import parse_json
from spanwise.parsers.markup.lightweight_markup import parse_asciidoc, parse_restructuredtext
from spanwise.parsers.parsed import Parsed, Source
from spanwise.testing.parsers import check_document

LAW = settings(max_examples=50, deadline=None)  # imports are slow on the first example
PIECES = {
    "a.rst": "Title|=====|-----|text|  x|.. code::|.. note::|text::|+---+|| a ||=== ===|..||",
    "a.adoc": "= Title|== Part|Title|-----|----|....|====|[[id]]|:a: b|{a}|text|```||",
    "a.py": 'class A:|    def f(self):|def g(): pass|# why|@x|    x = \'|(|"""|    pass|é||',
    "a.ts": "export class A {|f() {|}|/** why|*/|const g = () => {|namespace N {|'|`|||",
}
PARSERS: dict[str, Callable[[Source], Parsed]] = {
    "a.rst": parse_restructuredtext,
    "a.adoc": parse_asciidoc,
    "a.py": parse_code,
    "a.ts": parse_code,
}
CELLS = st.text(st.sampled_from("ab1 ,;\"'\n|é"), max_size=6)


@pytest.mark.parametrize("name", sorted(PARSERS))
@LAW
@given(data=st.data())
def test_text_is_the_source(name: str, data: st.DataObject) -> None:
    """Headings and blocks are inside it, in order, on whole lines."""
    pieces = st.sampled_from(PIECES[name].split("|"))
    source = "\n".join(data.draw(st.lists(pieces, min_size=1)))
    assume(source.strip())
    parsed = PARSERS[name](Source(data=source.encode(), name=name))
    assert parsed.text == source
    check_document(parsed)


def attempt(parse: Callable[[Source], Parsed], text: str) -> Parsed | None:
    """Return the document, None where there is no text in it; nothing else may be raised."""
    try:
        parsed = parse(Source(data=text.encode(), name="a"))
    except ParseError as error:
        if error.code != "no_text":
            raise
        return None
    check_document(parsed)
    return parsed


def words(text: str) -> list[str]:
    return sorted(re.findall(r"\w", text))


@LAW
@given(st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=1, max_size=6))
@example([["a", "b"], ['"', "1"], ["x", "y"]])
@example([[" "], ["\n"]])
def test_cells_are_kept(rows: list[list[str]]) -> None:
    """Every letter of every cell is in the text, as often as in the file or more often."""
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    parsed = attempt(parse_csv, written.getvalue())
    found = words(parsed.text if parsed else "")
    wanted = words(written.getvalue())
    assert all(found.count(word) >= wanted.count(word) for word in wanted)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from("ab é\n\x00{"), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=12,
)


@LAW
@given(VALUES)
def test_values_are_kept(value: object) -> None:
    """Every text of a value is in the text, whatever it is nested in."""
    parsed = attempt(parse_json, json.dumps(value))
    text = parsed.text if parsed else ""
    pending = [value]
    while pending:
        found = pending.pop()
        if isinstance(found, dict):
            pending += found.values()
        elif isinstance(found, list):
            pending += found
        elif isinstance(found, str):
            assert found.strip() in text
        elif isinstance(found, int) and not isinstance(found, bool):
            assert str(found) in text


@LAW
@given(st.text(st.sampled_from('{}[]",:ab1\\u\n'), max_size=40))
def test_any_json_is_told_or_refused(text: str) -> None:
    """No other exception leaves the parser; what is no JSON stands as it is."""
    parsed = attempt(parse_json, text)
    assert parsed is not None or not re.search(r"[ab1]", text)
