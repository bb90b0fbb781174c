"""Pages of a PDF that a language model reads, because they are pictures or hold merged cells.

Rules:
    Each page is drawn, asked for and kept on its own: what was answered is not asked for again.
    A page that is not read stays as it was, and the warnings of the document say so. Where none is
    read, the document is the one that is parsed without a model.
    Where the model cannot be reached, no more pages are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spanwise.core.documents.page_markdown import PageText, name_pages, replace_pages
from spanwise.errors import (
    CostLimitError,
    DocumentError,
    ModelAnswerError,
    ModelError,
    ModelKeyError,
    ParseError,
)
from spanwise.models.prompts.pages import read_page
from spanwise.models.threads import map_bounded

if TYPE_CHECKING:
    from spanwise.models.caller import Caller
    from spanwise.parsers.parsed import PagesToRead
    from spanwise.types import Document, DocumentStatus


_Outcome = PageText | ModelError | DocumentError | None
_MAX_FAILURES = 3  # pages that fail before any is read: the model sees no pictures
_NOT_FOUND = 404  # there is no such model


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReading:
    """What became of the pages that a model was to read."""

    document: Document | None = None
    """The document with the pages that were read; None where none was."""
    failure: str = ""
    """Which were not read and why, for people; empty where all were."""
    is_reached: bool = True
    """Whether the model could be reached."""
    is_unfinished: bool = False
    """Whether pages are to be asked for again, because the model failed."""


def read_pages(
    document: Document, pages: PagesToRead, *, draw: Callable[[int], bytes], caller: Caller
) -> PageReading:
    """Return a document with what a model reads on some of its pages in their place.

    Args:
        document: The document, as it is parsed for somebody who reads its pages.
        pages: Which pages are read.
        draw: Returns a page as a PNG file, by its number from 1.
        caller: Calls the model.

    Raises:
        CostLimitError: If it would cost more than is allowed.
        ModelKeyError: If the provider refuses the key.
    """
    reader = _PageReader(document=document, pages=pages, draw=draw, caller=caller)
    outcomes = dict(
        zip(
            pages.numbers,
            map_bounded(reader.read, pages.numbers, limit=caller.model.concurrency),
            strict=True,
        )
    )
    texts = {number: one for number, one in outcomes.items() if isinstance(one, PageText)}
    blank = {number for number in pages.scans if outcomes[number] is None}
    left = [number for number in pages.numbers if number not in texts and number not in blank]
    errors = [error for one in outcomes.values() if isinstance(error := one, Exception)]
    model, count = caller.model.name, len(document.pages)
    failure = ""
    if left:
        cause = errors[0] if errors else "it sees nothing on them"
        failure = f"{name_pages(left)} of {count} not read by {model}: {cause}"
    read = None
    if texts or blank:
        said = f"{name_pages(sorted((*texts, *blank)))} of {count} read by {model}"
        read = replace(
            replace_pages(document, texts),
            status=_status(document, pages, left=set(left)),
            warnings=(*document.warnings, said, *([failure] if failure else [])),
        )
    return PageReading(
        document=read,
        failure=failure,
        is_reached=reader.is_reached,
        is_unfinished=any(_is_of_provider(error) for error in errors),
    )


def parse_without_model(parse: Callable[[], Document], *, failure: str) -> Document:
    """Return a document as it is without a model that could read none of its pages.

    Args:
        parse: Parses it.
        failure: What is said of the model.

    Raises:
        ParseError: If it cannot be read so either, with both causes.
    """
    try:
        document = parse()
    except ParseError as error:
        raise ParseError(f"{error}; {failure}", source=error.source, code=error.code) from error
    return replace(document, warnings=(*document.warnings, failure))


@dataclass(slots=True, kw_only=True)
class _PageReader:
    """Reads one page after the other, on several threads, as long as the model can be reached."""

    document: Document
    pages: PagesToRead
    draw: Callable[[int], bytes]
    caller: Caller
    is_reached: bool = True
    _read: int = 0
    _failed: list[ModelError] = field(default_factory=list)

    def read(self, number: int) -> _Outcome:
        """Return what stands on a page; None where there is nothing to read."""
        if self._is_over():
            return self._failed[-1]
        try:
            image = self.draw(number)
            text = read_page(image, caller=self.caller, known=self._known(number))
        except (CostLimitError, ModelKeyError):
            raise
        except DocumentError as error:
            return error
        except ModelError as error:
            if _is_of_provider(error):
                self._failed.append(error)
                if error.retryable or error.status == _NOT_FOUND:
                    self.is_reached = False
            return error
        self._read += 1
        return text

    def _is_over(self) -> bool:
        return not self.is_reached or (not self._read and len(self._failed) >= _MAX_FAILURES)

    def _known(self, number: int) -> str:
        """Return the words of a page, where they are right."""
        page = self.document.pages[number - 1]
        return self.document.text[page.start : page.end] * (number in self.pages.tables)


def _is_of_provider(error: Exception) -> bool:
    """Return whether a page may be read at another time; an answer that is not usable stays so."""
    return isinstance(error, ModelError) and not isinstance(error, ModelAnswerError)


def _status(document: Document, pages: PagesToRead, *, left: set[int]) -> DocumentStatus:
    if document.status == "partial" or not left.isdisjoint(pages.garbled):
        return "partial"
    return "ok" if left.isdisjoint(pages.scans) else "needs_ocr"
