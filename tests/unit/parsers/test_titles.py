"""Title and author properties count where they are what they say."""

from __future__ import annotations

import pytest

from spanwise.parsers.properties import read_author, read_title


@pytest.mark.parametrize("title", ["Annual Report 2018", "Form 10-K", "Über uns", "3M"[:2] + " Co"])
def test_title_is_kept(title: str) -> None:
    """What looks like a title is one."""
    assert read_title(f"  {title}\n") == title


@pytest.mark.parametrize(
    "title",
    [
        "",
        "ab",
        "Microsoft Word - report.doc",
        "report_final.PDF",
        "untitled",
        "Untitled-2",
        "Document1",
        "(anonymous)",
        "PowerPoint Presentation",
        "0000012927-19-000010",
        "x" * 301,
    ],
)
def test_what_programs_write_is_no_title(title: str) -> None:
    """File names, numbers and placeholders are left out."""
    assert read_title(title) == ""


@pytest.mark.parametrize("author", ["M. E.", "Holmes, Jon", "Verizon Communications Inc."])
def test_author_names_somebody(author: str) -> None:
    """A person or a company."""
    assert read_author(f" {author.replace(' ', '  ')} ") == author


@pytest.mark.parametrize(
    "author",
    [
        "Anonymous",
        "(anonymous)",
        "G635890",
        "EDGAR Online, a division of Donnelley Financial Solutions",
        "Kaleidoscope - kscope.io",
    ],
)
def test_programs_and_filing_agents_are_no_author(author: str) -> None:
    """Placeholders, numbers of accounts, and who converted the file."""
    assert read_author(author) == ""
