"""Rendering of segments for a language model: each in a fence, with its header, in reading order.

Text, title, headings and id of a document are untrusted data. The fence is a tag that none of them
can open or close.
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
"""Text between two segments."""
_TAG = "segment"
_WIDE_NUMBER = 999
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # file names may contain line feeds


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptPart:
    """Run of text inside an excerpt."""

    start: int
    """Offset of the first character in the document."""
    text: str
    """Text of the part."""
    place: str = ""
    """Section path printed above the part; empty for none."""

    @property
    def end(self) -> int:
        """Offset after the last character in the document."""
        return self.start + len(self.text)


def opening_line(tag: str, number: int, citation: Citation, *, also_in: int = 0) -> str:
    """Return the opening tag of a segment, whose attributes are its citation.

    Args:
        tag: Name of the fence tag.
        number: Number of the segment.
        citation: Document, pages and character range of the segment.
        also_in: Number of other documents with nearly the same text.
    """
    pages = f' pages="{citation.page_numbers}"' if citation.pages is not None else ""
    base = base_attribute(citation.knowledge_base)
    document = _escaped(citation.document_id)
    place = f'characters="{citation.start}-{citation.end}"'
    noun = "document" if also_in == 1 else "documents"
    copies = f' also_in="{also_in} {noun}"' if also_in else ""
    return f'<{tag} number="{number}"{base} document="{document}"{pages} {place}{copies}>'


def base_attribute(name: str) -> str:
    """Return the attribute with the name of the knowledge base; empty for an empty name."""
    return f' knowledge_base="{_escaped(name)}"' if name else ""


def _escaped(value: str) -> str:
    """Return a value of an attribute with its special characters escaped."""
    value = value.replace("&", "&amp;").replace('"', "&quot;")
    return _CONTROL.sub(lambda match: f"&#{ord(match.group())};", value)


def render_segment(
    tag: str, *, number: int, citation: Citation, header: str, text: str, also_in: int = 0
) -> str:
    """Return a segment with its fence and header."""
    opening = opening_line(tag, number, citation, also_in=also_in)
    head = f"{opening}\n{header}" if header else opening
    return f"{head}\n\n{text.strip()}\n</{tag}>"


def render_parts(parts: Sequence[ExcerptPart]) -> str:
    """Return the parts of an excerpt in order, with section paths and the sizes of the gaps."""
    lines: list[str] = []
    for before, part in zip([None, *parts], parts, strict=False):
        if before is not None:
            lines.append(f"[... {part.start - before.end:,} characters left out ...]")
        if part.place:
            lines.append(part.place)
        lines.append(part.text.strip())
    return SEPARATOR.join(lines)


def segment_frame(citation: Citation, header: str) -> tuple[str, str]:
    """Return the text before and after the text of a segment, including the separator.

    The segment number is the widest possible one. Count the tokens of both parts separately:
    joined, their line breaks could merge into one token.
    """
    empty = render_segment(_TAG, number=_WIDE_NUMBER, citation=citation, header=header, text="")
    end = empty.rindex("\n")
    return empty[:end], empty[end:] + SEPARATOR


def render_context(parts: Sequence[str]) -> str:
    """Return rendered segments joined by the separator."""
    return SEPARATOR.join(parts)


def render_segments(
    texts: Sequence[str],
    *,
    citations: Sequence[Citation],
    headers: Sequence[str] = (),
    also_in: Sequence[int] = (),
    numbers: Sequence[int] = (),
) -> str:
    """Return texts formatted for a language model: numbered, cited, each inside a fence.

    Args:
        texts: Texts in reading order.
        citations: Citation of each text.
        headers: Header of each text (`chunk_header`); empty for no headers.
        also_in: Number of other documents with nearly the same text, for each text; empty for 0.
        numbers: Number of each text; empty to number the texts from 1.

    Raises:
        OptionError: If an argument has another length than `texts`.
    """
    count = len(texts)
    headers, also_in = headers or [""] * count, also_in or [0] * count
    numbers = numbers or range(1, count + 1)
    if not count == len(citations) == len(headers) == len(also_in) == len(numbers):
        raise OptionError(
            f"there are {count} texts, {len(citations)} citations, {len(headers)} headers, "
            f"{len(also_in)} numbers of copies and {len(numbers)} numbers; give one of each for "
            "each text"
        )
    names = [name for c in citations for name in (c.knowledge_base, c.document_id)]
    tag = fence_tag([*texts, *headers, *names])
    rows = zip(numbers, texts, citations, headers, also_in, strict=True)
    return render_context(
        [
            render_segment(
                tag, number=number, citation=citation, header=header, text=text, also_in=copies
            )
            for number, text, citation, header, copies in rows
        ]
    )
