"""Options of ingest: fetching, parsing, sections, chunks and headers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from spanwise.options.checks import check, check_types

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
MAX_TIMEOUT_SECONDS = 1_000_000
"""Maximum of times; timers of some systems are limited to a few weeks."""
_MAX_WORKERS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseOptions:
    """Limits for parsing a file, and the choice of parser and OCR engine."""

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
    """Maximum size of the text of all documents of one source in bytes of UTF-8, at least 1. An
    archive and its nested containers are one source.
    """
    max_expansion: int = 100
    """Maximum ratio of unpacked bytes, and of text, to the size of the source, at least 1. An
    archive and its nested containers are one source. 20,000,000 bytes are always allowed.
    """
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
    parser: str | Callable[..., object] | Mapping[str, Callable[..., object]] = "spanwise"
    """Parser for documents: "spanwise", one that an installed package registers as an entry point
    of `spanwise.parsers`, such as "docling" or "unstructured" (both extras), or a function from
    `Source` to `Parsed`. A mapping from file extensions (".notes") to functions leaves other files
    to the built-in parsers. Functions run in this process, without limits on time and memory."""
    ocr: str = "auto"
    """OCR engine for pages that are images of text: "rapidocr" (an extra), "tesseract" (an
    installed program, optionally with languages: "tesseract:deu+eng"), "auto" for the first
    available engine, or "off"."""
    workers: int | str = 0
    """Number of processes that parse and prepare documents, at least 1; 0 for the number of
    processor cores. "ray://HOST:PORT" for the machines of a Ray cluster. The results are the same
    with any number."""

    def __post_init__(self) -> None:
        check_types(self)
        for name in _SIZE_LIMITS:
            value = getattr(self, f"max_{name}")
            check(value >= 1, f"max_{name}", value, "at least 1")
        for name in ("base_seconds", "page_seconds", "timeout_seconds"):
            check(getattr(self, name) > 0, name, getattr(self, name), "positive")
        seconds, expected = self.timeout_seconds, f"at most {MAX_TIMEOUT_SECONDS:,}"
        check(seconds <= MAX_TIMEOUT_SECONDS, "timeout_seconds", seconds, expected)
        engines = '"auto", "off", "rapidocr", "tesseract" or "tesseract:LANGUAGES"'
        check(_OCR_ENGINE.fullmatch(self.ocr), "ocr", self.ocr, engines)
        _check_parser(self.parser)
        _check_workers(self.workers)


def _check_workers(workers: object) -> None:
    is_address = isinstance(workers, str) and workers.startswith("ray://")
    is_number = type(workers) is int and 0 <= workers <= _MAX_WORKERS
    expected = f'a number from 0 to {_MAX_WORKERS:,}, or an address "ray://HOST:PORT"'
    check(is_address or is_number, "workers", workers, expected)


def _check_parser(parser: object) -> None:
    expected = 'a name, a function, or a mapping from extensions such as ".notes" to functions'
    is_valid = isinstance(parser, str) or callable(parser)
    if isinstance(parser, Mapping):
        is_valid = all(
            isinstance(extension, str) and len(extension) > 1 and extension.startswith(".")
            for extension in parser
        ) and all(map(callable, parser.values()))
    check(is_valid, "parser", parser, expected)


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
        check_types(self)
        check(self.max_bytes >= 1, "max_bytes", self.max_bytes, "at least 1")
        check(self.timeout_seconds > 0, "timeout_seconds", self.timeout_seconds, "positive")
        check(self.max_redirects >= 0, "max_redirects", self.max_redirects, "at least 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionOptions:
    """Options for splitting a document into sections."""

    min_chars: int = 600
    """Minimum length of a section split off at a change of topic, in characters; at least 1. Texts
    without a suitable break may have shorter sections."""
    max_chars: int = 8_000
    """Length above which a section is split at changes of topic between its sentences, in
    characters; at least twice `min_chars`."""

    def __post_init__(self) -> None:
        check_types(self)
        check(self.min_chars >= 1, "min_chars", self.min_chars, "at least 1")
        least = 2 * self.min_chars
        expected = f"at least twice min_chars ({least})"
        check(self.max_chars >= least, "max_chars", self.max_chars, expected)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkOptions:
    """Options for splitting a section into chunks.

    Lengths are in characters unless `unit` is "tokens". A character of a Chinese, Japanese or
    Korean document counts as two.
    """

    target: int = 400
    """Target length of a chunk, at least 1."""
    max: int = 460
    """Maximum length of a chunk, at least `target`. Tables and code up to `block_max` may be
    longer."""
    paragraph_min: int = 200
    """Minimum length at which a blank line ends a chunk, from 1 to `target`."""
    block_max: int = 800
    """Maximum length of a table or piece of code that is kept in one chunk, at least `max`."""
    unit: Literal["chars", "tokens"] = "chars"
    """Unit of the lengths: "chars", or "tokens" of the knowledge base's tokenizer."""

    def __post_init__(self) -> None:
        check_types(self)
        check(self.target >= 1, "target", self.target, "at least 1")
        check(self.max >= self.target, "max", self.max, f"at least target ({self.target})")
        value, expected = self.paragraph_min, f"from 1 to target ({self.target})"
        check(1 <= value <= self.target, "paragraph_min", value, expected)
        check(self.block_max >= self.max, "block_max", self.block_max, f"at least max ({self.max})")
        check(self.unit in ("chars", "tokens"), "unit", self.unit, '"chars" or "tokens"')


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderOptions:
    """Options for the header shown before a segment."""

    max_chars: int = 400
    """Maximum length of a header in characters, at least 40. Longer headers lose the middle of the
    section path first, then the ends of the summaries."""
    summary: bool = True
    """Whether headers contain the summaries of document and section."""

    def __post_init__(self) -> None:
        check_types(self)
        check(self.max_chars >= 40, "max_chars", self.max_chars, "at least 40")
