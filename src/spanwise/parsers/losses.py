"""What of a document could not be read: noted while the rest is, and never passed over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from spanwise.errors import ParseError
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.writer import TextWriter
from spanwise.types import DocumentStatus, Page, Scalar

__all__ = ["Losses"]

_MAX_WARNINGS = 100


class Losses:
    """Collects the losses of one document; a loss makes it partial."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._causes: list[str] = []
        self._more = 0
        self._error: ParseError | None = None

    @contextmanager
    def noted(self, what: str) -> Iterator[None]:
        """Note it where what is read inside turns out to be damaged, and go on.

        Args:
            what: The part of the document, as people know it ("slide 3").
        """
        try:
            yield
        except ParseError as error:
            if error.code != "corrupt":
                raise
            self._error = self._error or error
            self.add(f"{what} is incomplete: {str(error).removeprefix(f'{self._source.name}: ')}")

    def add(self, loss: str) -> None:
        """Note a loss."""
        if len(self._causes) < _MAX_WARNINGS:
            self._causes.append(loss)
        else:
            self._more += 1

    def require_text(self, text: str, advice: str) -> None:
        """Refuse a document that shows no text.

        Args:
            text: All of its text.
            advice: What the lack of it may come from, where nothing is known to be lost.

        Raises:
            ParseError: The first damage, or "no_text".
        """
        if text:
            return
        if self._error is not None:
            raise self._error
        raise self._source.error("no_text", "; ".join([advice, *self.warnings]))

    @property
    def status(self) -> DocumentStatus:
        """Whether anything is lost."""
        return "partial" if self._causes else "ok"

    @property
    def warnings(self) -> tuple[str, ...]:
        """The losses in order, the first hundred of them."""
        more = (f"and {self._more} more",) if self._more else ()
        return (*self._causes, *more)

    def parsed(
        self,
        writer: TextWriter,
        *,
        media_type: str,
        properties: tuple[str, Mapping[str, Scalar]],
        pages: tuple[Page, ...] = (),
    ) -> Parsed:
        """Return what was written of the document, with what is lost of it.

        Args:
            writer: Its text, headings and blocks.
            media_type: Of the document.
            properties: Its title and its metadata.
            pages: In order, where the format has pages.
        """
        title, metadata = properties
        return Parsed(
            text=writer.text,
            media_type=media_type,
            title=title,
            pages=pages,
            headings=tuple(writer.headings),
            blocks=tuple(writer.blocks),
            metadata=metadata,
            status=self.status,
            warnings=self.warnings,
        )
