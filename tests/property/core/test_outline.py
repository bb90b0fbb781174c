"""Laws of headings, sentences, titles and headers."""

from hypothesis import given
from hypothesis import strategies as st
from tests.texts import DOCUMENTS, TEXTS

from spanwise.core.documents.headers import chunk_header
from spanwise.core.documents.headings import find_headings
from spanwise.core.documents.summary import clip, extract_title, summarise
from spanwise.core.documents.titles import title_words
from spanwise.core.documents.topics import BUCKETS, hashed_word_counts
from spanwise.core.text.sentences import LINE_BREAKS, sentence_ends
from spanwise.options import HeaderOptions
from spanwise.packs.known_kinds import document_title
from spanwise.types import Document


@given(TEXTS)
def test_headings_are_lines(text: str) -> None:
    """A heading is one whole line; headings are in order; the title is its words."""
    headings = find_headings(text)
    assert [h.start for h in headings] == sorted({h.start for h in headings})
    for heading in headings:
        line = text[heading.start : heading.end]
        assert heading.start == 0 or text[heading.start - 1] == "\n"
        assert "\n" not in line
        assert " ".join(line.split()) == heading.title


@given(TEXTS, st.data())
def test_sentence_ends_lie_inside_their_range(text: str, data: st.DataObject) -> None:
    """Ends rise, lie inside the range, and begin no line."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    ends = list(sentence_ends(text, start=start, end=end))
    assert ends == sorted(set(ends))
    assert all(start < place < end and text[place - 1] not in LINE_BREAKS for place in ends)


@given(TEXTS, st.integers(1, 60))
def test_clipped_text_is_one_short_line(text: str, max_chars: int) -> None:
    """The result is within the limit, and unchanged if it fits."""
    clipped = clip(text, max_chars=max_chars)
    line = " ".join(text.split())
    assert len(clipped) <= max_chars
    assert clipped == " ".join(clipped.split())
    assert (clipped == line) == (len(line) <= max_chars)


@given(DOCUMENTS)
def test_titles_and_summaries_are_short_lines(document: Document) -> None:
    """Titles and summaries are one line each; a document always has a title."""
    title = document_title(document)
    assert 1 <= len(title) <= 200
    assert title_words(document, title=title).startswith(title)
    assert len(summarise(document.text)) <= 200
    assert len(extract_title(document.text, start=0, stop=len(document.text))) <= 80


@given(
    st.text(max_size=80),
    st.text(max_size=250),
    st.lists(st.text(max_size=60), max_size=6),
    st.text(max_size=250),
)
def test_headers_keep_their_limit(
    title: str, summary: str, path: list[str], section_summary: str
) -> None:
    """No header is longer than its options allow, and none has an empty line."""
    options = HeaderOptions(max_chars=90)
    header = chunk_header(
        title, summary=summary, section_path=path, section_summary=section_summary, options=options
    )
    assert len(header) <= 90
    assert header == "" or all(line.strip() for line in header.split("\n"))


@given(TEXTS, st.data())
def test_word_counts_have_a_row_for_each_run(text: str, data: st.DataObject) -> None:
    """Counts are finite, never below zero, and zero for a run without a word."""
    inner = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    counts = hashed_word_counts(text, [0, *inner, len(text)])
    assert counts.shape == (len(inner) + 1, BUCKETS)
    assert bool((counts >= 0).all())
    assert counts[0].any() or not any(
        len(word) > 3 and word.isalpha() for word in text[: [*inner, len(text)][0]].split()
    )
