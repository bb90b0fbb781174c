"""Segments as a reader sees them: each inside a fence, under its header, in reading order.

What comes from a document is data to the model that reads it: text, title, headings and id. The
fence is a tag that none of them opens or closes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise.core.text.fences import fence_tag
from spanwise.errors import OptionError

if TYPE_CHECKING:
    from spanwise.types import Citation


SEPARATOR = "\n\n"
"""What stands between two segments."""
_TAG = "segment"
_WIDE_NUMBER = 999
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # the name of a file may have line feeds


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptPart:
    """Run of text inside an excerpt."""

    start: int
    """Place of its first character in the document."""
    text: str
    place: str = ""
    """Section path under which it stands; empty where none is wanted."""

    @property
    def end(self) -> int:
        """Return the place after its last character."""
        return self.start + len(self.text)


def opening_line(tag: str, number: int, citation: Citation, *, also_in: int = 0) -> str:
    """Return the line that opens a segment and says where it stands.

    Args:
        tag: Of the fence.
        number: Of the segment.
        citation: Where it stands.
        also_in: How many other documents hold nearly the same text.
    """
    pages = f' pages="{citation.page_numbers}"' if citation.pages is not None else ""
    document = citation.document_id.replace("&", "&amp;").replace('"', "&quot;")
    document = _CONTROL.sub(lambda found: f"&#{ord(found.group())};", document)
    place = f'characters="{citation.start}-{citation.end}"'
    noun = "document" if also_in == 1 else "documents"
    copies = f' also_in="{also_in} {noun}"' if also_in else ""
    return f'<{tag} number="{number}" document="{document}"{pages} {place}{copies}>'


def render_segment(
    tag: str, *, number: int, citation: Citation, header: str, text: str, also_in: int = 0
) -> str:
    """Return a segment with its fence and header."""
    opening = opening_line(tag, number, citation, also_in=also_in)
    head = f"{opening}\n{header}" if header else opening
    return f"{head}\n\n{text.strip()}\n</{tag}>"


def render_parts(parts: Sequence[ExcerptPart]) -> str:
    """Return the parts of an excerpt in order, each under its place, and what stands between."""
    lines: list[str] = []
    for before, part in zip([None, *parts], parts, strict=False):
        if before is not None:
            lines.append(f"[... {part.start - before.end:,} characters left out ...]")
        if part.place:
            lines.append(part.place)
        lines.append(part.text.strip())
    return SEPARATOR.join(lines)


def frame(citation: Citation, header: str) -> tuple[str, str]:
    """Return what stands before the text of a segment and after it, its separator included.

    The number is as wide as it may be. Together the line breaks of both may be one token: they are
    counted one by one.
    """
    empty = render_segment(_TAG, number=_WIDE_NUMBER, citation=citation, header=header, text="")
    end = empty.rindex("\n")
    return empty[:end], empty[end:] + SEPARATOR


def render_context(parts: Sequence[str]) -> str:
    """Return rendered segments one after the other."""
    return SEPARATOR.join(parts)


def render_segments(
    texts: Sequence[str],
    *,
    citations: Sequence[Citation],
    headers: Sequence[str] = (),
    also_in: Sequence[int] = (),
) -> str:
    """Return texts as a language model reads them: numbered, cited, each inside a fence.

    Args:
        texts: In reading order.
        citations: Where each stands.
        headers: What stands above each (`chunk_header`); none when empty.
        also_in: How many other documents hold nearly the text of each; 0 when empty.

    Raises:
        OptionError: If there are not as many citations, headers or copies as texts.
    """
    count = len(texts)
    headers, also_in = headers or [""] * count, also_in or [0] * count
    if not count == len(citations) == len(headers) == len(also_in):
        raise OptionError(
            f"there are {count} texts, {len(citations)} citations, {len(headers)} headers and "
            f"{len(also_in)} numbers of copies; give one of each for each text"
        )
    tag = fence_tag([*texts, *headers, *(citation.document_id for citation in citations)])
    rows = zip(texts, citations, headers, also_in, strict=True)
    return render_context(
        [
            render_segment(
                tag, number=number, citation=citation, header=header, text=text, also_in=copies
            )
            for number, (text, citation, header, copies) in enumerate(rows, start=1)
        ]
    )
