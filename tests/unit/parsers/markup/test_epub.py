"""A book comes out chapter by chapter, as its package orders them."""

from __future__ import annotations

import pytest
from tests.documents import build_zip
from tests.office_documents import build_epub

from spanwise.errors import ParseError
from spanwise.parsers.markup.epub import parse_epub
from spanwise.parsers.parsed import Parsed, Source


def parse(data: bytes) -> Parsed:
    return parse_epub(Source(data=data, name="a.epub", max_unpacked_bytes=10_000_000))


def titles(parsed: Parsed) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in parsed.headings]


CHAPTERS = {
    "b.xhtml": "<h2>Part</h2><p>one</p>",
    "a%20b.xhtml": "<h2>Chapter</h2><p>two</p><h3>Deep</h3>"
    "<table><tr><td>x</td><td>y</td></tr></table>",
    "c.xhtml": "<p>three</p>",
    "cover.xhtml": "<img src='x'/>",
}
NAVIGATION = """<nav epub:type="landmarks"><ol><li><a href="c.xhtml">No</a></li></ol></nav>
<nav epub:type="toc"><h1>Contents</h1><ol><li><a href="b.xhtml">Part</a><ol>
<li><a href="a%20b.xhtml#x">Chapter</a></li><li><a href="c.xhtml">Last <i>one</i></a></li></ol></li>
</ol></nav>"""
NCX = """<navPoint><navLabel><text>Part</text></navLabel><content src="b.xhtml"/>
<navPoint><navLabel><text>Chapter</text></navLabel><content src="a%20b.xhtml"/></navPoint>
<navPoint><navLabel><text>Last one</text></navLabel><content src="c.xhtml"/></navPoint>
</navPoint>"""


@pytest.mark.parametrize("parts", [{"contents": NAVIGATION}, {"ncx": NCX}])
def test_chapters_have_the_depth_of_the_contents(parts: dict[str, str]) -> None:
    """And the title, where they have no heading; a page with a picture alone is left out."""
    chapters = {name.replace("%20", " "): body for name, body in CHAPTERS.items()}
    parsed = parse(build_epub(chapters, **parts))
    assert parsed.text == "Part\n\none\n\nChapter\n\ntwo\n\nDeep\n\nx | y\n\nLast one\n\nthree"
    assert titles(parsed) == [(1, "Part"), (2, "Chapter"), (3, "Deep"), (2, "Last one")]
    assert [parsed.text[block.start : block.end] for block in parsed.blocks] == ["x | y"]
    assert all(parsed.text[h.start : h.end] == h.title for h in parsed.headings)


def test_a_file_without_an_entry_continues_its_chapter() -> None:
    chapters = {
        "a.xhtml": "<h1>Part</h1><h2>Chapter</h2><p>one</p>",
        "b.xhtml": "<h3>Deep</h3><p>two</p>",
        "c.xhtml": "<h1>Next</h1><p>three</p>",
    }
    contents = """<nav epub:type="toc"><ol><li><a href="a.xhtml">Part</a></li>
    <li><a href="c.xhtml">Next</a></li></ol></nav>"""
    parsed = parse(build_epub(chapters, contents=contents))
    assert titles(parsed) == [(1, "Part"), (2, "Chapter"), (3, "Deep"), (1, "Next")]


def test_book_without_contents_has_the_headings_of_its_pages() -> None:
    """The outermost of each chapter is a chapter."""
    parsed = parse(build_epub({"a.xhtml": "<h3>A</h3><p>x</p>", "b.xhtml": "<h1>B</h1><p>y</p>"}))
    assert titles(parsed) == [(1, "A"), (1, "B")]


def test_notes_are_kept() -> None:
    """They stand in elements that are no content on other pages."""
    chapter = "<p>text</p><aside epub:type='footnote'><p>note</p></aside><footer>end</footer>"
    assert parse(build_epub({"a.xhtml": chapter})).text == "text\n\nnote\n\nend"


def test_properties_are_metadata() -> None:
    """Several authors, language, date; an undetermined language is none."""
    metadata = (
        "<dc:title>The Sea</dc:title><dc:creator>A. B.</dc:creator><dc:creator>C. D.</dc:creator>"
        "<dc:language>pt-BR</dc:language><dc:date>2020-05-06</dc:date>"
    )
    parsed = parse(build_epub({"a.xhtml": "<p>x</p>"}, metadata=metadata))
    assert parsed.title == "The Sea"
    assert parsed.metadata == {"author": "A. B., C. D.", "date": "2020-05-06", "language": "pt"}
    undetermined = build_epub({"a.xhtml": "<p>x</p>"}, metadata="<dc:language>und</dc:language>")
    assert parse(undetermined).metadata == {}


def encrypted(algorithm: str, part: str) -> str:
    return (
        f'<EncryptedData><EncryptionMethod Algorithm="{algorithm}"/><CipherData>'
        f'<CipherReference URI="{part}"/></CipherData></EncryptedData>'
    )


def test_rights_management_is_refused() -> None:
    """Encrypted chapters cannot be read."""
    data = build_epub({"a.xhtml": "x"}, encryption=encrypted("aes", "OEBPS/a.xhtml"))
    with pytest.raises(ParseError) as caught:
        parse(data)
    assert caught.value.code == "encrypted"


def test_scrambled_fonts_are_no_encryption() -> None:
    """Shops scramble the fonts of books that anybody may read."""
    scrambled = encrypted("http://www.idpf.org/2008/embedding", "OEBPS/f.otf")
    assert parse(build_epub({"a.xhtml": "x"}, encryption=scrambled)).text == "x"


def test_damage_leaves_the_other_chapters() -> None:
    """A missing chapter and a damaged table of contents are told."""
    data = build_epub({"a.xhtml": "x", "b.xhtml": "y"}, contents="<nav>")
    parsed = parse(data.replace(b"OEBPS/b.xhtml", b"OEBPS/z.xhtml"))
    assert parsed.text == "x"
    assert parsed.status == "partial"
    assert [warning.split(" could ")[0] for warning in parsed.warnings] == [
        "the table of contents",
        "chapter 2 (OEBPS/b.xhtml)",
    ]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (build_epub({"a.xhtml": "<img/>"}), "no_text"),
        (build_epub({}), "no_text"),
        (build_epub({"a.xhtml": " " * 11_000_000}), "too_large"),
        (build_zip({"META-INF/container.xml": b"<container/>"}), "corrupt"),
        (build_zip({"mimetype": b"application/epub+zip"}), "corrupt"),
        (build_epub({"a.xhtml": "x"}).replace(b"OEBPS/a.xhtml", b"OEBPS/z.xhtml"), "corrupt"),
        (build_epub({"a.xhtml": "x"})[:300], "corrupt"),
    ],
)
def test_bad_book_is_refused(data: bytes, code: str) -> None:
    """With the kind of the cause."""
    with pytest.raises(ParseError) as caught:
        parse(data)
    assert caught.value.code == code
