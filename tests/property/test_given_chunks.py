"""Laws of chunks of another engine."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import GivenChunk, KnowledgeBase

_TEXTS = st.text(st.sampled_from("ab 1.\n収é👩🏽"), min_size=1, max_size=60).filter(str.strip)
_HEADINGS = st.lists(st.sampled_from(["Results", "People", " "]), max_size=3).map(tuple)
_CHUNKS = st.lists(st.builds(GivenChunk, text=_TEXTS, headings=_HEADINGS), min_size=1, max_size=9)


@settings(max_examples=40, deadline=None)
@given(
    chunks=_CHUNKS,
    steps=st.lists(st.integers(0, 3), min_size=9, max_size=9),
    separator=st.sampled_from(["", " ", "\n\n"]),
)
def test_chunks_sections_and_pages_partition_the_text(
    chunks: list[GivenChunk], steps: list[int], separator: str
) -> None:
    """Kept chunks are the given ones with the separator, and begin on the pages they name."""
    pages = [1 + sum(steps[:index]) for index in range(len(chunks))]
    placed = [
        GivenChunk(text=chunk.text, headings=chunk.headings, page=page)
        for chunk, page in zip(chunks, pages, strict=True)
    ]
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_chunks("a", placed, overlap="keep", separator=separator)
        document, stored, sections = base.get("a"), base.chunks("a"), base.sections("a")
    assert document.text == separator.join(chunk.text for chunk in chunks)
    texts = [chunk.text + separator for chunk in chunks[:-1]] + [chunks[-1].text]
    assert [chunk.text for chunk in stored] == texts
    assert "".join(document.text[s.start : s.end] for s in sections) == document.text
    assert "".join(document.text[p.start : p.end] for p in document.pages) == document.text
    for chunk, page in zip(stored, pages, strict=True):
        place = document.pages[page - 1]
        assert place.start <= chunk.start < place.end


@settings(max_examples=40, deadline=None)
@given(words=st.integers(1, 200), window=st.integers(6, 40), overlap=st.integers(5, 39))
def test_windows_over_a_text_are_joined_to_the_text(words: int, window: int, overlap: int) -> None:
    """Whatever the size of the windows, every word of the text is stored once."""
    step = max(1, window - overlap)
    text = [f"word{number}" for number in range(words)]
    ends = range(min(window, words), words + step, step)
    windows = [" ".join(text[max(0, end - window) : end]) for end in ends]
    with KnowledgeBase(":memory:", embedder=None) as base:
        base.add_chunks("a", windows, overlap="remove", separator=" ")
        assert base.get("a").text == " ".join(text)
