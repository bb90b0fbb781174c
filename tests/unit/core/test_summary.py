"""Extractive titles and summaries."""

import pytest

from spanwise.core.documents.summary import clip, extract_title, is_row, summarise

TEXT = """Volume 7, No. 3
| Year | Income |
The harbour of Altona grew with the grain trade. It rained on Monday. Grain came by ship to the \
harbour of Altona, and the trade made the harbour rich. 12 13 14 15 16 17 18.
"""


def test_summary_is_the_most_representative_sentence() -> None:
    """It uses the words the text uses most; rows and numbers are no sentences."""
    assert summarise(TEXT) == "The harbour of Altona grew with the grain trade."


def test_summary_is_cut_at_a_word() -> None:
    """A sentence that is too long ends with an ellipsis."""
    assert summarise("The harbour of Altona grew quickly.", max_chars=20) == "The harbour of…"


@pytest.mark.parametrize("text", ["", "  \n\n ", "\u2028"])
def test_text_without_words_has_no_summary(text: str) -> None:
    """An empty text gives an empty summary and title."""
    assert summarise(text) == ""
    assert extract_title(text, start=0, stop=len(text)) == ""


def test_summary_reads_only_the_beginning() -> None:
    """Text after the first few thousand characters has no effect."""
    text = "The harbour grew with trade. " * 400
    assert summarise(text + "Quite another subject. " * 999) == summarise(text)


def test_title_is_a_line_of_the_range() -> None:
    """A title comes out of the range alone and bears no markup."""
    text = "Before it all.\n\n## The harbour of Altona\n\nIt grew."
    assert extract_title(text, start=16, stop=len(text)) == "The harbour of Altona"


def test_broken_lines_are_joined() -> None:
    """A sentence that goes on in the next line is one."""
    text = "The harbour of Altona grew and grew over many years with\nthe trade in grain."
    assert summarise(text) == " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "clipped"),
    [
        ("short", "short"),
        ("one two three four", "one two…"),
        ("one, two; three", "one, two…"),
        ("x" * 20, "x" * 9 + "…"),
        (" a \n b ", "a b"),
    ],
)
def test_clip_cuts_at_words(text: str, clipped: str) -> None:
    """The result is one line within the limit."""
    assert clip(text, max_chars=10) == clipped


@pytest.mark.parametrize(
    "row",
    [
        "Total current assets 5,308 5,853",
        "Total current assets $ 5,308 $ 5,853",
        "$ 1,234 (5)",
        "Goodwill 14,245",
        "Gross margin percentage 27% 33%",
        "Net income (loss) (12)",
        "Beneficial interests — — —",
        "Non-controlling interests 102 — 102",
        "Years ended 2018 2017 2016",
        "(In millions, except per share amounts)",
        "Effective tax rate 17.5 %",
    ],
)
def test_rows_of_tables_are_no_titles(row: str) -> None:
    assert is_row(row)
    assert extract_title(row, start=0, stop=len(row)) == ""
    text = f"{row}\nCash and liquidity\n{row}\n"
    assert extract_title(text, start=0, stop=len(text)) == "Cash and liquidity"


@pytest.mark.parametrize(
    "line",
    [
        "Note 14 – Goodwill and other assets",
        "Exhibit 10",
        "Results of fiscal 2018",
        "Balance sheet as of December 31, 2018",
        "Our rate was 17.7 percent compared to 2.7 percent.",
        "Item 7 — Management's discussion",
        "Revenue rose by $ 14 million in 2018 and 2017.",
    ],
)
def test_lines_with_single_numbers_are_titles(line: str) -> None:
    assert extract_title(line, start=0, stop=len(line)) == line


def test_rows_are_titles_in_stores_of_earlier_versions() -> None:
    row = "Total current assets 5,308 5,853"
    assert extract_title(row, start=0, stop=len(row), rows=True) == row
