"""Headers of chunks."""

from dataclasses import replace

from spanwise.core.documents.headers import chunk_header, searched_header
from spanwise.options import HeaderOptions
from spanwise.types import Section

OPTIONS = HeaderOptions(max_chars=100)
SUMMARY = "We make many things and sell them to people all over the world, every day of the year."


def test_header_has_a_line_each() -> None:
    """Title, summary and path are one line each, even with line breaks inside."""
    header = chunk_header("Report\n2020", summary="One.", section_path=["A", "B"], options=OPTIONS)
    assert header == "Report 2020\nOne.\nA > B"


def test_empty_lines_are_omitted() -> None:
    """Empty parts have no line; an empty header is empty."""
    assert chunk_header("", section_path=["A"], options=OPTIONS) == "A"
    assert chunk_header("", options=OPTIONS) == ""


def test_repeated_title_is_omitted() -> None:
    """A path that begins with the document title does not repeat it."""
    assert chunk_header("Report", section_path=["REPORT", "B"], options=OPTIONS) == "Report\nB"
    joined = chunk_header("Report", section_path=["Report / A", "B"], options=OPTIONS)
    assert joined == "Report\nA > B"


def test_summary_can_be_omitted() -> None:
    """The options decide."""
    options = HeaderOptions(summary=False)
    assert chunk_header("T", summary="S", options=options) == "T"


def test_long_header_loses_the_middle_of_the_path_first() -> None:
    """The first and the last title stay longest."""
    path = ["PART I", "Item 1. Our business as it is", "Competition in the whole market", "Europe"]
    header = chunk_header("Report", summary="We make things.", section_path=path, options=OPTIONS)
    assert (
        header == "Report\nWe make things.\nPART I > … > Competition in the whole market > Europe"
    )


def test_long_header_loses_the_end_of_the_summary_next() -> None:
    """The summary gets the space that title and path leave."""
    path = ["PART I", "Item 1. Business of the company", "Competition", "Europe"]
    header = chunk_header("Report", summary=SUMMARY, section_path=path, options=OPTIONS)
    assert header == (
        "Report\nWe make many things and sell them to people all over the world, every…\n"
        "PART I > … > Europe"
    )


def test_header_keeps_its_limit() -> None:
    """Title and path are cut last of all."""
    header = chunk_header("T" * 300, summary=SUMMARY, section_path=["P" * 300], options=OPTIONS)
    assert header == "T" * 59 + "…\n" + "P" * 38 + "…"
    assert len(chunk_header("T" * 300, section_path=["P"], options=OPTIONS)) == 100


def test_options_default_to_the_standard_ones() -> None:
    title = "Annual report " * 60
    assert chunk_header(title) == chunk_header(title, options=HeaderOptions())


def test_the_section_summary_is_last() -> None:
    header = chunk_header(
        "Report", summary="One.", section_path=["A"], section_summary="Of\nA.", options=OPTIONS
    )
    assert header == "Report\nOne.\nA\nOf A."


def test_the_summary_of_the_document_is_cut_before_that_of_the_section() -> None:
    about = "This section is about: fees that banks pay."
    header = chunk_header("T", summary=SUMMARY, section_summary=about, options=OPTIONS)
    title, summary, last = header.split("\n")
    assert (title, last) == ("T", about)
    assert summary.endswith("…")
    assert SUMMARY.startswith(summary[:-1])
    alone = chunk_header("T", section_summary=f"{about} " * 3, options=OPTIONS)
    assert len(alone) <= 100
    assert alone.endswith("…")


def test_options_leave_both_summaries_out() -> None:
    options = HeaderOptions(max_chars=100, summary=False)
    assert chunk_header("T", summary="S", section_summary="A", options=options) == "T"


def test_the_searched_header_has_titles_and_summary() -> None:
    """Titles occur twice, because they count twice as much as the summary."""
    section = Section(start=0, end=9, title="Fees", path=("Terms", "Fees"), summary="What is due.")
    assert searched_header(section).split("\n") == [
        "Terms",
        "Fees",
        "Terms",
        "Fees",
        "What is due.",
    ]


def test_an_extracted_title_is_not_searched() -> None:
    section = Section(start=0, end=9, title="x", path=("Terms", "x"), extracted_title=True)
    assert searched_header(section) == "Terms\nTerms"
    assert not searched_header(replace(section, path=("x",)))


def test_the_searched_header_is_bounded() -> None:
    """A long path or summary would be indexed with every chunk of the section."""
    section = Section(start=0, end=9, title="x", path=("x " * 9_000,), summary="y " * 9_000)
    assert len(searched_header(section)) < 4_000
