"""Segments as a reader sees them: each inside a fence, under its header, in reading order.

What comes from a document is data to the model that reads it: text, title, headings and id. The
fence is a tag that none of them opens or closes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise.types import Citation

__all__ = ["SEPARATOR", "fence_tag", "frame", "opening_line", "render_context", "render_segment"]

SEPARATOR = "\n\n"
"""What stands between two segments."""
_TAG = "segment"
_WIDE_NUMBER = 999


def fence_tag(texts: Sequence[str]) -> str:
    """Return "segment", or the first of "segment_2" ... that no text opens or closes."""
    tag, number = _TAG, 1
    while any(f"</{tag}" in text or f"<{tag}" in text for text in texts):
        number += 1
        tag = f"{_TAG}_{number}"
    return tag


def opening_line(tag: str, number: int, citation: Citation) -> str:
    """Return the line that opens a segment and says where it stands."""
    pages = ""
    if citation.pages is not None:
        first, last = citation.pages
        pages = f' pages="{first}"' if first == last else f' pages="{first}-{last}"'
    document = citation.document_id.replace("&", "&amp;").replace('"', "&quot;")
    place = f'characters="{citation.start}-{citation.end}"'
    return f'<{tag} number="{number}" document="{document}"{pages} {place}>'


def render_segment(tag: str, *, number: int, citation: Citation, header: str, text: str) -> str:
    """Return a segment with its fence and header."""
    opening = opening_line(tag, number, citation)
    head = f"{opening}\n{header}" if header else opening
    return f"{head}\n\n{text.strip()}\n</{tag}>"


def frame(citation: Citation, header: str) -> str:
    """Return all that a segment costs besides its text, with as wide a number as there may be."""
    empty = render_segment(_TAG, number=_WIDE_NUMBER, citation=citation, header=header, text="")
    return empty + SEPARATOR


def render_context(parts: Sequence[str]) -> str:
    """Return rendered segments one after the other."""
    return SEPARATOR.join(parts)
