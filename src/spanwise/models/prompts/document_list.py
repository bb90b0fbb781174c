"""List of documents for a model that writes queries: filings by company, other documents by title.

Rules:
    A line names a company with the form, fiscal year and end of period of each of its filings
    ("Best Buy: 10-K fiscal 2018 (to 2019-02-02), 10-K fiscal 2023"; "3M: 10-K 2018" for a calendar
    year). Many filings of one form are one item with a range; more are listed one by one if the
    question names the company. A title that says no more is not listed.
    Up to 50 documents are listed completely. Of more documents, only lines that share a word with
    the question are listed, best first, after a line that counts the forms.
    The list is limited in lines and characters, because each token is paid.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from spanwise.core.text.terms import words
from spanwise.filters import single_values

if TYPE_CHECKING:
    from spanwise.types import DocumentRecord, Scalar

_SMALL_STORE = 50
_MAX_LINES, _MAX_CHARS = 50, 6_000
_TITLE_CHARS, _NAME_CHARS, _ITEM_CHARS = 120, 60, 20
_MAX_OF_FORM, _MAX_OF_NAMED, _MAX_FORMS = 8, 24, 6
_ANNUAL, _EVENTS = ("10-K", "20-F", "40-F", "annual report"), ("8-K", "6-K")


class DocumentList(NamedTuple):
    """Lines about documents."""

    text: str
    """Lines, joined by line breaks; empty if there are none."""
    is_complete: bool
    """Whether every document is listed."""


class _Line(NamedTuple):
    text: str
    shared: int
    """Number of words that the line shares with the question."""


def document_list(
    records: Sequence[DocumentRecord], *, question_words: Collection[str]
) -> DocumentList:
    """Return the list of some documents.

    Args:
        records: Records of the documents.
        question_words: Words of the question, as `folded_words` returns them.
    """
    known = frozenset(question_words)
    is_small = len(records) <= _SMALL_STORE
    filing_of = [_filing(record) for record in records]
    filings = [filing for filing in filing_of if filing is not None]
    lines = [*_company_lines(filings, known), *_title_lines(records, filing_of, known)]
    best = sorted(lines, key=lambda line: (-line.shared, line.text))
    shown = [] if is_small else _overview(filings)
    listed = [line.text for line in best if is_small or line.shared]
    shown = _within_limit([*shown, *listed])
    return DocumentList("\n".join(shown), is_small and len(shown) == len(lines))


def folded_words(text: str) -> tuple[str, ...]:
    """Return the words of a text without case and punctuation, for comparison."""
    return tuple(word.casefold() for word in words(unicodedata.normalize("NFC", text)))


def one_line(text: str, chars: int) -> str:
    """Return a text as one line of at most `chars` characters."""
    line = " ".join(text.split())
    return line if len(line) <= chars else line[: chars - 1] + "…"


class _Filing(NamedTuple):
    company: str
    form: str
    year: str
    end: str

    @property
    def item(self) -> str:
        """Form, fiscal year and end of the period; the end of a calendar year is omitted."""
        if self.form.startswith(_ANNUAL) and self.end == f"{self.year}-12-31":
            return f"{self.form} {self.year}"
        year = f" fiscal {self.year}" if self.year else ""
        if not self.end:
            return f"{self.form}{year}"
        is_event = self.form.startswith(_EVENTS)
        return f"{self.form}{year} {self.end}" if is_event else f"{self.form}{year} (to {self.end})"


def _filing(record: DocumentRecord) -> _Filing | None:
    fields = single_values(record.metadata)
    company, form = _text(fields, "company", _NAME_CHARS), _text(fields, "form", _ITEM_CHARS)
    if not company or not form:
        return None
    year, end = _text(fields, "fiscal_year", _ITEM_CHARS), _text(fields, "period_end", _ITEM_CHARS)
    return _Filing(company, form, year, end)


def _text(fields: Mapping[str, Scalar], name: str, chars: int) -> str:
    return one_line(str(fields.get(name, "")), chars)


def _company_lines(filings: Collection[_Filing], known: frozenset[str]) -> list[_Line]:
    """Return a line for each company, with its filings in the order of form and period."""
    by_company: dict[str, dict[str, list[_Filing]]] = {}
    for filing in sorted(set(filings), key=lambda filing: (filing.form, filing.year, filing.end)):
        by_company.setdefault(filing.company, {}).setdefault(filing.form, []).append(filing)
    lines = []
    for company, forms in by_company.items():
        shared = len(known.intersection(folded_words(company)))
        items = [item for own in forms.values() for item in _items(own, is_named=shared > 0)]
        lines.append(_Line(f"{company}: {', '.join(items)}", shared))
    return lines


def _items(filings: Sequence[_Filing], *, is_named: bool) -> list[str]:
    """Return the items of the filings of one form, or one item with their range for many."""
    most = _MAX_OF_NAMED if is_named else _MAX_OF_FORM
    return [filing.item for filing in filings] if len(filings) <= most else [_range(filings)]


def _range(filings: Sequence[_Filing]) -> str:
    """Return the number, form and range of periods of many filings as one item."""
    form = filings[0].form
    years = sorted({filing.year for filing in filings if filing.year})
    ends = sorted({filing.end for filing in filings if filing.end})
    name, values = ("fiscal ", years) if years else ("", ends)
    period = f", {name}{values[0]} to {values[-1]}" if values else ""
    return f"{len(filings):,} × {form}{period}"


def _overview(filings: Collection[_Filing]) -> list[str]:
    """Return a line with the number and periods of the most frequent forms; empty for none."""
    by_form: dict[str, list[_Filing]] = {}
    for filing in filings:
        by_form.setdefault(filing.form, []).append(filing)
    most = sorted(by_form.values(), key=lambda own: (-len(own), own[0].form))[:_MAX_FORMS]
    return [f"All companies: {'; '.join(map(_range, most))}"] if most else []


def _title_lines(
    records: Sequence[DocumentRecord], filings: Sequence[_Filing | None], known: frozenset[str]
) -> list[_Line]:
    """Return a line for each title that says more than the line of its company."""
    titles: dict[str, int] = {}
    for record, filing in zip(records, filings, strict=True):
        title_words = folded_words(record.title)
        if filing is not None and set(title_words) <= set(folded_words(" ".join(filing))):
            continue
        if record.title:
            titles[one_line(record.title, _TITLE_CHARS)] = len(known.intersection(title_words))
    return [_Line(title, shared) for title, shared in titles.items()]


def _within_limit(lines: Sequence[str]) -> list[str]:
    shown: list[str] = []
    chars = 0
    for line in (one_line(line, _MAX_CHARS // 4) for line in lines[:_MAX_LINES]):
        chars += len(line) + 1
        if chars > _MAX_CHARS:
            break
        shown.append(line)
    return shown
