"""Laws of sections and chunks."""

import unicodedata
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.texts import DOCUMENTS, TEXTS

from spanwise.core.documents.chunks import ChunkSpan, split_chunks
from spanwise.core.text.sentences import LINE_BREAKS
from spanwise.options import ChunkOptions, SectionOptions
from spanwise.packs.known_kinds import split_sections
from spanwise.types import Document, Section

SECTION_OPTIONS = st.sampled_from(
    [
        SectionOptions(),
        SectionOptions(min_chars=1, max_chars=2),
        SectionOptions(min_chars=20, max_chars=60),
        SectionOptions(min_chars=100, max_chars=200),
    ]
)
CHUNK_OPTIONS = st.sampled_from(
    [
        ChunkOptions(),
        ChunkOptions(target=1, max=1, paragraph_min=1, block_max=1),
        ChunkOptions(target=20, max=30, paragraph_min=10, block_max=40),
        ChunkOptions(target=50, max=60, paragraph_min=25, block_max=60),
    ]
)


def whole(text: str) -> tuple[Section, ...]:
    """Return a single section for a text."""
    return (Section(start=0, end=len(text), title="", path=()),) if text else ()


def token_counts(texts: Sequence[str]) -> list[int]:
    """Return lengths that add up exactly: characters that are no white space."""
    return [len("".join(text.split())) for text in texts]


def parts_what_belongs_together(text: str, cut: int) -> bool:
    """Return whether a cut falls inside a line break, a pair of surrogates or before a mark."""
    before, after = text[cut - 1], text[cut]
    if before in LINE_BREAKS:
        return before + after == "\r\n"
    return (
        ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
        or after == "\u200d"
        or unicodedata.category(after)[0] == "M"
    )


@given(DOCUMENTS, SECTION_OPTIONS)
def test_sections_partition_the_text(document: Document, options: SectionOptions) -> None:
    """Joined, the sections are the text; none is empty, and each path ends with its title."""
    sections = split_sections(document, options=options)
    assert "".join(document.text[s.start : s.end] for s in sections) == document.text
    assert [s.start for s in sections] == [0, *(s.end for s in sections)][: len(sections)]
    assert all(s.start < s.end and s.path[-1] == s.title for s in sections)


@given(TEXTS.filter(lambda text: text.isascii() and "\r" not in text))
def test_sections_keep_their_greatest_length(text: str) -> None:
    """No section of a text whose characters can all be parted is too long."""
    options = SectionOptions(min_chars=20, max_chars=60)
    sections = split_sections(Document(id="d", text=text), options=options)
    assert all(section.end - section.start <= 60 for section in sections)


@given(DOCUMENTS, SECTION_OPTIONS, CHUNK_OPTIONS)
@settings(max_examples=150)
def test_chunks_join_to_the_text_inside_sections(
    document: Document, section_options: SectionOptions, options: ChunkOptions
) -> None:
    """The chunks, joined, are the text; each lies in the section it names."""
    sections = split_sections(document, options=section_options)
    chunks = split_chunks(document.text, sections, options=options, blocks=document.blocks)
    assert "".join(document.text[c.start : c.end] for c in chunks) == document.text
    assert all(
        sections[c.section].start <= c.start < c.end <= sections[c.section].end for c in chunks
    )


@given(TEXTS, st.sampled_from([ChunkOptions(), ChunkOptions(target=40, max=60, paragraph_min=20)]))
def test_chunks_keep_their_greatest_length(text: str, options: ChunkOptions) -> None:
    """Without blocks, no chunk is longer than the maximum."""
    chunks = split_chunks(text, whole(text), options=options)
    assert max((end - start for start, end, _ in chunks), default=0) <= options.max


@given(TEXTS)
def test_chunks_never_split_a_visible_character(text: str) -> None:
    """No chunk ends inside a line break, a pair of surrogates or a combining sequence."""
    options = ChunkOptions(target=80, max=100, paragraph_min=40, block_max=100)
    chunks = split_chunks(text, whole(text), options=options)
    torn = [c.end for c in chunks[:-1] if parts_what_belongs_together(text, c.end)]
    assert torn == []


@given(TEXTS, st.integers(5, 40))
def test_chunks_in_tokens_keep_their_greatest_length(text: str, target: int) -> None:
    """A chunk has at most the maximum of tokens for an additive counter."""
    options = ChunkOptions(
        target=target, max=target + 5, paragraph_min=5, block_max=90, unit="tokens"
    )
    chunks = split_chunks(text, whole(text), options=options, count_tokens=token_counts)
    assert "".join(text[c.start : c.end] for c in chunks) == text
    lengths = token_counts([text[c.start : c.end] for c in chunks])
    assert max(lengths, default=0) <= options.max


@given(DOCUMENTS)
def test_same_document_gives_same_chunks(document: Document) -> None:
    """Cutting twice gives the same chunks."""

    def cut() -> list[ChunkSpan]:
        sections = split_sections(document, options=SectionOptions())
        return split_chunks(document.text, sections, options=ChunkOptions(), blocks=document.blocks)

    assert cut() == cut()


@given(TEXTS, st.integers(2, 5))
@settings(max_examples=10, deadline=None)
def test_windows_leave_no_trace(text: str, times: int) -> None:
    """The laws hold across the windows of a long text."""
    long = (text + "Here is one sentence more. ") * times * 400
    chunks = split_chunks(long[:150_000], whole(long[:150_000]), options=ChunkOptions())
    assert "".join(long[c.start : c.end] for c in chunks) == long[:150_000]
    assert all(c.end - c.start <= 460 for c in chunks)
