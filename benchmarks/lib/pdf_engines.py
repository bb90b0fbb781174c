"""PDF readers to compare: our parser, plain pypdfium2, and others if installed."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pypdfium2

from benchmarks.lib.filings import Reading
from spanwise.parsers.parsed import Source
from spanwise.parsers.pdf.reader import read_pdf

__all__ = ["SLOW", "Engine", "available_engines", "read_plain"]

SLOW = frozenset(("pymupdf4llm",))
"""Readers that take seconds per page."""

Engine = Callable[[Path, Sequence[int]], Reading]
"""Function that reads a file. Slow readers read only the given pages, if any are given."""

_HEADING = re.compile(r"(#{1,6})\s+(\S.*)")


def available_engines() -> dict[str, Engine]:
    """Return the installed readers, by name."""
    engines: dict[str, Engine] = {
        "ours": lambda path, _: read_ours(path),
        "ours, outline ignored": lambda path, _: read_ours(path, with_outline=False),
        "pypdfium2, plain": lambda path, _: read_plain(path),
    }
    if shutil.which("pdftotext"):
        engines["pdftotext -layout"] = lambda path, _: read_pdftotext(path)
    if importlib.util.find_spec("liteparse"):
        engines["liteparse, markdown"] = lambda path, _: read_liteparse(path)
    if importlib.util.find_spec("pymupdf4llm"):
        engines["pymupdf4llm"] = read_pymupdf4llm
    return engines


def read_ours(path: Path, *, with_outline: bool = True) -> Reading:
    """Return the pages and headings of our parser; running heads count as removed."""
    start = time.process_time()
    parsed, composed = read_pdf(
        Source(data=path.read_bytes(), name=path.name), with_outline=with_outline
    )
    seconds = time.process_time() - start
    starts = [page.start for page in parsed.pages]
    return Reading(
        pages=[parsed.text[page.start : page.end] for page in parsed.pages],
        headings=[
            (bisect_right(starts, heading.start) - 1, heading.level, heading.title)
            for heading in parsed.headings
        ],
        removed=["\n".join(lines) for lines in composed.running],
        seconds=seconds,
    )


def read_plain(path: Path) -> Reading:
    """Return the text of each page by pdfium, in content order."""
    start = time.process_time()
    document = pypdfium2.PdfDocument(path)
    pages = []
    for page in document:
        content = page.get_textpage()
        text = content.get_text_range()
        pages.append(text.replace("\r\n", "\n").replace("\ufffe", ""))
        content.close()
        page.close()
    document.close()
    return Reading(pages, seconds=time.process_time() - start)


def read_pdftotext(path: Path) -> Reading:
    """Return the text of each page by poppler, with its layout."""
    start = time.perf_counter()
    done = subprocess.run(
        ["pdftotext", "-layout", str(path), "-"], capture_output=True, check=False
    )
    pages = done.stdout.decode("utf-8", "replace").split("\f")[:-1]
    return Reading(pages, seconds=time.perf_counter() - start)


def read_liteparse(path: Path) -> Reading:
    """Return the pages as Markdown by liteparse, without OCR."""
    import liteparse

    start = time.process_time()
    parser = liteparse.LiteParse(ocr_enabled=False, max_pages=20_000, output_format="markdown")
    result: Any = parser.parse(str(path))
    pages = [str(getattr(page, "markdown", None) or page.text) for page in result.pages]
    return _of_markdown(pages, time.process_time() - start)


def read_pymupdf4llm(path: Path, wanted: Sequence[int]) -> Reading:
    """Return the given pages, or all pages, as Markdown by pymupdf4llm."""
    import pymupdf4llm

    numbers = sorted(wanted) or list(range(len(pypdfium2.PdfDocument(path))))
    start = time.process_time()
    chunks: Any = pymupdf4llm.to_markdown(str(path), page_chunks=True, pages=numbers)
    seconds = time.process_time() - start
    pages = [""] * (numbers[-1] + 1)
    for number, chunk in zip(numbers, chunks, strict=True):
        pages[number] = chunk["text"]
    return replace(_of_markdown(pages, seconds), read_pages=len(numbers))


def _of_markdown(pages: list[str], seconds: float) -> Reading:
    headings = []
    for number, page in enumerate(pages):
        for line in page.split("\n"):
            match = _HEADING.match(line)
            if match:
                headings.append((number, len(match[1]), match[2].strip("*_ ")))
    return Reading(pages, headings=headings, seconds=seconds)
