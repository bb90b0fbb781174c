"""Replaced pages: all other pages keep text, headings and blocks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spanwise.core.documents.page_markdown import PageText, read_markdown, replace_pages
from spanwise.parsers.parsed import Parsed
from spanwise.types import Block, Document, Heading, Page

PAGES = st.lists(
    st.sampled_from(["", "A", "One line.\n", "Two\nlines\n\n", "a b ", "row | 1\nrow | 2\n"]),
    min_size=1,
    max_size=6,
)
NEW = st.sampled_from(
    ["New", "# Head\n\ntext", "| a | b |\n| c | d |", "x\n\n# Y\n| 1 | 2 |\n| 3 | 4 |\nz"]
).map(read_markdown)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Return a document with headings and blocks anywhere, over the ends of pages too."""
    texts = draw(PAGES)
    text = "".join(texts)
    pages, start = [], 0
    for number, one in enumerate(texts, start=1):
        pages.append(Page(start=start, end=start + len(one), label=f"p{number}"))
        start += len(one)
    ends = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)))
    spans = list(zip(ends[::2], ends[1::2], strict=False))
    headings = tuple(
        Heading(start=a, end=b, level=1, title=text[a:b])
        for a, b in spans
        if text[a:b] == text[a:b].strip()
    )
    blocks = tuple(Block(start=a, end=b, kind="table") for a, b in spans)
    return Document(
        id="a", text=text, title="T", pages=tuple(pages), headings=headings, blocks=blocks
    )


def page_text(document: Document, number: int) -> str:
    page = document.pages[number - 1]
    return document.text[page.start : page.end]


@given(documents(), st.dictionaries(st.integers(1, 6), NEW, max_size=6))
def test_invariants(document: Document, wanted: dict[int, PageText]) -> None:
    count = len(document.pages)
    texts = {number: one for number, one in wanted.items() if number <= count}
    made = replace_pages(document, texts)
    Parsed(
        text=made.text,
        media_type="application/pdf",
        pages=made.pages,
        headings=made.headings,
        blocks=made.blocks,
    )  # checks that all points into the text, in order, and that pages cover it
    assert [page.label for page in made.pages] == [page.label for page in document.pages]
    assert (made.id, made.title) == (document.id, document.title)
    for number in range(1, count + 1):
        if number in texts:
            assert page_text(made, number).strip("\n") == texts[number].text
        else:
            assert page_text(made, number) == page_text(document, number)
    if not texts:
        assert made == document


@given(documents(), st.sets(st.integers(1, 6), max_size=3))
def test_headings_and_blocks_of_other_pages_move_with_them(
    document: Document, numbers: set[int]
) -> None:
    """Those of the new text are in it; those of a replaced page are gone."""
    new = read_markdown("# Head\n| a | b |\n| c | d |")
    replaced = {number for number in numbers if number <= len(document.pages)}
    made = replace_pages(document, dict.fromkeys(replaced, new))

    def titles(one: Document, *, kept: bool) -> list[str]:
        return [
            heading.title
            for heading in one.headings
            for number, page in enumerate(one.pages, start=1)
            if page.start <= heading.start and heading.end <= page.end
            if (number not in replaced) == kept
        ]

    for heading in made.headings:
        assert made.text[heading.start : heading.end] == heading.title
    assert titles(made, kept=True) == titles(document, kept=True)
    assert titles(made, kept=False) == ["Head"] * len(replaced)
    rows = [made.text[block.start : block.end] for block in made.blocks]
    assert rows.count("a | b\nc | d") >= len(replaced)


def test_a_block_over_a_replaced_page_keeps_its_other_pages() -> None:
    text = "a | 1\nb | 2\nc | 3\n"
    document = Document(
        id="a",
        text=text,
        pages=(Page(start=0, end=6), Page(start=6, end=12), Page(start=12, end=18)),
        blocks=(Block(start=0, end=17, kind="table"),),
    )
    made = replace_pages(document, {2: PageText(text="NEW")})
    assert made.text == "a | 1\n\nNEW\n\nc | 3\n"
    assert [made.text[one.start : one.end] for one in made.blocks] == ["a | 1", "c | 3"]


def test_a_document_of_pictures_alone_gets_a_text() -> None:
    pages = (Page(start=0, end=0), Page(start=0, end=0), Page(start=0, end=0))
    made = replace_pages(
        Document(id="a", text="", pages=pages),
        {1: PageText(text="One"), 3: PageText(text="Three")},
    )
    assert made.text == "One\n\nThree"
    assert [(page.start, page.end) for page in made.pages] == [(0, 5), (5, 5), (5, 10)]
