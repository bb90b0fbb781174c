"""Options for fetching and parsing sources."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spanwise.options.checks import check

_OCR_ENGINE = re.compile(r"auto|off|rapidocr|tesseract(:[A-Za-z_]+(\+[A-Za-z_]+)*)?")
_SIZE_LIMITS = (
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
_MAX_TIMEOUT_SECONDS = 1_000_000
"""Maximum timeout of a parse; timers of some systems are limited to a few weeks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseOptions:
    """Limits for parsing a file in a separate process, and the choice of parser and OCR engine."""

    max_file_bytes: int = 1_000_000_000
    """Maximum size of a file in bytes, at least 1."""
    max_unpacked_bytes: int = 1_000_000_000
    """Maximum total size of the unpacked members of a zipped format such as DOCX, in bytes, at
    least 1."""
    max_memory_bytes: int = 3_000_000_000
    """Maximum address space of the parsing process in bytes, at least 1, if the platform supports
    such a limit."""
    max_text_bytes: int = 100_000_000
    """Maximum size of the text of one document in bytes of UTF-8, at least 1. Adding it needs 10 to
    20 times as much memory."""
    max_total_text_bytes: int = 2_000_000_000
    """Maximum size of the text of all documents of one source in bytes of UTF-8, at least 1; of an
    archive with its nested containers."""
    max_expansion: int = 100
    """Maximum ratio of unpacked bytes, and of text, to the size of the source, at least 1; of an
    archive with its nested containers. 20,000,000 bytes are always allowed."""
    max_pages: int = 20_000
    """Maximum number of pages of a document, at least 1."""
    max_members: int = 100_000
    """Maximum number of members of an archive, mailbox or e-mail, including those of nested
    containers; at least 1."""
    max_attachments: int = 1_000
    """Maximum number of attachments of one e-mail, at least 1."""
    max_container_bytes: int = 10_000_000_000
    """Maximum total size of the unpacked members of a container, which are written to the folder
    for temporary files, in bytes, at least 1."""
    max_nesting: int = 4
    """Maximum depth of containers inside containers, at least 1."""
    base_seconds: float = 20.0
    """Base of the time limits of each page and of the whole document, in seconds, positive."""
    page_seconds: float = 0.2
    """Additional time for each page, or for each 100,000 bytes of a document without pages, in
    seconds, positive."""
    timeout_seconds: float = 3_600.0
    """Time limit of a whole document regardless of its number of pages, in seconds, in
    (0, 1,000,000]."""
    parser: str = "spanwise"
    """Parser for documents: "spanwise", or one that an installed package registers as an entry
    point of `spanwise.parsers`, such as "docling" or "unstructured" (both extras)."""
    ocr: str = "auto"
    """OCR engine for pages that are images of text: "rapidocr" (an extra), "tesseract" (an
    installed program, optionally with languages: "tesseract:deu+eng"), "auto" for the first
    available engine, or "off"."""

    def __post_init__(self) -> None:
        for name in _SIZE_LIMITS:
            value = getattr(self, f"max_{name}")
            check(value >= 1, f"max_{name}", value, "at least 1")
        for name in ("base_seconds", "page_seconds", "timeout_seconds"):
            check(getattr(self, name) > 0, name, getattr(self, name), "positive")
        check(
            self.timeout_seconds <= _MAX_TIMEOUT_SECONDS,
            "timeout_seconds",
            self.timeout_seconds,
            f"at most {_MAX_TIMEOUT_SECONDS:,}",
        )
        engines = '"auto", "off", "rapidocr", "tesseract" or "tesseract:LANGUAGES"'
        check(_OCR_ENGINE.fullmatch(self.ocr), "ocr", self.ocr, engines)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOptions:
    """Limits for fetching a URL."""

    max_bytes: int = 100_000_000
    """Maximum size of a response in bytes, at least 1."""
    timeout_seconds: float = 30.0
    """Time limit of the whole fetch including redirects, in seconds, positive."""
    max_redirects: int = 5
    """Maximum number of redirects, at least 0."""
    allow_private: bool = False
    """Whether addresses of private networks and of this machine may be fetched."""
    robots: bool = True
    """Whether the rules of the server's robots.txt are respected."""

    def __post_init__(self) -> None:
        check(self.max_bytes >= 1, "max_bytes", self.max_bytes, "at least 1")
        check(self.timeout_seconds > 0, "timeout_seconds", self.timeout_seconds, "positive")
        check(self.max_redirects >= 0, "max_redirects", self.max_redirects, "at least 0")
