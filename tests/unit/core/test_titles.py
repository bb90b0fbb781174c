"""Titles of documents, and the words that route questions."""

import pytest

from spanwise.core.titles import document_title, title_words
from spanwise.types import Document, Heading

HEADING = Heading(start=0, end=3, level=1, title="The  Heading")


@pytest.mark.parametrize(
    ("document", "title"),
    [
        (
            Document(id="a.txt", text="x", title=" Given\ntitle ", headings=(HEADING,)),
            "Given title",
        ),
        (Document(id="a.txt", text="x", headings=(HEADING,)), "The Heading"),
        (Document(id="docs/Acme_2020_10-K.pdf", text="x"), "Acme 2020 10-K"),
        (Document(id="docs/blue-bird.md", text="x"), "blue bird"),
        (Document(id="docs/pay/index.md", text="x"), "pay index"),
        (Document(id="mail.zip!/inbox/3", text="x"), "inbox 3"),
        (Document(id="https://www.example.org/a%20b/guide.html?x=1", text="x"), "guide"),
        (Document(id="///", text="x"), "///"),
        (Document(id="/", text="x", source="/tmp/From source.txt"), "From source"),
    ],
)
def test_title_comes_from_the_best_source(document: Document, title: str) -> None:
    """Metadata first, then the first heading, then the file name."""
    assert document_title(document) == title


def test_late_heading_is_no_title() -> None:
    """A heading deep in the text is about a part of it."""
    late = Heading(start=9_000, end=9_003, level=1, title="Late")
    document = Document(id="log.txt", text="x" * 9_010, headings=(late,))
    assert document_title(document) == "log"


def test_title_words_add_file_name_and_path() -> None:
    """Each word of id and source that the title lacks stands once behind it."""
    document = Document(
        id="finance/2020/Acme_10-K.pdf", text="x", source="/data/ann/finance/2020/Acme_final.pdf"
    )
    assert title_words(document, title="Acme annual report") == (
        "Acme annual report finance 2020 10 K final"
    )


def test_title_words_without_title() -> None:
    """A document without a title is known by its name."""
    assert title_words(Document(id="blue-bird.md", text=""), title="") == "blue bird"
