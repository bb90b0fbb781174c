"""Reading of PDF pages by a language model: pages that are pictures or have merged table cells.

Rules:
    Each page is drawn, requested and cached separately, so an answered page is not requested again.
    An unread page stays as parsed, and a warning of the document names it. If no page is read, the
    document is the one parsed without a model.
    If the model is unreachable, no more pages are requested.
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
from spanwise.threads import map_bounded

if TYPE_CHECKING:
    from spanwise.models.caller import ModelCaller
    from spanwise.parsers.parsed import PagesToRead
    from spanwise.types import Document, DocumentStatus


_Outcome = PageText | ModelError | DocumentError | None
_MAX_FAILURES = 3  # failures before the first success: the model cannot read images
_NOT_FOUND = 404  # the model does not exist


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReading:
    """Result of reading pages with a model."""

    document: Document | None = None
    """Document with the pages that were read; None if none was."""
    failure: str = ""
    """Readable description of the unread pages and the cause; empty if all were read."""
    is_reached: bool = True
    """Whether the model was reachable."""
    is_unfinished: bool = False
    """Whether pages have to be requested again, because the model failed."""


def read_pages(
    document: Document, pages: PagesToRead, *, draw: Callable[[int], bytes], caller: ModelCaller
) -> PageReading:
    """Return a document in which some pages are replaced by the text that a model reads.

    Args:
        document: Document, parsed for a page reader.
        pages: Pages to read.
        draw: Returns a page as a PNG file, by its number from 1.
        caller: Caller of the model.

    Raises:
        CostLimitError: If reading would exceed the cost limit.
        ModelKeyError: If the provider rejects the key.
    """
    reader = _PageReader(document=document, pages=pages, draw=draw, caller=caller)
    outcomes = dict(
        zip(
            pages.numbers,
            map_bounded(reader.read, pages.numbers, limit=caller.model.concurrency),
            strict=True,
        )
    )
    texts = {number: text for number, text in outcomes.items() if isinstance(text, PageText)}
    blank = {number for number in pages.scans if outcomes[number] is None}
    left = [number for number in pages.numbers if number not in texts and number not in blank]
    errors = [outcome for outcome in outcomes.values() if isinstance(outcome, Exception)]
    model, count = caller.model.name, len(document.pages)
    failure = ""
    if left:
        cause = errors[0] if errors else "it sees nothing on them"
        failure = f"{name_pages(left)} of {count} not read by {model}: {cause}"
    read = None
    if texts or blank:
        message = f"{name_pages(sorted((*texts, *blank)))} of {count} read by {model}"
        read = replace(
            replace_pages(document, texts),
            status=_status(document, pages, left=set(left)),
            warnings=(*document.warnings, message, *([failure] if failure else [])),
        )
    return PageReading(
        document=read,
        failure=failure,
        is_reached=reader.is_reached,
        is_unfinished=any(_is_of_provider(error) for error in errors),
    )


def parse_without_model(parse: Callable[[], Document], *, failure: str) -> Document:
    """Return a document parsed without a model, with a warning about the failed model.

    Args:
        parse: Parses the document.
        failure: Description of the failure of the model.

    Raises:
        ParseError: If the document cannot be parsed without a model either; names both causes.
    """
    try:
        document = parse()
    except ParseError as error:
        raise ParseError(f"{error}; {failure}", source=error.source, code=error.code) from error
    return replace(document, warnings=(*document.warnings, failure))


@dataclass(slots=True, kw_only=True)
class _PageReader:
    """Reads pages on several threads while the model is reachable."""

    document: Document
    pages: PagesToRead
    draw: Callable[[int], bytes]
    caller: ModelCaller
    is_reached: bool = True
    _read: int = 0
    _failed: list[ModelError] = field(default_factory=list)

    def read(self, number: int) -> _Outcome:
        """Return the text of a page; None if the page is blank."""
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
        """Return the parsed words of a page if they are reliable."""
        page = self.document.pages[number - 1]
        return self.document.text[page.start : page.end] * (number in self.pages.tables)


def _is_of_provider(error: Exception) -> bool:
    """Return whether a retry may succeed; an unusable answer stays unusable."""
    return isinstance(error, ModelError) and not isinstance(error, ModelAnswerError)


def _status(document: Document, pages: PagesToRead, *, left: set[int]) -> DocumentStatus:
    if document.status == "partial" or not left.isdisjoint(pages.garbled):
        return "partial"
    return "ok" if left.isdisjoint(pages.scans) else "needs_ocr"
