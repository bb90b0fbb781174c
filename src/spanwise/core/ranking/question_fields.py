"""Metadata fields that a question mentions, and metadata filters from a model's conditions.

Metadata comes from documents, which are untrusted. A language model may only choose among values
that the question itself mentions, so no document can cause a filter.

Rules of fields:
    A field is considered if at least half of the documents have it, with values of one kind.
    A text value is mentioned if the question contains all its words, or its first words if no other
    value begins with them ("Amazon" for "Amazon.com"), written as a name. A name has a digit or a
    capital letter. The first word of a sentence, and every noun in German, is capitalised anyway;
    such a word is a name only if it has a digit or a second capital.
    A field is dropped if the question may mention other values of it that are not written as names:
    a filter on the names would exclude them ("amazon and Microsoft").
    A number is mentioned if it is in the question and in the range of the values of the field. For
    dates (ISO 8601) the year is compared.
    If the question mentions no value of a field, the latest earlier question that does is used.

Rules of conditions:
    A condition must use a field and values that the question mentions, otherwise it is dropped. No
    text of a model is parsed as a filter.
    There is no "not", "<" or ">". Conditions on a field that would exclude a mentioned value are
    dropped: with "2016 and 2018", a filter on 2016 is wrong. A model that follows instructions in a
    document can therefore only omit a filter, or restrict it to mentioned values. Of the
    years of filings, the latest may be kept alone if the others are at most two years earlier,
    because an annual report states the two years before it too.
    Several values for "=" are alternatives; all other conditions must hold together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Literal

from spanwise.core.text.languages import question_language
from spanwise.core.text.terms import content_words
from spanwise.core.text.terms import words as plain_words
from spanwise.filters import field, items_of, kind_of, matches

if TYPE_CHECKING:
    from spanwise.filters import Filter, Kind
    from spanwise.types import MetadataValue, Scalar

_MAX_FIELDS, _MAX_VALUES = 20, 20
_MAX_NAME_CHARS, _MAX_VALUE_CHARS = 60, 100
_MAX_RUN_WORDS = 8
_MOST = 10**15  # larger numbers are not years, and slow to print
_WORD = re.compile(r"[^\W_]+(?:[-/&][^\W_]+)*")
_INNER = re.compile(r"[-/&]")
_SENTENCE_END = re.compile(r"[.?!:]\W*\s|[¿¡\n]")
NUMBER = re.compile(
    r"(?<![\w.,])(?:[^\W\d_]{1,2})?(\d{1,3}(?:,\d{3})+|\d{1,15})(\.\d{1,15})?+(?!\.?\w)"
)
DAY = re.compile(r"(\d{4})(?:-\d{2}(?:-\d{2})?)?(?:[T ].{0,40})?", re.ASCII)
"""Pattern of an ISO 8601 date, or of the beginning of one; the first group is the year."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionField:
    """A metadata field with the values that a question mentions."""

    name: str
    """Name of the field."""
    kind: Literal["text", "number", "day"]
    """Kind of its values."""
    mentioned: tuple[str | int | float, ...]
    """Mentioned values, ascending: stored texts, numbers, or years of dates."""
    between: tuple[int | float, int | float] | None = None
    """Lowest and highest value over all documents (years for dates); None for texts."""


def question_fields(
    question: str,
    *,
    earlier: Sequence[str] = (),
    documents: Sequence[Mapping[str, MetadataValue]],
    languages: Sequence[str] = (),
) -> tuple[QuestionField, ...]:
    """Return the fields with a value that a question mentions, by name.

    Args:
        question: Text of the question.
        earlier: Earlier questions of the conversation, in order.
        documents: Metadata of each document.
        languages: Languages of the documents.
    """
    values = _field_values(documents)
    mentions = [_Mentions(text, languages) for text in (question, *reversed(earlier))]
    fields = []
    for name in sorted(values):
        mentioned = next(
            (
                match
                for question_mentions in mentions
                if (match := question_mentions.field(name, values[name]))
            ),
            None,
        )
        if mentioned is not None:
            fields.append(mentioned)
    return tuple(fields[:_MAX_FIELDS])


def _field_values(
    documents: Sequence[Mapping[str, MetadataValue]],
) -> dict[str, dict[Scalar, None]]:
    """Return the distinct values of each field that most documents have."""
    counts: dict[str, int] = {}
    kinds: dict[str, set[Kind | None]] = {}
    values: dict[str, dict[Scalar, None]] = {}
    for metadata in documents:
        for name, value in metadata.items():
            counts[name] = counts.get(name, 0) + 1
            for item in items_of(value):
                kinds.setdefault(name, set()).add(kind_of(item))
                values.setdefault(name, {})[item] = None
    return {
        name: values[name]
        for name, count in counts.items()
        if 2 * count >= len(documents)
        and kinds.get(name) in ({"text"}, {"number"})
        and len(name) <= _MAX_NAME_CHARS
    }


class _Mentions:
    """Names and numbers that one question mentions."""

    def __init__(self, text: str, languages: Sequence[str]) -> None:
        self._names, self._runs = _runs(text, languages)
        self._numbers = sorted({read_number(match[1], match[2]) for match in NUMBER.finditer(text)})

    def field(self, name: str, values: Iterable[Scalar]) -> QuestionField | None:
        """Return a field with its mentioned values, or None if there are none."""
        texts = [value for value in values if isinstance(value, str)]
        if not texts:
            numbers = [value for value in values if not isinstance(value, str)]
            return self._of_numbers(name, numbers, kind="number")
        days = [DAY.fullmatch(text) for text in texts]
        years = [int(day[1]) for day in days if day is not None]
        if len(years) == len(texts):
            return self._of_numbers(name, years, kind="day")
        mentioned = _texts_with_prefix(texts, self._names)
        if not mentioned or mentioned != _texts_with_prefix(texts, self._runs):
            return None
        return QuestionField(name=name, kind="text", mentioned=tuple(mentioned[:_MAX_VALUES]))

    def _of_numbers(
        self, name: str, values: Sequence[int | float], *, kind: Literal["number", "day"]
    ) -> QuestionField | None:
        least, most = min(values), max(values)
        mentioned = [number for number in self._numbers if least <= number <= most]
        if not mentioned or max(-least, most) > _MOST:
            return None
        return QuestionField(
            name=name, kind=kind, mentioned=tuple(mentioned[:_MAX_VALUES]), between=(least, most)
        )


def _texts_with_prefix(texts: Sequence[str], runs: frozenset[tuple[str, ...]]) -> list[str]:
    """Return the texts equal to a word run, and texts that alone start with one; ascending."""
    matches: set[str] = set()
    texts_by_prefix: dict[tuple[str, ...], list[str]] = {}
    for text in texts:
        text_words = folded_words(text) if len(text) <= _MAX_VALUE_CHARS else ()
        for length in range(1, min(len(text_words), _MAX_RUN_WORDS) + 1):
            if text_words[:length] in runs:
                texts_by_prefix.setdefault(text_words[:length], []).append(text)
                if length == len(text_words):
                    matches.add(text)
    matches.update(
        texts_of_prefix[0]
        for texts_of_prefix in texts_by_prefix.values()
        if len(texts_of_prefix) == 1
    )
    return sorted(matches)


def folded_words(text: str) -> tuple[str, ...]:
    """Return the words of a text, case-folded and without inner punctuation."""
    return tuple(_INNER.sub("", word).casefold() for word in _WORD.findall(text))


def read_number(whole: str, decimals: str | None) -> int | float:
    """Return the number in a match of `NUMBER`, given its two groups."""
    plain = whole.replace(",", "")
    return float(plain + decimals) if decimals and decimals.strip(".0") else int(plain)


def _runs(
    text: str, languages: Sequence[str]
) -> tuple[frozenset[tuple[str, ...]], frozenset[tuple[str, ...]]]:
    """Return the runs of words that start with a name, and all runs; none starts at a stop word."""
    word_matches = list(_WORD.finditer(text))
    folded = folded_words(text)
    language = question_language(text, {"de", *languages})
    content = {word.casefold() for word in content_words(text, language=language)}
    stop_words = {word.casefold() for word in plain_words(text)} - content
    names: set[tuple[str, ...]] = set()
    runs: set[tuple[str, ...]] = set()
    has_case = not text.isupper()
    for at, word in enumerate(word_matches):
        if word[0].casefold() in stop_words:
            continue
        word_runs = {folded[at:end] for end in range(at + 1, at + 1 + _MAX_RUN_WORDS)}
        runs |= word_runs
        is_first = at == 0 or _SENTENCE_END.search(text[word_matches[at - 1].end() : word.start()])
        # The part of the word in which a capital letter marks a name.
        marking = word[0][1:] if is_first or language == "de" else word[0]
        if re.search(r"\d", word[0]) or (
            has_case and len(word[0]) > 1 and any(map(str.isupper, marking))
        ):
            names |= word_runs
    return frozenset(names), frozenset(runs)


_SHOWN_CHARS = 60
_FILING_YEARS = ("fiscal_year", "period_end")
_YEARS_OF_REPORT = 3
_SAME = {"==": "=", "in": "="}


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition as a model wrote it, not yet validated."""

    field: str
    """Name of the field."""
    operator: str
    """"=", ">=" or "<="; conditions with other operators are dropped."""
    values: tuple[str, ...]
    """Values as texts."""


def filter_of_conditions(
    conditions: Sequence[Condition],
    *,
    fields: Sequence[QuestionField],
) -> tuple[Filter | None, tuple[str, ...]]:
    """Return the filter of the valid conditions, or None, and warnings about dropped conditions.

    Args:
        conditions: Conditions of a model.
        fields: Fields that the question mentions.
    """
    fields_by_name = {item.name.casefold(): item for item in fields}
    values_by_condition: dict[tuple[str, str], list[Scalar]] = {}
    dropped: list[str] = []
    for condition in conditions:
        about = fields_by_name.get(condition.field.strip().casefold())
        operator = _SAME.get(condition.operator.strip(), condition.operator.strip())
        for text in condition.values or ("",):
            matching = [] if about is None else _matching_values(text, about, operator)
            if about is None or not matching:
                shown = (condition.field, operator, repr(text[:_SHOWN_CHARS]))
                dropped.append(" ".join(part[: _SHOWN_CHARS + 2] for part in shown))
            else:
                values_by_condition.setdefault((about.name, operator), []).extend(matching)
    warnings = list(_warnings(dropped))
    parts: list[Filter] = []
    for about in fields:
        own = [
            part
            for operator in ("=", ">=", "<=")
            if (values := list(dict.fromkeys(values_by_condition.get((about.name, operator), ()))))
            for part in _parts(about, operator, values)
        ]
        excluded = [value for value in about.mentioned if not _keeps(own, about, value)]
        if excluded and not _is_latest_year(about, excluded):
            warnings.append(
                f"the condition `{reduce(and_, own)}` was left out of the filter: the question "
                f"also says {excluded[0]!r}"
            )
        else:
            parts += own
    return reduce(and_, parts) if parts else None, tuple(warnings)


def _matching_values(text: str, about: QuestionField, operator: str) -> list[Scalar]:
    """Return the mentioned values of a field that equal a model's text."""
    if about.kind == "text":
        if operator != "=":
            return []
        return [
            value for value in about.mentioned if folded_words(str(value)) == folded_words(text)
        ]
    read = (DAY if about.kind == "day" else NUMBER).fullmatch(text.strip())
    if read is None or operator not in ("=", ">=", "<="):
        return []
    number = int(read[1]) if about.kind == "day" else read_number(read[1], read[2])
    return [value for value in about.mentioned if value == number]


def _parts(about: QuestionField, operator: str, values: Sequence[Scalar]) -> list[Filter]:
    """Return filters for the values of one operator, to be combined by `and`."""
    if operator == "=" and about.kind == "day":
        return [reduce(or_, (_since(about, year) & _until(about, year) for year in values))]
    if operator == "=":
        condition_field = field(about.name)
        return [condition_field == values[0] if len(values) == 1 else condition_field.is_in(values)]
    bound = _since if operator == ">=" else _until
    return [bound(about, value) for value in values]


def _keeps(parts: Sequence[Filter], about: QuestionField, value: Scalar) -> bool:
    """Return whether a document with this value, or a date in this year, passes all filters."""
    stored = f"{int(value):04d}-06" if about.kind == "day" else value
    return all(matches(part, {about.name: stored}) for part in parts)


def _is_latest_year(about: QuestionField, excluded: Sequence[Scalar]) -> bool:
    """Return whether a filter keeps the latest mentioned year, whose report states the others."""
    years = [year for year in about.mentioned if not isinstance(year, str)]
    if about.name not in _FILING_YEARS or len(years) < len(about.mentioned):
        return False
    return max(years) not in excluded and max(years) - min(years) < _YEARS_OF_REPORT


def _since(about: QuestionField, value: Scalar) -> Filter:
    return field(about.name) >= (f"{int(value):04d}" if about.kind == "day" else value)


def _until(about: QuestionField, value: Scalar) -> Filter:
    if about.kind == "day":  # texts that begin with the year come before the next one
        return field(about.name) < f"{int(value) + 1:04d}"
    return field(about.name) <= value


def _warnings(left_out: Sequence[str]) -> tuple[str, ...]:
    if not left_out:
        return ()
    first = f"`{left_out[0]}`"
    what = f"the condition {first} was"
    if len(left_out) > 1:
        what = f"{len(left_out)} conditions, the first {first}, were"
    return (
        f"{what} left out of the filter: the question mentions no such value of a metadata field",
    )
