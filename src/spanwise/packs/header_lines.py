"""Line about a filing or a contract in the headers of its segments.

Rules:
    The line has what the title does not say: company, form, fiscal year and end of the period of a
    filing ("fiscal 2018, year ended 2019-02-02"); kind, parties and effective date of a contract.
    A filing without company or form, and a contract without kind or parties, has no line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spanwise.filters import items_of, single_values
from spanwise.types import MetadataValue

_BETWEEN = " · "
_MAX_CHARS = 160
_MAX_PARTIES = 3
_PERIODS = {"10-K": "year", "20-F": "year", "40-F": "year", "10-Q": "quarter"}
_EVENTS = ("8-K", "6-K")


def head_lines(
    title: str, *, summary: str, metadata: Mapping[str, MetadataValue]
) -> tuple[str, str]:
    """Return the two lines about a document in the headers of its segments.

    Args:
        title: Title of the document.
        summary: Its stored summary; may be empty.
        metadata: All of its metadata.

    Returns:
        The title, and the summary or else a line made of the metadata; the second may be empty.
    """
    return title, summary or header_line(metadata, title=title)


def header_line(fields: Mapping[str, MetadataValue], *, title: str) -> str:
    """Return the line of a filing or a contract; empty for other documents."""
    return filing_line(fields, title) or agreement_line(fields, title)


def filing_line(fields: Mapping[str, MetadataValue], title: str) -> str:
    """Return the line of a filing; empty for other documents and if the title says everything.

    Args:
        fields: Metadata of the document.
        title: Title of the document, whose contents are not repeated.
    """
    fields = single_values(fields)
    company, form = fields.get("company"), fields.get("form")
    if not company or not form:
        return ""
    return _line([str(company), str(form), filing_period(fields)], title=title)


def filing_period(fields: Mapping[str, MetadataValue]) -> str:
    """Return the period of a filing ("fiscal 2018, year ended 2019-02-02"); empty if unknown."""
    fields = single_values(fields)
    year, end = fields.get("fiscal_year"), fields.get("period_end")
    kind = str(fields.get("form", "")).removesuffix("/A")
    if kind in _EVENTS:
        return f"event of {end}" if end else ""
    ended = f"{_PERIODS.get(kind, 'period')} ended {end}" if end else ""
    return ", ".join(filter(None, (f"fiscal {year}" if year else "", ended)))


def agreement_line(fields: Mapping[str, MetadataValue], title: str) -> str:
    """Return the line of a contract; empty for other documents and if the title says everything.

    Args:
        fields: Metadata of the document.
        title: Title of the document, whose contents are not repeated.
    """
    kind = single_values(fields).get("agreement")
    parties = [str(party) for party in items_of(fields.get("parties", ()))]
    if not kind or not parties:
        return ""
    shown = parties[:_MAX_PARTIES]
    if all(_contains(title, party) for party in shown):
        shown = []
    elif len(parties) > _MAX_PARTIES:
        shown.append("others")
    day = single_values(fields).get("effective_date")
    names = " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))
    return _line([str(kind), names, f"effective {day}" if day else ""], title=title)


def _line(parts: Iterable[str], *, title: str) -> str:
    """Return the parts that the title does not contain, in one line."""
    flat = (" ".join(part.split()) for part in parts)
    line = _BETWEEN.join(part for part in flat if part and not _contains(title, part))
    return line if len(line) <= _MAX_CHARS else line[: _MAX_CHARS - 1] + "…"


def _contains(title: str, part: str) -> bool:
    return part.casefold() in title.casefold()
