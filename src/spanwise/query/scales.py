"""What excerpts of one question look like once they are rendered, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise.core.citations import cite
from spanwise.core.filling import Part, joined
from spanwise.core.headers import chunk_header
from spanwise.core.render import SEPARATOR, ExcerptPart, render_parts, render_segment
from spanwise.options import HeaderOptions
from spanwise.query.reading import DocumentReader
from spanwise.types import Citation

if TYPE_CHECKING:
    from spanwise.options import ExcerptOptions
    from spanwise.ports import Snapshot, Tokenizer

__all__ = ["Readers", "RenderedScales"]

_WHOLE_RATIO = 2  # a document of more stored tokens than this times the room is not tried whole


class Readers(dict[int, DocumentReader]):
    """A reader for each document that is asked for, by handle."""

    def __init__(self, snapshot: Snapshot, tokenizer: Tokenizer) -> None:
        """Read from a snapshot."""
        super().__init__()
        self.snapshot = snapshot
        self.tokenizer = tokenizer

    def __missing__(self, handle: int) -> DocumentReader:
        self[handle] = DocumentReader(self.snapshot, handle, self.tokenizer.count)
        return self[handle]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedScales:
    """Renders excerpts inside one fence and counts their tokens."""

    readers: Readers
    options: ExcerptOptions
    tag: str
    budget_tokens: int
    """Of an excerpt."""

    def overhead(self, handle: int, chunk: int) -> tuple[int, int]:
        """Return the tokens of an excerpt besides its runs, and of a run besides its text."""
        reader = self.readers[handle]
        chars = reader.record.chars
        frame = self._widest(handle, (0, chars), "")
        place = self._place(handle, reader.chunks(chunk, chunk + 1)[0].section)
        ends = [ExcerptPart(start=start, text="", place=place) for start in (0, chars)]
        return self.count(frame), self.count(render_parts(ends))

    def chunks(self, handle: int) -> int:
        """Return how many chunks a document has."""
        return self.readers[handle].record.chunks

    def weigh(self, handle: int, runs: Sequence[Part]) -> int:
        """Return the tokens of an excerpt that shows these runs of chunks alone."""
        return self.measure(handle)(self.characters(handle, runs))

    def fits_whole(self, handle: int) -> bool:
        """Return whether the whole document fits into an excerpt."""
        reader = self.readers[handle]
        record = reader.record
        if record.tokens > _WHOLE_RATIO * self.budget_tokens:
            return False
        reader.chunks(0, record.chunks)
        return self.measure(handle)([(0, record.chars)]) <= self.budget_tokens

    def characters(self, handle: int, runs: Sequence[Part]) -> list[Part]:
        """Return the characters of some runs of chunks."""
        return joined([self.readers[handle].part(start, end) for start, end in runs])

    def measure(self, handle: int) -> Callable[[Sequence[Part]], int]:
        """Return what counts the tokens of an excerpt of a document, its separator included."""

        def measured(parts: Sequence[Part]) -> int:
            span = (parts[0][0], parts[-1][1])
            return self.count(self._widest(handle, span, self.text(handle, parts)) + SEPARATOR)

        return measured

    def text(self, handle: int, parts: Sequence[Part]) -> str:
        """Return the parts of an excerpt as they are shown; a section is named once.

        Where the document begins, its own first lines say so.
        """
        reader = self.readers[handle]
        shown: list[ExcerptPart] = []
        named = ""
        for start, end in parts:
            place = self._place(handle, reader.chunk_at(start).section)
            text = reader.text(start, end)
            is_known = start == 0 or place == named
            shown.append(ExcerptPart(start=start, text=text, place="" if is_known else place))
            named = self._place(handle, reader.chunk_at(end - 1).section)
        return render_parts(shown)

    def header(self, handle: int) -> str:
        """Return what stands over an excerpt."""
        if not self.options.headers:
            return ""
        record = self.readers[handle].record
        return chunk_header(record.title, summary=record.summary, options=HeaderOptions())

    def rendered(self, citation: Citation, header: str, text: str, number: int) -> str:
        """Return an excerpt as a reader is shown it."""
        if not self.options.headers:
            return text.strip()
        return render_segment(self.tag, number=number, citation=citation, header=header, text=text)

    def citation(self, handle: int, span: Part, path: tuple[str, ...]) -> Citation:
        """Return the pointer to a range of a document."""
        reader = self.readers[handle]
        return cite(
            reader.record,
            span,
            pages=reader.pages,
            section_path=path,
            text=reader.text(*span),
        )

    def count(self, text: str) -> int:
        """Return the tokens of a text."""
        return self.readers.tokenizer.count([text])[0]

    def _place(self, handle: int, section: int) -> str:
        """Return the line over a part: the path of the section it begins in."""
        if not self.options.headers:
            return ""
        reader = self.readers[handle]
        path = reader.section(section).path
        if path and path[0].casefold() == reader.record.title.casefold():
            path = path[1:]
        return chunk_header("", section_path=path, options=HeaderOptions())

    def _widest(self, handle: int, span: Part, text: str) -> str:
        """Return an excerpt with the longest number that it may have."""
        reader = self.readers[handle]
        citation = cite(reader.record, span, pages=reader.pages, section_path=(), text=None)
        return self.rendered(citation, self.header(handle), text, self.options.excerpts)
