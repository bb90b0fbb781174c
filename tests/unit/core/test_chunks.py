"""Division of sections into chunks."""

import tracemalloc
import unicodedata
from collections.abc import Sequence

import pytest
from tests.growth import assert_linear_time

from spanwise.core.documents.chunks import chunk_lengths, split_chunks
from spanwise.errors import OptionError
from spanwise.options import ChunkOptions
from spanwise.types import Block, Section

OPTIONS = ChunkOptions()
SENTENCE = "The harbour of Altona grew with the trade in grain and in wood. "  # 64 characters
PARAGRAPH = SENTENCE * 4 + "\n\n"


def section(start: int, end: int) -> Section:
    return Section(start=start, end=end, title="", path=("",))


def cut(
    text: str,
    *,
    options: ChunkOptions = OPTIONS,
    blocks: Sequence[Block] = (),
) -> list[str]:
    spans = split_chunks(text, [section(0, len(text))], options=options, blocks=blocks)
    return [text[start:end] for start, end, _ in spans]


def test_empty_text_has_no_chunks() -> None:
    """Empty input, empty output."""
    assert split_chunks("", [], options=OPTIONS) == []


def test_short_text_is_one_chunk() -> None:
    """Up to the maximum, a section is kept whole."""
    assert cut(SENTENCE * 7) == [SENTENCE * 7]


def test_chunks_end_at_sentences_near_the_target() -> None:
    """Of the sentences that fit, the one nearest to the target ends the chunk."""
    assert {len(chunk) for chunk in cut(SENTENCE * 60)} == {6 * 64}


@pytest.mark.parametrize(
    ("sentence", "options"),
    [
        ("ارتفعت إيرادات الشركة في هذا العام بسبب زيادة المبيعات. ", OPTIONS),
        ("Los ingresos de la empresa aumentaron el año pasado. ", OPTIONS),
        ("पिछले साल कंपनी की आय में वृद्धि हुई है। ", OPTIONS),
        ("Выручка компании в прошлом году выросла. ", OPTIONS),
        ("הכנסות החברה עלו בשנה שעברה בגלל הביקוש. ", OPTIONS),
        ("公司的收入在去年有所增长，因为市场需求很高。", chunk_lengths(OPTIONS, language="zh")),
        ("会社の売上高は前年に比べて増加した。", chunk_lengths(OPTIONS, language="ja")),
    ],
)
def test_chunks_of_other_scripts_end_at_sentences(sentence: str, options: ChunkOptions) -> None:
    chunks = cut(sentence * 60, options=options)
    assert all(chunk == sentence * (len(chunk) // len(sentence)) for chunk in chunks)
    assert all(len(chunk) <= options.max for chunk in chunks)


def test_chunks_of_thai_end_at_spaces_and_part_no_mark() -> None:
    """Thai has no stops: text is cut at spaces, or else between letters."""
    phrase = "รายได้ของบริษัทเพิ่มขึ้นในปีที่แล้ว "
    assert all(chunk.endswith(" ") for chunk in cut(phrase * 60))
    for chunk in cut(phrase.strip() * 60):
        assert unicodedata.category(chunk[0]) != "Mn"
        assert len(chunk) <= OPTIONS.max


def test_dense_scripts_make_shorter_chunks() -> None:
    assert chunk_lengths(OPTIONS, language="zh").target == OPTIONS.target // 2
    assert chunk_lengths(OPTIONS, language="th") == OPTIONS
    tokens = ChunkOptions(unit="tokens")
    assert chunk_lengths(tokens, language="zh") == tokens


def test_long_paragraphs_end_chunks() -> None:
    """A blank line ends a chunk that is long enough."""
    assert cut(PARAGRAPH * 3) == [PARAGRAPH] * 3


def test_short_paragraphs_share_chunks() -> None:
    """A blank line ends no chunk that is too short."""
    assert [len(chunk) for chunk in cut((SENTENCE + "\n\n") * 8)] == [264, 264]


def test_heading_is_in_the_chunk_of_its_text() -> None:
    """No chunk ends with a heading."""
    text = PARAGRAPH + "Fees and charges\n\n" + SENTENCE * 6
    assert [chunk[:8] for chunk in cut(text)] == ["The harb", "Fees and"]


def test_rest_is_shared() -> None:
    """The last two chunks have about the same length."""
    lengths = [len(chunk) for chunk in cut(SENTENCE * 8)]
    assert lengths == [256, 256]


def test_table_is_kept_whole_with_its_caption() -> None:
    """A block within its limit is one chunk with its lead line."""
    table = "| cell | another cell. And more |\n" * 20
    text = PARAGRAPH + "Table 1: Cells\n" + table + SENTENCE * 4
    start = len(PARAGRAPH) + 15
    block = Block(start=start, end=start + len(table), kind="table")
    assert cut(text, blocks=[block]) == [PARAGRAPH, "Table 1: Cells\n" + table, SENTENCE * 4]


def test_long_table_is_cut_between_rows() -> None:
    """A block over its limit is cut at its lines."""
    row = "| cell. One | cell. Two |\n"
    table = row * 60
    chunks = cut(table, blocks=[Block(start=0, end=len(table), kind="table")])
    assert len(chunks) > 1
    assert {len(chunk) % len(row) for chunk in chunks} == {0}


def test_long_sentence_is_cut_at_clauses() -> None:
    """A sentence that is too long is cut at a clause."""
    text = "and the harbour of Altona grew with the trade in grain and wood, " * 20
    assert {chunk[-2:] for chunk in cut(text)} == {", "}


def test_long_words_are_cut_between_characters() -> None:
    """A word that is too long is cut between characters; no chunk exceeds the maximum."""
    assert [len(chunk) for chunk in cut("x" * 1_200)] == [360, 360, 270, 210]


def test_sections_bound_chunks() -> None:
    """A short section is a chunk of its own."""
    text = SENTENCE * 3
    spans = split_chunks(text, [section(0, 64), section(64, len(text))], options=OPTIONS)
    assert [tuple(span) for span in spans] == [(0, 64, 0), (64, 192, 1)]


def test_length_in_tokens() -> None:
    """With a counter, lengths are tokens."""
    options = ChunkOptions(target=24, max=30, paragraph_min=12, block_max=60, unit="tokens")
    text = SENTENCE * 20
    spans = split_chunks(
        text,
        [section(0, len(text))],
        options=options,
        count_tokens=lambda texts: [len(part.split()) for part in texts],
    )
    assert {end - start for start, end, _ in spans} == {2 * 64}


def test_tokens_need_a_counter() -> None:
    """Lengths in tokens without a counter are an error."""
    with pytest.raises(OptionError, match="count_tokens"):
        split_chunks("a", [section(0, 1)], options=ChunkOptions(unit="tokens"))


@pytest.mark.parametrize(
    "sections",
    [[], [section(0, 3)], [section(1, 4)], [section(0, 2), section(3, 4)], [section(0, 0)]],
)
def test_sections_must_partition_the_text(sections: list[Section]) -> None:
    """A gap, an overlap or an empty section is an error with its place."""
    with pytest.raises(OptionError, match="partition"):
        split_chunks("four", sections, options=OPTIONS)


def test_block_that_no_window_contains_is_cut() -> None:
    """A block far over its limit is cut like text, across windows."""
    text = "x = 1\n" * 40_000
    chunks = cut(text, blocks=[Block(start=0, end=len(text), kind="code")])
    assert "".join(chunks) == text
    assert max(map(len, chunks)) <= OPTIONS.max


@pytest.mark.parametrize(
    "part", ["word ", SENTENCE, "a\n", "x", "他说", "\u0301", ". ", "......", "\n", " ", "| a "]
)
def test_time_is_linear_in_the_text(part: str) -> None:
    """For any character."""
    assert_linear_time(
        lambda text: split_chunks(text, [section(0, len(text))], options=OPTIONS),
        lambda chars: part * (chars // len(part)),
        size=70_000,  # more than one window
    )


def test_memory_is_bounded() -> None:
    """A text with many places to cut is divided window by window."""
    text = "\n" * 500_000
    tracemalloc.start()
    split_chunks(text, [section(0, len(text))], options=OPTIONS)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8_000_000


def test_options_default_to_the_standard_ones() -> None:
    text = "One more sentence about margins stands here. " * 60
    section = Section(start=0, end=len(text), title="", path=("",))
    assert split_chunks(text, [section]) == split_chunks(text, [section], options=ChunkOptions())
