"""Text of PDF pages by a language model, for images of text and tables with merged cells.

Rules:
    Each page is rendered, requested and cached separately, so an answered page is not requested
    again.
    A page that the model does not read keeps the text of the parser, and a warning of the document
    names it. If the model reads no page, the document is parsed again without a model.
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
    ModelError,
    ModelKeyError,
    ParseError,
)
from spanwise.ingest.model_health import ModelHealth, is_model_failure
from spanwise.models.prompts.pages import read_page
from spanwise.threads import map_bounded

if TYPE_CHECKING:
    from spanwise.ingest.reader import PageRequest
    from spanwise.models.caller import ModelCaller
    from spanwise.parsers.parsed import PagesToRead
    from spanwise.types import Document, DocumentStatus


_Outcome = PageText | ModelError | DocumentError | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReading:
    """Result of reading pages with a model."""

    document: Document | None = None
    """Document with the text of the model on the pages that it read; None if it read none."""
    failure: str = ""
    """Human-readable message about the unread pages and the cause; empty if all were read."""
    is_reachable: bool = True
    """Whether the model is reachable."""
    is_unfinished: bool = False
    """Whether pages should be requested again in a later run, because the model failed."""


def read_pages(request: PageRequest, *, caller: ModelCaller) -> PageReading:
    """Return a document in which some pages have the text that a model reads on them.

    Args:
        request: Document, and the pages to read.
        caller: Caller of the model.

    Raises:
        CostLimitError: If a call would exceed the cost limit.
        ModelKeyError: If the provider rejects the key.
    """
    document, pages = request.document, request.pages
    reader = _PageReader(request=request, caller=caller)
    outcomes = dict(
        zip(
            pages.numbers,
            map_bounded(reader.read, pages.numbers, limit=caller.model.concurrency),
            strict=True,
        )
    )
    texts = {number: text for number, text in outcomes.items() if isinstance(text, PageText)}
    blank = {number for number in pages.scans if outcomes[number] is None}
    unread = [number for number in pages.numbers if number not in texts and number not in blank]
    errors = [outcome for outcome in outcomes.values() if isinstance(outcome, Exception)]
    model, count = caller.model.name, len(document.pages)
    failure = ""
    if unread:
        cause = errors[0] if errors else "it sees nothing on them"
        failure = f"{name_pages(unread)} of {count} not read by {model}: {cause}"
    result = None
    if texts or blank:
        message = f"{name_pages(sorted((*texts, *blank)))} of {count} read by {model}"
        result = replace(
            replace_pages(document, texts),
            status=_status(document, pages, unread=set(unread)),
            warnings=(*document.warnings, message, *([failure] if failure else [])),
        )
    return PageReading(
        document=result,
        failure=failure,
        is_reachable=reader.health.is_reachable,
        is_unfinished=any(map(is_model_failure, errors)),
    )


def parse_without_model(parse: Callable[[], Document], *, failure: str) -> Document:
    """Return a document parsed without a model, with a warning about the failed model.

    Args:
        parse: Function that parses the document.
        failure: Message about the failure of the model.

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
    """Requests pages, on several threads, as long as the model is reachable."""

    request: PageRequest
    caller: ModelCaller
    health: ModelHealth = field(default_factory=ModelHealth)

    def read(self, number: int) -> _Outcome:
        """Return the text of a page, None for a blank page, or an error.

        After the model failed, the result is its last error, and nothing is requested.
        """
        if (failure := self.health.last_failure()) is not None:
            return failure
        try:
            image = self.request.draw(number)
            text = read_page(image, caller=self.caller, known=self._known(number))
        except (CostLimitError, ModelKeyError):
            raise
        except DocumentError as error:
            return error
        except ModelError as error:
            self.health.count_failure(error)
            return error
        self.health.count_success()
        return text

    def _known(self, number: int) -> str:
        """Return the parsed words of a page; empty if they are not reliable."""
        document = self.request.document
        page = document.pages[number - 1]
        return document.text[page.start : page.end] * (number in self.request.pages.tables)


def _status(document: Document, pages: PagesToRead, *, unread: set[int]) -> DocumentStatus:
    if document.status == "partial" or not unread.isdisjoint(pages.garbled):
        return "partial"
    return "ok" if unread.isdisjoint(pages.scans) else "needs_ocr"
