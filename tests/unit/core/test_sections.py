"""Division of documents into sections."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.growth import assert_linear_time

from spanwise.core.documents.sections import split_sections
from spanwise.errors import OptionError
from spanwise.options import SectionOptions
from spanwise.types import Block, Document, Heading, Section

OPTIONS = SectionOptions(min_chars=300, max_chars=2_000)
BODY = "The harbour of Altona grew with the trade in grain and in wood. " * 5 + "\n\n"


def markdown(text: str) -> Document:
    """Return a document whose lines with # are headings."""
    headings = []
    start = 0
    for line in text.split("\n"):
        if line.startswith("#"):
            mark, _, title = line.partition(" ")
            end = start + len(line)
            headings.append(Heading(start=start, end=end, level=len(mark), title=title))
        start += len(line) + 1
    return Document(id="d", text=text, headings=tuple(headings))


def paths(sections: Sequence[Section]) -> list[tuple[str, ...]]:
    return [section.path for section in sections]


def test_empty_text_has_no_sections() -> None:
    """Empty input, empty output."""
    assert split_sections(Document(id="d", text=""), options=OPTIONS) == ()


def test_headings_make_a_tree() -> None:
    """A section bears the titles of its ancestors; a level that is left out is no ancestor."""
    document = markdown(
        f"# A\n{BODY}## B\n{BODY}#### C\n{BODY}### D\n{BODY}## E\n{BODY}# F\n{BODY}"
    )
    assert paths(split_sections(document, options=OPTIONS)) == [
        ("A",),
        ("A", "B"),
        ("A", "B", "C"),
        ("A", "B", "D"),
        ("A", "E"),
        ("F",),
    ]


def test_sections_start_at_their_heading() -> None:
    """The text before the first heading is a section with a title of its own words."""
    document = markdown(f"{BODY}# A\n{BODY}")
    first, second = split_sections(document, options=OPTIONS)
    assert (first.start, first.end, second.start) == (0, len(BODY), len(BODY))
    assert first.title == "The harbour of Altona grew with the trade in grain and in wood."
    assert second.title == "A"


def test_bare_heading_joins_its_child() -> None:
    """A heading without text is in the section of its first child, and in its path."""
    document = markdown(f"# A\n\n## B\n{BODY}## C\n{BODY}")
    assert paths(split_sections(document, options=OPTIONS)) == [("A", "B"), ("A", "C")]


def test_short_siblings_join() -> None:
    """Short siblings are merged into one section."""
    document = markdown(f"# A\n{BODY}## B\nOne.\n## C\nTwo.\n## D\n{BODY}# E\n{BODY}")
    assert paths(split_sections(document, options=OPTIONS)) == [
        ("A",),
        ("A", "B / C / D"),
        ("E",),
    ]


def test_short_last_child_stays() -> None:
    """A short section is not merged across its parent's end."""
    document = markdown(f"# A\n{BODY}## B\nOne.\n# C\n{BODY}")
    assert paths(split_sections(document, options=OPTIONS)) == [("A",), ("A", "B"), ("C",)]


def test_deep_headings_become_siblings() -> None:
    """A path has at most eight titles."""
    text = "".join(f"{'#' * level} {level}\n{BODY}" for level in range(1, 11))
    assert [len(path) for path in paths(split_sections(markdown(text), options=OPTIONS))] == [
        *range(1, 9),
        8,
        8,
    ]


def test_headings_are_detected_without_parser_headings() -> None:
    """A plain text is cut at the headings it shows."""
    text = f"ARTICLE I\n\n{BODY}ARTICLE II\n\n{BODY}"
    sections = split_sections(Document(id="d", text=text), options=OPTIONS)
    assert paths(sections) == [("ARTICLE I",), ("ARTICLE II",)]


def topics() -> str:
    """Return a text of three subjects without headings."""
    return (
        "The harbour shipped grain in barges. Sailors moored vessels beside granaries. \n" * 40
        + "Proteins fold inside living cells. Enzymes catalyse reactions between molecules. \n" * 40
        + "The orchestra rehearsed the symphony. Violins carried the melody over drums. \n" * 40
    )


def test_long_text_is_cut_where_the_topic_changes() -> None:
    """The changes of subject are among the cuts, to within a few sentences."""
    text = topics()
    options = SectionOptions(min_chars=600, max_chars=4_000)
    sections = split_sections(Document(id="d", text=text), options=options)
    changes = [text.index("Proteins"), text.index("The orchestra")]
    distances = [min(abs(section.start - change) for section in sections) for change in changes]
    assert max(distances) <= 450
    assert len(sections) == 3


def test_parts_of_a_long_section_have_its_title_above_theirs() -> None:
    """Under a heading, a part bears the heading and a title of its own words."""
    text = "# Notes\n" + topics()
    sections = split_sections(
        markdown(text), options=SectionOptions(min_chars=600, max_chars=4_000)
    )
    assert {section.path[0] for section in sections} == {"Notes"}
    assert {len(section.path) for section in sections} == {2}


def test_embedder_decides_where_it_is_given() -> None:
    """With vectors, the cut is where the vectors change."""
    text = "".join(f"Sentence number {n} of the text stands here. " for n in range(200))

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        first = [float(int(part.split()[2]) < 100) for part in texts]
        return np.array([[value, 1 - value] for value in first], dtype=np.float32)

    options = SectionOptions(min_chars=600, max_chars=8_000)
    sections = split_sections(Document(id="d", text=text), options=options, embed=embed)
    assert len(sections) == 2
    assert abs(int(text[sections[1].start :].split()[2]) - 100) <= 20


def test_tables_are_not_cut_without_need() -> None:
    """A cut by topic falls outside of blocks that can be spared."""
    row = "| grain | barges |\n" * 20 + "| enzymes | molecules |\n" * 20
    prose = "The harbour shipped grain in barges to granaries. " * 40 + "\n"
    text = prose + row + prose
    block = Block(start=len(prose), end=len(prose) + len(row), kind="table")
    document = Document(id="d", text=text, blocks=(block,))
    sections = split_sections(document, options=SectionOptions(min_chars=300, max_chars=3_000))
    assert [s.start for s in sections if block.start < s.start < block.end] == []
    assert len(sections) > 1


@pytest.mark.parametrize(
    "headings",
    [
        [Heading(start=5, end=6, level=1, title="b"), Heading(start=0, end=1, level=1, title="a")],
        [Heading(start=0, end=99, level=1, title="a")],
        [Heading(start=-1, end=1, level=1, title="a")],
    ],
)
def test_headings_must_be_in_order_and_inside(headings: list[Heading]) -> None:
    """A heading out of order or outside of the text is an error that names it."""
    document = Document(id="d", text="some text", headings=tuple(headings))
    with pytest.raises(OptionError, match="heading '"):
        split_sections(document, options=OPTIONS)


def with_headings(count: int, *, levels: int) -> Document:
    """Return a document of headings alone, whose levels go up to a number and begin again."""
    headings = tuple(
        Heading(start=4 * n, end=4 * n + 3, level=1 + n % levels, title="x") for n in range(count)
    )
    return Document(id="d", text="# x\n" * count, headings=headings)


@pytest.mark.parametrize("levels", [1, 6, 1_000_000])
def test_time_is_linear_in_the_headings(levels: int) -> None:
    """Many headings, and deep ones."""
    assert_linear_time(
        lambda document: split_sections(document, options=OPTIONS),
        lambda count: with_headings(count, levels=levels),
        size=4_000,
    )


def test_the_last_of_many_sections_ends_with_the_text() -> None:
    document = with_headings(4_000, levels=6)
    assert split_sections(document, options=OPTIONS)[-1].end == len(document.text)


def test_options_default_to_the_standard_ones() -> None:
    document = Document(id="d", text="One more sentence about margins stands here. " * 300)
    assert split_sections(document) == split_sections(document, options=SectionOptions())


def test_sections_tell_extracted_titles_from_headings() -> None:
    """Parts of a long section have extracted titles, as has a text without headings."""
    heading = Heading(start=0, end=5, level=1, title="Fees")
    text = "Fees\n" + "The fee is due in May. It pays for ships.\n" * 300
    long = split_sections(Document(id="a", text=text, headings=(heading,)))
    assert len(long) > 1
    assert all(section.extracted_title and section.path[0] == "Fees" for section in long)
    (short,) = split_sections(Document(id="a", text=text[:200], headings=(heading,)))
    assert not short.extracted_title
    (plain,) = split_sections(Document(id="a", text="It rained for a week."))
    assert plain.extracted_title
