"""Score texts of PDF filings by evidence that people marked: words, rows, titles, outlines."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

__all__ = [
    "Evidence",
    "Rates",
    "Reading",
    "evidence_words",
    "letters",
    "read_evidence",
    "score_evidence",
    "score_outline",
]

_WORD = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_FIGURES = re.compile(r"[\s$€%()—–\-]*(?:(?:\d[\d,.]*|NM|nm|N/[AM]|\*)[\s$€%()—–\-]*)+\Z")
_TITLE = re.compile(
    r"(?:(?:condensed|consolidated|unaudited|combined|supplemental)\s+)*"
    r"(?:(?:condensed|consolidated)\s+)"
    r"(?:balance\s+sheets?|results\s+of\s+operations"
    r"|statements?\s+of\s+(?:\w+\s+)?(?:income|operations|earnings|cash\s+flows?"
    r"|comprehensive\s+income|financial\s+(?:position|condition)|stockholders|shareholders)"
    r"(?:’s|'s)?(?:\s+\(loss\)|\s+equity)?)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A page of a document that answers a question."""

    document: str
    page: int
    text: str


@dataclass(slots=True)
class Reading:
    """What an engine made of a file."""

    pages: list[str]
    headings: list[tuple[int, int, str]] | None = None
    """Page, level and title; None where the engine finds none."""
    removed: list[str] = field(default_factory=list)
    """What was taken out of each page on purpose."""
    seconds: float = 0.0
    read_pages: int = 0
    """How many pages were read; 0 for all."""


@dataclass(slots=True)
class Rates:
    """Shares found so far."""

    found: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    asked: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, name: str, found: float, asked: float) -> None:
        """Count so many of so many."""
        self.found[name] += found
        self.asked[name] += asked

    def rate(self, name: str) -> float | None:
        """Return the share, None where nothing was asked."""
        return self.found[name] / self.asked[name] if self.asked[name] else None


def read_evidence(folder: Path) -> list[Evidence]:
    """Return the evidence of a dataset with pages, each page and text once."""
    found: dict[Evidence, None] = {}
    with (folder / "queries.jsonl").open(encoding="utf-8") as stream:
        for row in map(json.loads, stream):
            for item in row["evidence"]:
                evidence = Evidence(item["doc_id"], item["page"], item["text"])
                found[evidence] = None
    return list(found)


def score_evidence(evidence: Evidence, reading: Reading, rates: Rates, misses: list[str]) -> None:
    """Count words, rows and titles of one piece of evidence."""
    page = reading.pages[evidence.page] if evidence.page < len(reading.pages) else ""
    removed = reading.removed[evidence.page] if reading.removed else ""
    wanted, held = evidence_words(evidence.text), evidence_words(f"{page}\n{removed}")
    rates.add("words", sum((wanted & held).values()), sum(wanted.values()))
    lines = [line for line in page.split("\n") if line.strip()]
    numbers = [_NUMBER.findall(line) for line in lines]
    keys = [letters(line) for line in lines]
    for label, row in find_rows(evidence.text):
        places = [
            at for at, key in enumerate(keys) if letters(label) in key and _holds(numbers[at], row)
        ]
        own = len(_NUMBER.findall(label))
        alone = any(len(numbers[at]) <= len(row) + own + 1 for at in places)
        rates.add("rows", bool(places), 1)
        rates.add("rows alone", alone, 1)
        if not alone:
            misses.append(f"row {evidence.document} {evidence.page}: {label} {row}")
    titles = find_titles(evidence.text)
    if titles and reading.headings is not None:
        here = [letters(title) for at, _, title in reading.headings if at == evidence.page]
        found = any(letters(title) in key for title in titles for key in here)
        rates.add("titles", found, 1)
        if not found:
            misses.append(f"title {evidence.document} {evidence.page}: {titles} {here}")


def evidence_words(text: str) -> Counter[str]:
    """Return the words and numbers of a text, without case, with how often each stands in it."""
    return Counter(map(str.casefold, _WORD.findall(text)))


def letters(text: str) -> str:
    """Return letters and digits alone, without case."""
    return "".join(re.findall(r"[^\W_]+", text.casefold()))


def find_rows(text: str) -> list[tuple[str, list[str]]]:
    """Return the rows of a table whose cells may stand on lines of their own: label, numbers."""
    rows: list[tuple[str, list[str]]] = []
    label = ""
    numbers: list[str] = []
    for line in [*(line.strip() for line in text.split("\n")), "end"]:
        if line and _FIGURES.fullmatch(line):
            numbers += _NUMBER.findall(line)
            continue
        if not any(map(str.isalpha, line)):
            continue
        if label and len(numbers) >= 2 and _is_row(label, numbers):
            rows.append((label, numbers))
        match = re.fullmatch(r"(.*?[A-Za-z)\],:’.])\s+([$(—–-]*\s?\d[\d,.\s$€%()—–-]*)", line)
        if match and len(_NUMBER.findall(match[2])) >= 2:
            label, numbers = match[1], _NUMBER.findall(match[2])
        else:
            label, numbers = line, []
    usual = median([len(numbers) for _, numbers in rows]) if rows else 0
    return [row for row in rows if len(row[1]) <= 1.3 * usual]  # totals without a label run on


def _is_row(label: str, numbers: Sequence[str]) -> bool:
    """Return whether these are figures, not days and years of a head."""
    if sum(map(str.isalpha, label)) < 3 or len(label) > 90 or len(numbers) > 14:
        return False
    if re.search(r"(?:ended|january|december|march|june|september|months|year)", label, re.I):
        return False
    return any(
        "," in n or "." in n or not (int(n) <= 31 or 1900 <= int(n) <= 2100) for n in numbers
    )


def _holds(numbers: Sequence[str], row: Sequence[str]) -> bool:
    """Return whether the numbers of a row stand among others in their order."""
    left = iter(numbers)
    return all(number in left for number in row)


def find_titles(text: str) -> list[str]:
    """Return the titles of statements that stand on lines of their own."""
    found = []
    for line in text.split("\n"):
        match = _TITLE.search(line)
        if match and len(line.strip()) <= len(match.group()) + 40 and line.strip()[0].isupper():
            found.append(match.group())
    return found


def score_outline(
    entries: Sequence[tuple[int, str]], reading: Reading, plain: Sequence[str], rates: Rates
) -> None:
    """Count the titles of an outline, where they stand on their page, that are headings there."""
    if reading.headings is None:
        return
    here: dict[int, list[str]] = {}
    for page, _, title in reading.headings:
        here.setdefault(page, []).append(letters(title))
    for page, title in entries:
        key = letters(title)
        if len(key) < 3 or key not in letters(plain[page]):
            continue
        keys = here.get(page, [])
        rates.add("outline", any(key in other and len(other) <= len(key) + 20 for other in keys), 1)
