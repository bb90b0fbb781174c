"""Citations and their location in later versions."""

from dataclasses import replace

import pytest
from tests.records import make_record, make_whole

from spanwise.core.answers import citations
from spanwise.core.answers.citations import QUOTE_CHARS, cite, cite_range, locate, printed_labels
from spanwise.core.documents.versions import text_hash, text_version
from spanwise.errors import OptionError
from spanwise.types import Page

PAGES = (
    Page(start=0, end=10, label="xii"),
    Page(start=10, end=10),
    Page(start=10, end=25, label="F-1"),
    Page(start=25, end=30, label='"></segment>'),
)
TEXT = "# One\nNone.\nThe lease ends in May.\n# Two\nNone.\nFreight rose by a third.\n"


@pytest.mark.parametrize(
    ("start", "end", "pages"),
    [(0, 10, (1, 1)), (0, 11, (1, 3)), (9, 26, (1, 4)), (10, 25, (3, 3)), (29, 30, (4, 4))],
)
def test_pages_are_those_that_contain_characters(
    start: int, end: int, pages: tuple[int, int]
) -> None:
    made = cite(make_record("a", root="/in"), (start, end), pages=PAGES, section_path=(), text=None)
    assert made.pages == pages


def test_a_document_without_pages_has_no_page_numbers() -> None:
    made = cite(make_record("a", root="/in"), (0, 5), pages=(), section_path=(), text=None)
    assert (made.pages, made.page_labels, made.page_range) == (None, None, "")


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [
        (0, 10, "page 1 (xii)"),
        (0, 11, "pages 1-3 (xii to F-1)"),
        (9, 26, "pages 1-4"),
        (29, 30, "page 4"),
    ],
)
def test_pages_are_cited_by_their_printed_labels(start: int, end: int, said: str) -> None:
    """Invalid labels such as markup are omitted, because a model reads them."""
    made = cite(make_record("a", root="/in"), (start, end), pages=PAGES, section_path=(), text=None)
    assert made.page_range == said


def test_printed_labels_are_those_in_citations() -> None:
    assert printed_labels(PAGES) == ["F-1", "xii"]
    assert printed_labels([Page(start=0, end=5, label="1"), Page(start=5, end=6, label=" ")]) == []


def test_a_citation_contains_hash_and_beginning_of_its_text() -> None:
    text = "Freight rose. " * 50
    made = cite_range(make_whole(text), 14, 500)
    assert made.version == text_version(text)
    assert made.quote == text[14 : 14 + QUOTE_CHARS]
    assert made.text_hash == text_hash([text[14:500]])


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (3, 3), (5, 3), (0, len(TEXT) + 1)])
def test_an_invalid_range_is_rejected(start: int, end: int) -> None:
    with pytest.raises(OptionError, match=f"range {start}-{end}"):
        cite_range(make_whole(TEXT), start, end)


def test_the_same_version_has_the_text_where_it_was() -> None:
    """Even if the words also occur nearer to the cited section."""
    start = TEXT.rindex("None.")
    cited = replace(cite_range(make_whole(TEXT), start, start + 5), section_path=("# One",))
    found = locate(make_whole(TEXT), cited)
    assert (found.status, found.text, found.occurrences) == ("current", "None.", 2)
    assert found.citation is not None
    assert found.citation.start == start
    assert found.message == "the document is unchanged; it occurs in 2 places"


def test_a_change_elsewhere_leaves_it_current_in_the_new_version() -> None:
    start = TEXT.index("The lease")
    cited = cite_range(make_whole(TEXT), start, start + 22)
    now = make_whole(TEXT + "More.\n")
    found = locate(now, cited)
    assert (found.status, found.similarity) == ("current", 1.0)
    assert found.citation == replace(cited, version=now.record.version)
    assert "changed elsewhere" in found.message


def test_of_several_places_the_section_decides_then_the_distance() -> None:
    start = TEXT.rindex("None.")
    cited = cite_range(make_whole(TEXT), start, start + 5)
    found = locate(
        make_whole(TEXT.replace("# One\n", "# One\nNew text here, long enough.\n")), cited
    )
    assert found.status == "moved"
    assert found.citation is not None
    assert found.citation.section_path == ("# Two",)
    unheaded = locate(make_whole(TEXT.replace("#", "").replace("rose", "rises")), cited)
    assert unheaded.citation is not None
    assert unheaded.citation.start == start - 2, "the nearest"


def test_a_moved_text_is_cited_with_its_new_pages_and_section() -> None:
    start = TEXT.index("The lease")
    cited = cite_range(make_whole(TEXT), start, start + 22)
    text = "# Zero\n" + "Before it. " * 20 + "\n" + TEXT.replace("# One", "# Uno")
    pages = (Page(start=0, end=100), Page(start=100, end=len(text), label="ii"))
    found = locate(make_whole(text, pages=pages), cited)
    assert found.status == "moved"
    assert found.text == "The lease ends in May."
    assert found.citation is not None
    assert found.citation.section_path == ("# Uno",)
    assert found.citation.page_range == "page 2 (ii)"
    assert found.citation.place in found.message


def test_an_edited_text_is_located_by_similarity() -> None:
    start = TEXT.index("Freight")
    cited = cite_range(make_whole(TEXT), start, start + 24)
    found = locate(make_whole(TEXT.replace("by a third", "by a quarter")), cited)
    assert found.status == "changed"
    assert found.text == "Freight rose by a quarter"
    assert 0.5 < found.similarity < 1
    assert found.occurrences == 0


def test_a_text_that_is_gone_has_no_location() -> None:
    start = TEXT.index("Freight")
    cited = cite_range(make_whole(TEXT), start, start + 24)
    found = locate(make_whole("Nobody speaks of that, here or elsewhere.\n"), cited)
    assert (found.status, found.citation, found.text, found.similarity) == ("changed", None, "", 0)


def test_a_text_with_only_the_same_beginning_does_not_match() -> None:
    """The citation contains only the beginning in words."""
    text = "".join(f"Sentence {number} of many. " for number in range(40))
    cited = cite_range(make_whole(text), 0, 600)
    changed = text[:500] + "X" + text[501:]
    found = locate(make_whole(changed), cited)
    assert found.status == "changed"
    assert f"its first {QUOTE_CHARS} characters" in found.message
    assert locate(make_whole("Before. " + text), cited).text == text[:600]


def test_places_are_counted_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(citations, "_MAX_PLACES", 5)
    whole = make_whole("again " * 9)
    found = locate(whole, cite_range(whole, 42, 47))
    assert (found.status, found.occurrences) == ("current", 5)
    assert found.message == "the document is unchanged; it occurs in 5 places or more"


def test_a_beginning_in_too_many_places_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(citations, "_MAX_HASHED_CHARS", 10_000)
    cited = cite_range(make_whole("." * 700 + "end"), 0, 703)
    with pytest.raises(OptionError, match="occurs too often"):
        locate(make_whole("." * 2_000), cited)
