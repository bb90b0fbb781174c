"""HTML comes out as a reader sees it."""

from __future__ import annotations

import pytest

from spanwise.errors import ParseError
from spanwise.parsers.markup.html import parse_html
from spanwise.parsers.parsed import Parsed, Source


def parse(markup: str) -> Parsed:
    return parse_html(Source(data=markup.encode(), name="a.html"))


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<p>One\n two</p><p>three", "One two\n\nthree"),
        ("<div>one</div><div>two</div>", "one\ntwo"),
        ("a<br>b<br><br><br><br>c", "a\nb\n\nc"),
        ("a <b>b</b><i>c</i>&nbsp;d", "a bc d"),
        ("hy&shy;phen", "hyphen"),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>", "- a\n- b\n  - c\n- d"),
        ("<ol start=3><li>a<li>b</ol>", "3. a\n4. b"),
        ("<ul><li><p>a</p><p>b</p></li></ul>", "- a\nb"),
        ("<p>a</p><h2>H <em>i</em> ¶</h2>b", "a\n\nH i\n\nb"),
        ("<dl><dt>a<dd>b</dl>", "a\nb"),
        ("<nav>x</nav>a<aside>x</aside><script>x</script><style>x</style><footer>x</footer>", "a"),
        ("a<p aria-hidden=true>x</p><div role=complementary>x</div>", "a"),
        ("<div role=banner>x</div><main>a</main>", "a"),
        ("a<p hidden>x</p><p style='DISPLAY : none'>x</p><div role=navigation>x</div>", "a"),
        ("a<template>x</template><svg><text>x</text></svg><!-- x -->", "a"),
        ("<header>kept</header><p>a", "kept\n\na"),
        ("<header>x</header><main><header>kept</header>a</main>b", "kept\n\na\n\nb"),
        ("10<sup>6</sup> m<sup> 2 </sup>, 1<sup>st</sup>[<sup><a>3</a></sup>", "10⁶ m ² , 1st[³"),
        ("<math><mfrac><mn>1</mn><mn>2</mn></mfrac><annotation>x</annotation></math>", "1/2"),
        ("<ol type=a start=3><li>a<li value=9>b<li>c</ol>", "c. a\ni. b\nj. c"),
        ("<ol reversed type=I><li>a<li>b</ol>", "II. a\nI. b"),
        ("a<aside role=doc-footnote>n</aside><aside class='admonition tip'>m</aside>", "a\nn\nm"),
        ("a<aside class='sidebar related-notes'>x</aside>", "a"),
        ("<blockquote>q<footer>Ann</footer></blockquote><footer>x</footer>", "q\nAnn"),
        ("<h2>H<a href='#h'>\uf0c1</a><a href='#h'>#</a></h2><a href='#x'>1</a>", "H\n\n1"),
        ("<body style='display:none'>shown by a script", "shown by a script"),
    ],
)
def test_text_is_readable(markup: str, expected: str) -> None:
    """Blocks, lists and line breaks stand as they are shown; what is no content is gone."""
    assert parse(markup).text == expected


def test_headings_have_levels_and_stand_in_the_text() -> None:
    """A heading is a paragraph of its own."""
    parsed = parse("<h1>A</h1>text<h3> B <br>c </h3><h2></h2>")
    assert [(h.level, h.title) for h in parsed.headings] == [(1, "A"), (3, "B c")]
    assert all(parsed.text[h.start : h.end] == h.title for h in parsed.headings)


def test_heading_that_was_never_closed_is_text() -> None:
    """Otherwise it would hold the whole page."""
    parsed = parse("<h1>A<p>" + "many words " * 50)
    assert parsed.headings == ()
    assert parsed.text.startswith("A\n\nmany words")


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("<tr><th>a<th>b<tr><td>1<td>2", "a | b\n1 | 2"),
        ("<tr><td>a<td><td>c<tr><td>1<td>2<td>", "a |  | c\n1 | 2"),
        ("<tr><td>a<td><td>c<tr><td>1<td><td>3", "a | c\n1 | 3"),
        ("<tr><td rowspan=2>a<td>b<tr><td>c", "a | b\n | c"),
        ("<tr><td>a<td colspan=2>b<tr><td>c<td>d<td>e", "a | b\nc | d | e"),
        (
            "<tr><td>Sales<td>$<td>1,577<td><tr><td>Loss<td><td>(3<td>)<tr><td>Rate<td><td>4<td>%",
            "Sales | $1,577\nLoss | (3)\nRate | 4%",
        ),
        (
            "<tr><td><td colspan=2>2018<tr><td>Sales<td>$<td>1,577<tr><td>Loss<td><td>(3)",
            " | 2018\nSales | $1,577\nLoss | (3)",
        ),
        ("<tr><td>a<br>b<p>c</p><td>d", "a b c | d"),
    ],
)
def test_table_has_a_row_on_a_line(table: str, expected: str) -> None:
    """Cells are joined by bars; columns without any text are left out."""
    parsed = parse(f"before<table>{table}</table>after")
    (block,) = parsed.blocks
    assert (block.kind, parsed.text[block.start : block.end]) == ("table", expected)
    assert parsed.text == f"before\n\n{expected}\n\nafter"


def test_spans_are_followed_only_so_far() -> None:
    """Each row of these moves a thousand columns on: quadratic time without an end."""
    row = "<tr><td colspan=1000 rowspan=60000>a"
    (line, *_) = parse(f"<table>{row * 2000}</table>").text.split("\n")
    assert line == "a"


def test_layout_table_is_walked() -> None:
    """A table that holds headings or tables is no table."""
    parsed = parse("<table><tr><td><h2>A</h2><td><table><tr><td>x<td>y</table></table>")
    assert parsed.text == "A\n\nx | y"
    assert [h.title for h in parsed.headings] == ["A"]


def test_caption_is_part_of_its_table() -> None:
    """Its first line, as in other formats; the text above where there is but one column."""
    parsed = parse("a<table><caption>The <b>cap</b></caption><tr><td>a<td>b</table>")
    (block,) = parsed.blocks
    assert parsed.text[block.start : block.end] == "The cap\na | b"
    parsed = parse("<table><caption>Cap</caption><tr><td>a</table>")
    assert (parsed.text, parsed.blocks) == ("Cap\na", ())


def test_code_is_kept_as_it_is() -> None:
    """Indentation and line ends stay; empty lines around it go."""
    parsed = parse("a<pre>\n\n  def f():\n\n    return <b>1</b>\n\n</pre>b")
    (block,) = parsed.blocks
    assert (block.kind, parsed.text[block.start : block.end]) == (
        "code",
        "  def f():\n\n    return 1",
    )


def test_metadata_comes_from_the_head() -> None:
    """Title, author and date in their usual places."""
    parsed = parse(
        "<title> A\n b </title><meta name=Author content='M. E.'>"
        "<meta property='article:published_time' content='2020-01-02T10:00:00Z'>text"
    )
    assert parsed.title == "A b"
    assert parsed.metadata == {"author": "M. E.", "date": "2020-01-02"}


def test_language_is_declared_by_the_page() -> None:
    """As its code."""
    assert parse("<html lang='de-AT'><p>x").metadata == {"language": "de"}
    assert parse("<html lang='?'><p>x").metadata == {}


def test_declared_charset_is_used() -> None:
    """The page names its encoding itself."""
    data = '<meta charset="shift_jis"><p>日本'.encode("shift_jis")
    assert parse_html(Source(data=data, name="a")).text == "日本"


def test_xhtml_closes_elements_at_once() -> None:
    """`<script/>` would swallow the rest of the page as HTML."""
    parsed = parse('<?xml version="1.0"?><html><body><a id="x"/><script src="y"/><p>a<br/>b</p>')
    assert parsed.text == "a\nb"


def test_page_without_text_says_so() -> None:
    """A page made by scripts is empty."""
    with pytest.raises(ParseError) as caught:
        parse("<div id=app></div><script>render()</script>")
    assert caught.value.code == "no_text"


def test_depth_does_not_exhaust_the_stack() -> None:
    """Thousands of nested elements are walked."""
    assert parse("<b>" * 5000 + "deep").text == "deep"


def test_elements_nest_only_so_deep() -> None:
    """Beyond it they are lines one after the other; libraries take quadratic time for more."""
    inside = "<div>one<div>two</div></div>three"
    parsed = parse("<div>" * 100_000 + inside + "</div>" * 100_000 + "<p>a</p><p>b")
    assert parsed.text == "one\ntwo\n\nthree\n\na\n\nb"
    assert parsed.warnings == ("elements nested deeper than 500 levels were flattened",)
    assert parse("<div>" * 400 + inside).warnings == ()
    assert parse("<p>a<li>b<br><input>" * 1000).warnings == ()


def test_items_in_items_are_indented_only_so_far() -> None:
    """Otherwise a page grows a hundred times in size."""
    assert parse("<ul><li>a" * 300).text.endswith("\n" + "  " * 10 + "- a")


def test_heading_in_a_heading_is_no_title() -> None:
    """Nor is what holds a table: each would be read as often as it is nested."""
    parsed = parse("<h1>a<div><h2>b</h2></div></h1><h1><table><tr><td>c<td>d</table></h1>")
    assert [heading.title for heading in parsed.headings] == ["b"]
    assert parsed.text == "a\n\nb\n\nc | d"
