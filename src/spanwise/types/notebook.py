"""HTML of results for notebooks.

Rules:
    Styles are inline, because notebooks remove style sheets.
    Colours are those of the surrounding text, or one accent that is readable in light and dark
    themes.
    All text of documents, questions and models is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_ACCENT = "#2f81f7"
_ALARM = "#d1242f"
_HEIGHT = 22
_BAR, _GAP = 5, 1
_MAX_BARS = 160
_SHORT_CHARS = 280
_FRAME = "border-left:3px solid currentColor;padding:2px 0 6px 12px;margin:10px 0;max-width:52em"
_STRIP = "display:flex;gap:.4em;align-items:flex-end;min-width:0"
_SMALL = "font-size:85%;opacity:.75"
_WRAPPED = "white-space:pre-wrap;overflow-wrap:anywhere;margin:4px 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Data of one segment or excerpt that the notebook shows."""

    title: str
    """Title of the document."""
    place: str
    """Section path, pages and characters."""
    relevance: float
    """Relevance, in [0, 1], shown as a number."""
    relevances: tuple[float, ...]
    """Relevance of each chunk or span in order, in [0, 1], shown as bars."""
    text: str
    """Text of the segment or excerpt."""
    notes: tuple[str, ...] = ()
    """Remarks shown below the text."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: "1 chunk", "1,200 chunks"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def strip_svg(relevances: Sequence[float], *, label: str) -> str:
    """Return a bar chart of relevance as SVG, on a square-root scale.

    Each bar is one chunk. Beyond 160 chunks, a bar is the maximum of several chunks.

    Args:
        relevances: Relevance of each chunk in order, in [0, 1]; if empty, the result is empty.
        label: Description of the chart for screen readers.
    """
    if not relevances:
        return ""
    step = -(-len(relevances) // _MAX_BARS)
    bars = [max(relevances[at : at + step]) for at in range(0, len(relevances), step)]
    parts = []
    for number, relevance in enumerate(bars):
        height = max(1.0, round(math.sqrt(min(max(relevance, 0.0), 1.0)) * _HEIGHT, 1))
        parts.append(
            f'<rect x="{number * (_BAR + _GAP)}" y="{round(_HEIGHT - height, 1)}" '
            f'width="{_BAR}" height="{height}"/>'
        )
    width = len(bars) * (_BAR + _GAP)
    return (
        f'<svg role="img" aria-label="{escape(label)}" width="{width}" height="{_HEIGHT}" '
        f'viewBox="0 0 {width} {_HEIGHT}" preserveAspectRatio="none" '
        f'style="fill:{_ACCENT};min-width:0">'
        f"{''.join(parts)}</svg>"
    )


def cards_html(
    question: str, *, summary: str, cards: Sequence[Card], remarks: Sequence[str] = ()
) -> str:
    """Return a search result as HTML: question, summary, remarks, and a card per segment.

    Args:
        question: Question of the search.
        summary: Size of the result in one line.
        cards: Segments or excerpts in reading order.
        remarks: Warnings and notes, shown above the cards.
    """
    lines = [
        f'<div><div dir="auto" style="font-weight:600">{escape(question)}</div>',
        f'<div style="{_SMALL}">{escape(summary)}</div>',
    ]
    lines += [f'<div style="margin-top:4px">⚠ {escape(remark)}</div>' for remark in remarks]
    lines += [_card(card) for card in cards]
    return "".join([*lines, "</div>"])


def _card(card: Card) -> str:
    label = f"relevance of {counted(len(card.relevances), 'chunk')}, at most {card.relevance:.2f}"
    notes = "".join(f'<div style="{_SMALL}">{escape(note)}</div>' for note in card.notes)
    return (
        f'<div style="{_FRAME}">'
        '<div style="display:flex;flex-wrap:wrap;gap:0 1em;justify-content:space-between;'
        'align-items:flex-end">'
        f'<div dir="auto" style="font-weight:600">{escape(card.title)}</div>'
        f'<div style="{_STRIP}">{strip_svg(card.relevances, label=label)} '
        f'<span style="font-variant-numeric:tabular-nums">{card.relevance:.2f}</span></div></div>'
        f'<div dir="auto" style="{_SMALL}">{escape(card.place)}</div>'
        f"{_text(card.text)}{notes}</div>"
    )


def _text(text: str) -> str:
    """Return a text as HTML; a long text is collapsed after its beginning."""
    style = f'dir="auto" style="{_WRAPPED}"'
    text = text.strip()
    if len(text) <= 2 * _SHORT_CHARS:
        return f"<div {style}>{escape(text)}</div>"
    cut = text.rfind(" ", 0, _SHORT_CHARS)
    short = text[: cut if cut > 0 else _SHORT_CHARS]
    return (
        f"<details><summary {style}>{escape(short)} …</summary><div {style}>"
        f"{escape(text)}</div></details>"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuoteCard:
    """Data of one citation of an answer that the notebook shows."""

    mark: str
    """Marker in the text of the answer, such as "[1]"."""
    place: str
    """Document, section path, pages and characters; a remark if the quote was not found."""
    quote: str
    """Quoted text."""
    is_verified: bool
    """Whether the quote was found in the stored text."""


def answer_html(
    question: str,
    *,
    text: str,
    summary: str,
    quotes: Sequence[QuoteCard],
    remarks: Sequence[str] = (),
) -> str:
    """Return an answer as HTML: the question, a summary, the answer, remarks and quotes.

    Args:
        question: Question that was answered.
        text: Text of the answer.
        summary: Model and number of texts read, in one line.
        quotes: Citations ordered by number.
        remarks: Conflicts and warnings.
    """
    lines = [
        f'<div><div dir="auto" style="font-weight:600">{escape(question)}</div>',
        f'<div style="{_SMALL}">{escape(summary)}</div>',
        f'<div dir="auto" style="{_WRAPPED};max-width:52em">{escape(text)}</div>',
    ]
    lines += [f'<div style="margin-top:4px">⚠ {escape(remark)}</div>' for remark in remarks]
    for quote in quotes:
        colour = "" if quote.is_verified else f";border-color:{_ALARM}"
        lines.append(
            f'<div style="{_FRAME}{colour}">'
            f'<div dir="auto" style="{_SMALL}">{escape(f"{quote.mark} {quote.place}")}</div>'
            f'<div dir="auto" style="{_WRAPPED}">“{escape(quote.quote)}”</div></div>'
        )
    return "".join([*lines, "</div>"])
