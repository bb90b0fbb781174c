"""How sources are fetched and parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spanwise.options.checks import check

_OCR_ENGINE = re.compile(r"auto|off|rapidocr|tesseract(:[A-Za-z_]+(\+[A-Za-z_]+)*)?")
_SIZES = (
    "file_bytes",
    "unpacked_bytes",
    "memory_bytes",
    "text_bytes",
    "total_text_bytes",
    "expansion",
    "pages",
    "members",
    "attachments",
    "container_bytes",
    "nesting",
)


_MOST_SECONDS = 1_000_000
"""Of a parse: the clocks of some systems take no more than a few weeks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseOptions:
    """Limits under which a file is parsed, in a process of its own, and who reads its pictures."""

    max_file_bytes: int = 1_000_000_000
    max_unpacked_bytes: int = 1_000_000_000
    """Of an archive format (DOCX), all members together."""
    max_memory_bytes: int = 3_000_000_000
    """Address space of the parsing process, where the platform can limit it."""
    max_text_bytes: int = 100_000_000
    """Of the text of one document, in UTF-8. Taking it in needs 10 to 20 times as much memory."""
    max_total_text_bytes: int = 2_000_000_000
    """Of the text of all documents in one source together: an archive, with those nested in it."""
    max_expansion: int = 100
    """How many times its own size a source may expand to, in unpacked bytes and in text, with the
    containers nested in it. 20,000,000 bytes are always allowed."""
    max_pages: int = 20_000
    max_members: int = 100_000
    """Of an archive, mailbox or e-mail, with those of the containers that are in it."""
    max_attachments: int = 1_000
    """Of one e-mail."""
    max_container_bytes: int = 10_000_000_000
    """Of the same together, unpacked in the folder for temporary files."""
    max_nesting: int = 4
    """Containers that are opened one inside another."""
    base_seconds: float = 20.0
    """For a page, and for a document beside what its pages may take."""
    page_seconds: float = 0.2
    """For each page, and for each 100,000 bytes of a document without pages."""
    timeout_seconds: float = 3_600.0
    """For a whole document, whatever its pages; at most 1,000,000."""
    parser: str = "spanwise"
    """Who reads documents: "spanwise", or a parser that an installed package registers as an entry
    point of `spanwise.parsers`, such as "docling" and "unstructured" (extras)."""
    ocr: str = "auto"
    """Who reads pages that are pictures of text: "rapidocr" (the extra), "tesseract" (the program,
    with its languages behind a colon: "tesseract:deu+eng"), "auto" for the first that is there, or
    "off"."""

    def __post_init__(self) -> None:
        for name in _SIZES:
            value = getattr(self, f"max_{name}")
            check(value >= 1, f"max_{name}", value, "at least 1")
        for name in ("base_seconds", "page_seconds", "timeout_seconds"):
            check(getattr(self, name) > 0, name, getattr(self, name), "positive")
        check(
            self.timeout_seconds <= _MOST_SECONDS,
            "timeout_seconds",
            self.timeout_seconds,
            f"at most {_MOST_SECONDS:,}",
        )
        wanted = '"auto", "off", "rapidocr", "tesseract" or "tesseract:LANGUAGES"'
        check(_OCR_ENGINE.fullmatch(self.ocr), "ocr", self.ocr, wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOptions:
    """Limits under which a URL is fetched."""

    max_bytes: int = 100_000_000
    timeout_seconds: float = 30.0
    """For the whole fetch, redirects included."""
    max_redirects: int = 5
    allow_private: bool = False
    """Whether addresses of private networks and of this machine may be fetched."""
    robots: bool = True
    """Whether what a server forbids programs in its robots.txt is left alone."""

    def __post_init__(self) -> None:
        check(self.max_bytes >= 1, "max_bytes", self.max_bytes, "at least 1")
        check(self.timeout_seconds > 0, "timeout_seconds", self.timeout_seconds, "positive")
        check(self.max_redirects >= 0, "max_redirects", self.max_redirects, "at least 0")
