"""The things that a question compares, and one query for each of them.

Rules:
    A thing is a name in the question that identifies documents by their titles: a run of words that
    occur together in a title ("Kraft Heinz"). Title words include the file name and cover fields.
    A run is a name if it is written as one. In lower case, most chunks with its words must be in
    its own documents ("costco", unlike "revenue"). A single word must also be a possessive, stand
    next to another name or in a list with one, or the question must have words that express a
    comparison. Without any of these, at least two names are needed, all in lower case, that hardly
    any other document contains.
    Names that share a document are one thing. The question is then about the common document.
    A question compares if it names at least two things. If it names one thing and several years
    that have different documents of the thing, it compares these years. Two successive years need
    words that express a comparison, because a report usually covers both.
    If documents of a thing end their period at a date or month of the question (`periods`), only
    these documents are meant. With one thing and several such dates, it compares the dates. Without
    a thing, a date in "the quarter ended April 1, 2023" names its documents.
    The query of a thing is the question without the names of the others. Lists of names are
    shortened to the one name, and words such as "compare" are left out. If a list of things is
    asked about another name ("sales of A and B to C"), that name stays in every query.
    A name is unmatched if a list joins it with a thing, no title contains it, and the documents of
    the things mention it only in passing. With a single thing, the question must have words that
    express a comparison: "an agreement between A and B" has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.core.ranking.named_things import (
    CONTRACT,
    PASSING,
    POSSESSIVE,
    YEAR,
    QuestionWord,
    QuestionWords,
)
from spanwise.core.ranking.periods import asks_latest, read_periods

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanwise.core.ranking.periods import Period
    from spanwise.core.ranking.question import Question
    from spanwise.core.ranking.scan import Scan

PeriodEnds = Callable[[Sequence[int]], Sequence[date | None]]
"""Function that returns the end of the period of each document, by positions in the scan."""

MAX_THINGS = 8
"""Maximum number of things; a question with more is searched as a whole."""
_MAX_WORDS = 128  # of a question; the time to find lists grows with their square
_MAX_DOCUMENTS = 256  # a name with more documents does not identify any of them
_MAX_SHARE, _MANY = 0.5, 10
"""Share and number of documents. Words in more titles than both are a kind of document, no name."""
_COMMON, _COMMON_CHUNKS = 0.01, 20
"""Share and number of chunks. The words of a name are common if they occur in more than both."""
# Minimum part of the chunks with the words of a name that must be in its own documents:
_OWN_SHARE = 0.5  # for a name in lower case
_MIN_OWN_SHARE = 0.3  # for a capitalised name with common words
_OTHERWISE_OWN_SHARE = 0.95  # for a single word in lower case, without any other sign of a name
_PART_OWN_SHARE = 0.9  # for an adjective, or a part of a longer name
_SUFFIX = re.compile(
    r"(?:,? (?:inc|incorporated|corp|corporation|company|co|ltd|limited|plc|llc|ag|se)\b\.?"
    r"(?!\w))+",
    re.IGNORECASE,
)
_JOINED = re.compile(r"(?: ?[-&/] ?|\.? )")
_LIST = re.compile(
    r"\s*(?:(?:[,;/&+]|\b(?:and|or|nor|vs|versus|against|than|und|et|y|e|oder|ou|o)\b)\.?\s*)+"
    r"(?:(?:that|those) of\s+)?(?:the\s+)?",
    re.IGNORECASE,
)
"""Text between two names of a list."""
_FRAME = re.compile(
    r"\b(?:compar(?:e|es|ed|ing|ison|isons)(?: (?:to|with|of))?|versus|vs\.?)(?!\w)", re.IGNORECASE
)
"""Words that express a comparison and say nothing about one thing; they are not searched."""
_CUE = re.compile(
    r"\b(?:differs?|differences?|different|both|either|than|stacks? up|measures? up|relative to"
    r"|against|higher|lower|larger|bigger|greater|smaller|more|less|fewer|better|worse|who|whose"
    r"|which (?:one )?(?:of|compan(?:y|ies))|unlike|whereas|respectively|rank)\b",
    re.IGNORECASE,
)
"""Further words that express a comparison if the question names things."""
_MIXED = re.compile(r"(?=\D*\d)(?=.*[A-Z])(?!(?:19|20)\d\d|\d+-?[KQ])\w[\w-]*")
"""A name with a digit, such as "3M". Periods ("2Q21"), dates and forms ("10-K") do not match."""
_NUMBERED = re.compile(
    r"\b(?:notes?|items?|sections?|articles?|clauses?|parts?|chapters?|schedules?|exhibits?"
    r"|tables?|pages?) \Z",
    re.IGNORECASE,
)
"""Text before a number that is no name: the number of a part of a document."""
_ABOUT = re.compile(
    r"(?<!compare)(?<!compared)(?<!comparison)(?<!relative)(?<!differ)(?<!different)"
    r" (?:to|on|from|by|with) (?:the )?\Z",
    re.IGNORECASE,
)
"""Text before a name that the question is about: "sales to Walmart", unlike "compared to"."""
_SPACES = re.compile(r"\s+")
_DANGLING = re.compile(
    r"\b(?:and|or|nor|against|with|to|of|is|than|between)(?= *(?:[?.!:;,]|$))|^\W+", re.IGNORECASE
)
"""Words that a removed name leaves at an end."""
_BEFORE_MARK = re.compile(r" +(?=[?.!:;,])")


class ComparedThing(NamedTuple):
    """One of the things that a question compares."""

    name: str
    """Name as written in the question."""
    query: str
    """Question about this thing alone."""
    documents: tuple[int, ...]
    """Positions in the scan of its documents, ascending."""


class Comparison(NamedTuple):
    """Things that a question compares."""

    things: tuple[ComparedThing, ...] = ()
    """The things in the order of the question; empty if it does not compare things."""
    unmatched: tuple[str, ...] = ()
    """Names that the question lists with a thing and that no title contains."""
    named: tuple[int, ...] = ()
    """Positions in the scan of the documents of the only thing that the question names."""
    uncovered: tuple[str, ...] = ()
    """Dates at which a period of the question ends, and that no document of the only thing covers.
    A report also covers the same days of the two years before."""
    parties: tuple[tuple[int, ...], ...] = ()
    """Columns in the scan of the words of each name that has several words and that no title
    contains completely."""


NO_COMPARISON = Comparison()
"""Result for a question that compares nothing and lists no name."""


@dataclass(slots=True, eq=False)
class _Name:
    """A name in the question: the text `[start, end)` with the documents that it identifies."""

    start: int
    end: int
    columns: list[int]
    """Columns of its words in the scan."""
    documents: NDArray[np.bool_]
    """Whether each document has all words in its title, (D,)."""
    is_certain: bool = True
    """Whether it counts as a name by itself. Otherwise, it counts only in a list with a name."""
    is_marked: bool = True
    """Whether it is written as a name, or as a possessive."""
    is_own: bool = False
    """Whether hardly any other document contains its words, in a question in lower case."""


def find_comparison(
    question: Question, scan: Scan, *, period_ends: PeriodEnds | None = None
) -> Comparison:
    """Return the things that a question compares.

    Args:
        question: Question with its search terms.
        scan: Result of the search for the question, with a column for each term.
        period_ends: Function that returns the end of the period of each document, given their
            positions in the scan; None to ignore dates.
    """
    if len(question.words) > _MAX_WORDS or scan.documents < 2:
        return NO_COMPARISON
    reader = _Reader(question, scan, period_ends)
    names = reader.names()
    things = _distinct(names)
    named: tuple[int, ...] = ()
    uncovered: tuple[str, ...] = ()
    if len(things) == 1:
        uncovered = reader.uncovered(things[0].documents)
        every = np.logical_and.reduce([name.documents for name in names])
        dated = reader.dated(every if every.any() else things[0].documents)
        named = _positions(np.logical_or.reduce([name.documents for name in dated]))
        years = reader.years(things[0].documents)
        for compared in (dated, years):
            if len(_distinct(compared)) > 1:
                names, things = compared, _distinct(compared)
                break
    elif not things:
        named = reader.ended()
    unmatched = reader.unmatched(names) if len(things) > 1 or (things and reader.has_cue) else []
    if not 2 <= len(things) <= MAX_THINGS:
        shown = tuple(dict.fromkeys(map(reader.shown, unmatched)))
        return Comparison(
            unmatched=shown, named=named, uncovered=uncovered, parties=reader.parties()
        )
    topics = reader.topics(names)
    others = [name for name in names if name not in topics]
    spans = sorted([*others, *unmatched], key=lambda name: name.start)
    return Comparison(
        things=tuple(
            ComparedThing(
                name=reader.shown(thing),
                query=_query(reader.text, spans, thing),
                documents=_positions(
                    np.logical_or.reduce([n.documents for n in reader.dated(thing.documents)])
                ),
            )
            for thing in things
        ),
        unmatched=tuple(dict.fromkeys(map(reader.shown, unmatched))),
    )


def _is_in(period: Period, end: date | None) -> bool:
    return end is not None and period.first <= end <= period.last


def _positions(documents: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(documents).tolist())


def _distinct(names: Sequence[_Name]) -> list[_Name]:
    """Return the first name of each group of names that share documents, with all of these."""
    things: list[_Name] = []
    for name in names:
        same = [thing for thing in things if (thing.documents & name.documents).any()]
        documents = np.logical_or.reduce([name.documents, *(thing.documents for thing in same)])
        first = same[0] if same else name
        merged = _Name(first.start, first.end, first.columns, documents)
        things = [merged if thing is first else thing for thing in things if thing not in same[1:]]
        if not same:
            things.append(merged)
    return things


def _query(text: str, spans: Sequence[_Name], thing: _Name) -> str:
    """Return the question about one thing, without the other names and what joins them in lists.

    If the thing has one name, it takes the place of the first name: "Is the fee of Aldera higher
    than Birchwood's?" becomes "Is the fee of Birchwood higher?".
    """
    own = [span for span in spans if (span.documents & thing.documents).any()]
    shown = {span.start: text[span.start : span.end] for span in own}
    if len(own) == 1 and own[0] is not spans[0]:
        first = spans[0]
        is_possessive = POSSESSIVE.search(text[first.start : first.end]) is not None
        name = POSSESSIVE.sub("", shown[own[0].start])
        shown = {first.start: f"{name}'s" if is_possessive else name}
    parts: list[str] = []
    end = 0
    was_kept = True
    for span in spans:
        is_kept = span.start in shown
        gap = text[end : span.start]
        if parts and not (is_kept and was_kept) and _LIST.fullmatch(gap):
            gap = " "
        parts += [gap, shown[span.start] if is_kept else " "]
        end, was_kept = span.end, is_kept
    whole = "".join([*parts, text[end:]])
    plain = _FRAME.sub(" ", whole)
    for pattern, replacement in ((_SPACES, " "), (_DANGLING, ""), (_BEFORE_MARK, "")):
        plain = pattern.sub(replacement, plain).strip()
    return plain or whole


class _Reader:
    """Names, years and lists of one question; D documents, T terms."""

    def __init__(self, question: Question, scan: Scan, period_ends: PeriodEnds | None) -> None:
        self._words = QuestionWords(question, scan)
        self._scan = scan
        self._period_ends = period_ends
        self._periods = read_periods(self._words.text)
        self._has_case = self._words.has_case()
        self._written = self._words.names()
        self.text = self._words.text
        self.has_cue = question.compares or any(
            pattern.search(self.text) for pattern in (_FRAME, _CUE)
        )

    def shown(self, name: _Name) -> str:
        """Return a name without a legal form and a possessive ending."""
        text = POSSESSIVE.sub("", self.text[name.start : name.end])
        return _SUFFIX.sub("", text) or text

    def names(self) -> list[_Name]:
        """Return the names that identify documents."""
        runs = list(self._runs())
        certain = [run for run in runs if run.is_certain]
        names = [
            run
            for run in certain
            if run.is_marked or self.has_cue or self._is_listed(run, certain, adjacent=True)
        ]
        own = [run for run in certain if run in names or run.is_own]
        if len(_distinct(own)) > 1:
            names = own
        return [run for run in runs if run in names or self._is_listed(run, names)]

    def years(self, documents: NDArray[np.bool_]) -> list[_Name]:
        """Return the compared years of the question that are in titles of some documents."""
        found: dict[int, list[_Name]] = {}
        for word in self._words.words:
            year = YEAR.fullmatch(self._words.shown(word)) if word.is_titled else None
            titled = self._scan.document_titles[:, word.column] & documents
            if year and titled.any():
                found.setdefault(int(year[1]), []).append(
                    _Name(word.start, word.end, [word.column], titled)
                )
        years = sorted(found)
        is_compared = len(years) > 2 or self.has_cue or (years and years[-1] - years[0] > 1)
        return [name for names in found.values() for name in names] if is_compared else []

    def dated(self, documents: NDArray[np.bool_]) -> list[_Name]:
        """Return the dates and months of the question at which some documents end their period.

        If there are none, return all of these documents as one name, or the last one of them.
        """
        whole = [_Name(0, 0, [], documents)]
        periods = self._periods
        if self._period_ends is None or not (periods or asks_latest(self.text)):
            return whole
        positions = _positions(documents)
        ends = dict(zip(positions, self._period_ends(positions), strict=True))
        known = [end for end in ends.values() if end is not None]
        found = [
            (period.start, period.end, {at for at, end in ends.items() if _is_in(period, end)})
            for period in periods
        ]
        if not periods and known:
            found = [(0, 0, {at for at, end in ends.items() if end == max(known)})]
        names = [
            _Name(start, end, [], np.isin(np.arange(len(documents)), sorted(selected)))
            for start, end, selected in found
            if selected
        ]
        return names or whole

    def uncovered(self, documents: NDArray[np.bool_]) -> tuple[str, ...]:
        """Return the dates of the question at which a period ends that no document covers."""
        periods = [period for period in self._periods if period.is_end]
        if self._period_ends is None or not periods:
            return ()
        known = [end for end in self._period_ends(_positions(documents)) if end is not None]
        return tuple(
            self.text[period.start : period.end]
            for period in periods
            if known
            and not any(_is_in(period.later(years), end) for years in range(3) for end in known)
        )

    def ended(self) -> tuple[int, ...]:
        """Return the positions of the documents whose period ends as the question says.

        Empty if they are more than half of the documents, because they do not differ in it then.
        """
        periods = [period for period in self._periods if period.is_end]
        count = len(self._scan.handles)
        if self._period_ends is None or not periods or count > _MAX_DOCUMENTS:
            return ()
        ends = self._period_ends(range(count))
        found = [at for at, end in enumerate(ends) if any(_is_in(one, end) for one in periods)]
        return tuple(found) if len(found) <= _MAX_SHARE * self._scan.documents else ()

    def unmatched(self, names: Sequence[_Name]) -> list[_Name]:
        """Return the names in a list with a thing that no title contains."""
        scan, none = self._scan, np.zeros(len(self._scan.handles), dtype=bool)
        about = np.logical_or.reduce([name.documents for name in names])
        found: list[_Name] = []
        for words in self._written:
            if any(name.start < words[-1].end and words[0].start < name.end for name in names):
                continue
            columns = [word.column for word in words]
            name = _Name(words[0].start, self._end(words[-1]), columns, none)
            chunks = scan.document_terms[about][:, columns].min(axis=1)
            is_passing = bool((chunks <= PASSING * scan.document_chunks[about]).all())
            if is_passing and self._is_listed(name, names):
                found.append(name)
        return found

    def topics(self, names: Sequence[_Name]) -> list[_Name]:
        """Return the names that a question about a list of others is also about."""
        listed = [name for name in names if self._is_listed(name, names)]
        return [
            name
            for name in names
            if listed and name not in listed and _ABOUT.search(self.text[: name.start])
        ]

    def parties(self) -> tuple[tuple[int, ...], ...]:
        """Return the columns of each name of several words that no title contains completely."""
        titles = self._scan.document_titles
        names = [tuple(dict.fromkeys(w.column for w in name)) for name in self._written]
        return tuple(
            columns
            for columns in names
            if len(columns) > 1 and not titles[:, list(columns)].all(axis=1).any()
        )

    def _is_listed(self, name: _Name, others: Sequence[_Name], *, adjacent: bool = False) -> bool:
        """Return whether only words and marks of a list are between a name and one of the others.

        If `adjacent` is True, a single space between them is enough.
        """
        gaps = [
            self.text[min(name.end, other.end) : max(name.start, other.start)]
            for other in others
            if other is not name
        ]
        return any(_LIST.fullmatch(gap) or (adjacent and gap == " ") for gap in gaps)

    def _runs(self) -> Iterator[_Name]:
        """Yield the longest runs of words that occur together in a title."""
        run: list[QuestionWord] = []
        documents = np.zeros(0, dtype=bool)
        for word in self._words.words:
            titled = (
                self._scan.document_titles[:, word.column]
                if word.is_titled and not self._is_date_or_kind(word)
                else np.zeros(len(self._scan.handles), dtype=bool)
            )
            is_joined = run and _JOINED.fullmatch(self.text[run[-1].end : word.start])
            if is_joined and (documents & titled).any():
                run.append(word)
                documents = documents & titled
                continue
            if run:
                yield from self._name(run, documents)
            run, documents = ([word], titled) if titled.any() else ([], documents)
        if run:
            yield from self._name(run, documents)

    def _is_date_or_kind(self, word: QuestionWord) -> bool:
        """Return whether a word is a year, a part of a date or month, or a kind of document."""
        is_inside = any(one.start <= word.start < one.end for one in self._periods)
        text = self._words.shown(word)
        return is_inside or YEAR.fullmatch(text) is not None or CONTRACT.match(text) is not None

    def _name(self, run: Sequence[QuestionWord], documents: NDArray[np.bool_]) -> Iterator[_Name]:
        """Yield a run as a name if it may identify its documents."""
        scan, columns = self._scan, [word.column for word in run]
        text = self._words.shown(run[0], run[-1])
        count = np.count_nonzero(documents)
        is_kind = count > _MAX_SHARE * scan.documents and count >= _MANY
        is_specific = any(map(self._words.is_specific, run))
        is_numbered = text.isdecimal() and _NUMBERED.search(self.text[: run[0].start])
        if is_kind or is_numbered or not is_specific or count > _MAX_DOCUMENTS:
            return
        chunks = scan.document_terms[:, columns].min(axis=1)
        own_share = float(chunks[documents].sum() / max(int(chunks.sum()), 1))
        is_common = chunks.sum() > max(_COMMON_CHUNKS, _COMMON * scan.all_chunks)
        end = self._end(run[-1])
        is_written = self._has_case and any(map(self._is_written, run))
        least = _OWN_SHARE
        if is_written:
            least = _MIN_OWN_SHARE if is_common else 0.0
        is_adjective = len(run) == 1 and self._words.is_adjective(run[0])
        if is_adjective or self._is_part(run):  # "American", or "Sciences" of "Novo Sciences"
            least = _PART_OWN_SHARE
        is_certain = own_share >= least
        is_marked = is_written or len(run) > 1 or self._words.is_possessive(run[-1].end)
        is_own = not is_marked and self.text.islower() and own_share >= _OTHERWISE_OWN_SHARE
        yield _Name(run[0].start, end, columns, documents, is_certain, is_marked, is_own)

    def _is_written(self, word: QuestionWord) -> bool:
        """Return whether a word is written as a name, capitalised or with a digit ("3M")."""
        is_name = word.is_name or _MIXED.fullmatch(self._words.shown(word)) is not None
        return is_name and self._words.is_specific(word)

    def _is_part(self, run: Sequence[QuestionWord]) -> bool:
        """Return whether a run is a part of a name with words that no title contains."""
        return any(not word.is_titled for name in self._written if run[0] in name for word in name)

    def _end(self, last: QuestionWord) -> int:
        """Return the end of a name with its legal form and possessive ending."""
        end = last.end
        for ending in (_SUFFIX, POSSESSIVE):
            match = ending.match(self.text, end)
            end = match.end() if match else end
        return end
