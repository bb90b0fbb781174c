"""Adapter to Docling: converts its exported document to `Parsed`.

Its models (for PDFs and images) are never downloaded here: download them with
`docling-tools models download`, and raise the memory limit (`max_memory_bytes`).
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.properties import file_title
from spanwise.parsers.writer import PagedWriter, table_line

_Item = Mapping[str, Any]
"""Object of the exported document."""
_LEFT_OUT = frozenset(("page_header", "page_footer"))


def parse_docling(source: Source) -> Parsed:
    """Return a source parsed by Docling.

    Raises:
        ParseError: "corrupt" if Docling reports that it cannot be read.
    """
    from docling.datamodel.base_models import DocumentStream

    stream = DocumentStream(name=file_title(source.name), stream=io.BytesIO(source.data))
    result = _converter().convert(stream, raises_on_error=False, max_num_pages=source.max_pages)
    errors = tuple(str(error.error_message) for error in result.errors)
    if result.status.value not in ("success", "partial_success"):
        raise source.error("corrupt", f"Docling cannot read it: {'; '.join(errors)}")
    is_whole = result.status.value == "success"
    return read_docling(result.document.export_to_dict(), is_whole=is_whole, warnings=errors)


@cache
def _converter() -> Any:
    """Return the converter of this process, which loads its models once."""
    from docling.document_converter import DocumentConverter

    return DocumentConverter()


def read_docling(stored: _Item, *, is_whole: bool = True, warnings: tuple[str, ...] = ()) -> Parsed:
    """Return an exported Docling document as `Parsed`.

    Args:
        stored: Result of `DoclingDocument.export_to_dict`.
        is_whole: Whether the complete source was read.
        warnings: Warnings of Docling.
    """
    reader = _Reader(stored)
    reader.run()
    writer = reader.writer
    return Parsed.of(
        writer,
        media_type=str((stored.get("origin") or {}).get("mimetype") or "text/plain"),
        pages=writer.pages(),
        status="ok" if is_whole else "partial",
        warnings=warnings,
    )


class _Reader:
    """Walks the body of an exported document and writes its text."""

    def __init__(self, stored: _Item) -> None:
        self.writer = PagedWriter()
        self._stored = stored
        self._seen: set[str] = set()

    def run(self) -> None:
        """Walk the whole document, without recursion, so that depth cannot exhaust the stack."""
        pending = [iter(self._references(self._stored["body"], "children"))]
        while pending:
            reference = next(pending[-1], None)
            if reference is None:
                pending.pop()
                continue
            item = self._take(reference)
            if item is None or item.get("content_layer", "body") != "body":
                continue
            if item.get("label") == "inline":
                self._write_inline(item)
                continue
            self._write(item)
            pending.append(iter(self._references(item, "children")))

    def _references(self, item: _Item, name: str) -> list[str]:
        return [child["$ref"] for child in item.get(name) or ()]

    def _take(self, reference: str) -> _Item | None:
        """Return the item of a reference; None if it was written already."""
        if reference in self._seen:
            return None
        self._seen.add(reference)
        _, kind, place = reference.split("/")
        item: _Item = self._stored[kind][int(place)]
        return item

    def _write(self, item: _Item) -> None:
        label, text = item.get("label"), str(item.get("text") or "").strip()
        if label in _LEFT_OUT:
            return
        for place in item.get("prov") or ():
            self.writer.turn_to(int(place["page_no"]))
        if label == "title":
            self.writer.write_heading(" ".join(text.split()), level=1)
        elif label == "section_header":
            self.writer.write_heading(" ".join(text.split()), level=int(item.get("level", 1)) + 1)
        elif label == "code":
            self.writer.write_block(text, kind="code")
        elif "data" in item and label in ("table", "document_index"):
            self._write_captions(item)
            self.writer.write_block("\n".join(_rows(item["data"])), kind="table")
        elif label == "picture":
            self._write_captions(item)
        elif text:
            self._write_text(item, text)

    def _write_text(self, item: _Item, text: str) -> None:
        is_listed = item.get("label") == "list_item"
        text = f"{item.get('marker') or '-'} {text}" if is_listed else text
        self.writer.write_apart(text, line_ends=1 if is_listed else 2)

    def _write_captions(self, item: _Item) -> None:
        for reference in self._references(item, "captions"):
            caption = self._take(reference)
            if caption is not None:
                self._write_text(caption, str(caption.get("text") or ""))
                self.writer.separate(1)

    def _write_inline(self, item: _Item) -> None:
        """Write the parts of a paragraph on one line."""
        parts = [self._take(reference) for reference in self._references(item, "children")]
        self._write_text(item, " ".join(str(part.get("text") or "") for part in parts if part))


def _rows(data: _Item) -> Iterator[str]:
    """Yield a line per row; a merged cell is written at its first place."""
    for number, row in enumerate(data.get("grid") or ()):
        line = table_line(
            [
                " ".join(str(cell.get("text") or "").split())
                if cell["start_row_offset_idx"] == number and cell["start_col_offset_idx"] == column
                else ""
                for column, cell in enumerate(row)
            ]
        )
        if line:
            yield line
