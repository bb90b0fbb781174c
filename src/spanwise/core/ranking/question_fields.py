"""Which metadata a question names.

Metadata comes out of documents, and documents are hostile. A language model may only choose among
what the question itself says, so that no document can bring about a filter, whatever the model
makes of it.

Rules:
    A field counts if at least half of the documents have it, with values of one kind.
    A text counts if the question says it: all its words, or its first ones where they tell it from
    the other values ("Amazon" for "Amazon.com"), written as a name: with a digit or a capital.
    A first word of a sentence, and in German every noun, has a capital for other reasons; there
    only a digit or a further capital makes a name.
    A field is left out where the question may say more of its values than are written as names:
    a filter on those alone would lose the others ("amazon and Microsoft").
    A number counts if the question says it and it lies between the values of the field; of days
    (ISO 8601) the year does.
    Where the question says no value of a field, the latest question before it that does counts.

From conditions that a model wrote to a filter: typed, and about what the question says.

Rules:
    A condition is about a field and values that the question says (`core.question_fields`), or it
    is left out: nothing that a model writes is parsed as a filter.
    There is no "not", "<" or ">", and conditions on a field that would lose a value which the
    question says are left out: of "2016 and 2018", 2016 alone is not what is asked for. So a model
    that obeys a document can at most leave out a filter, or restrict to what the question says.
    Several values that a field is equal to are alternatives; the rest holds together.
    A filter that no document passes is left out.
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
from spanwise.filters import field, matches
from spanwise.filters.tree import kind_of

if TYPE_CHECKING:
    from spanwise.filters import Filter, Kind
    from spanwise.types import Scalar

_MAX_FIELDS, _MAX_VALUES = 20, 20
_MAX_NAME_CHARS, _MAX_VALUE_CHARS = 60, 100
_MAX_RUN_WORDS = 8
_MOST = 10**15  # of numbers: beyond, they are no years, and writing them out may take long
_WORD = re.compile(r"[^\W_]+(?:[-/&][^\W_]+)*")
_INNER = re.compile(r"[-/&]")
_SENTENCE_END = re.compile(r"[.?!:]\W*\s|[¿¡\n]")
NUMBER = re.compile(
    r"(?<![\w.,])(?:[^\W\d_]{1,2})?(\d{1,3}(?:,\d{3})+|\d{1,15})(\.\d{1,15})?+(?!\.?\w)"
)
DAY = re.compile(r"(\d{4})(?:-\d{2}(?:-\d{2})?)?(?:[T ].{0,40})?", re.ASCII)
"""A day or a part of one as metadata writes it; its first group is the year."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionField:
    """A field of the documents with the values that a question says."""

    name: str
    kind: Literal["text", "number", "day"]
    said: tuple[str | int | float, ...]
    """Texts as they are stored, numbers, or the years of days; ascending."""
    between: tuple[int | float, int | float] | None = None
    """Least and greatest number of all documents; of days, years. None for texts."""


def question_fields(
    question: str,
    *,
    earlier: Sequence[str] = (),
    documents: Sequence[Mapping[str, Scalar]],
    languages: Sequence[str] = (),
) -> tuple[QuestionField, ...]:
    """Return the fields with a value that a question says, by name.

    Args:
        question: The question.
        earlier: The questions before it in a conversation, in order.
        documents: Metadata of each document.
        languages: In which they are written.
    """
    values = _field_values(documents)
    said_of = [_Said(text, languages) for text in (question, *reversed(earlier))]
    found = []
    for name in sorted(values):
        made = next((one for said in said_of if (one := said.field(name, values[name]))), None)
        if made is not None:
            found.append(made)
    return tuple(found[:_MAX_FIELDS])


def _field_values(documents: Sequence[Mapping[str, Scalar]]) -> dict[str, dict[Scalar, None]]:
    """Return the distinct values of the fields that count."""
    counts: dict[str, int] = {}
    kinds: dict[str, set[Kind | None]] = {}
    values: dict[str, dict[Scalar, None]] = {}
    for metadata in documents:
        for name, value in metadata.items():
            counts[name] = counts.get(name, 0) + 1
            kinds.setdefault(name, set()).add(kind_of(value))
            values.setdefault(name, {})[value] = None
    return {
        name: values[name]
        for name, count in counts.items()
        if 2 * count >= len(documents)
        and kinds[name] in ({"text"}, {"number"})
        and len(name) <= _MAX_NAME_CHARS
    }


class _Said:
    """What one question says: its names and its numbers."""

    def __init__(self, text: str, languages: Sequence[str]) -> None:
        self._names, self._runs = _runs(text, languages)
        self._numbers = sorted({read_number(match[1], match[2]) for match in NUMBER.finditer(text)})

    def field(self, name: str, values: Iterable[Scalar]) -> QuestionField | None:
        """Return a field with the values that are said, None where none is."""
        texts = [value for value in values if isinstance(value, str)]
        if not texts:
            numbers = [value for value in values if not isinstance(value, str)]
            return self._of_numbers(name, numbers, kind="number")
        days = [DAY.fullmatch(text) for text in texts]
        years = [int(day[1]) for day in days if day is not None]
        if len(years) == len(texts):
            return self._of_numbers(name, years, kind="day")
        said = _begun(texts, self._names)
        if not said or said != _begun(texts, self._runs):
            return None
        return QuestionField(name=name, kind="text", said=tuple(said[:_MAX_VALUES]))

    def _of_numbers(
        self, name: str, values: Sequence[int | float], *, kind: Literal["number", "day"]
    ) -> QuestionField | None:
        least, most = min(values), max(values)
        said = [number for number in self._numbers if least <= number <= most]
        if not said or max(-least, most) > _MOST:
            return None
        return QuestionField(
            name=name, kind=kind, said=tuple(said[:_MAX_VALUES]), between=(least, most)
        )


def _begun(texts: Sequence[str], runs: frozenset[tuple[str, ...]]) -> list[str]:
    """Return the texts that are among runs of words, or alone begin with one of them; ascending."""
    found: set[str] = set()
    begun: dict[tuple[str, ...], list[str]] = {}
    for text in texts:
        own = folded_words(text) if len(text) <= _MAX_VALUE_CHARS else ()
        for length in range(1, min(len(own), _MAX_RUN_WORDS) + 1):
            if own[:length] in runs:
                begun.setdefault(own[:length], []).append(text)
                if length == len(own):
                    found.add(text)
    found.update(held[0] for held in begun.values() if len(held) == 1)
    return sorted(found)


def folded_words(text: str) -> tuple[str, ...]:
    """Return the words of a text, whatever their case and the signs inside of them."""
    return tuple(_INNER.sub("", word).casefold() for word in _WORD.findall(text))


def read_number(whole: str, decimals: str | None) -> int | float:
    """Return the number that the groups of `NUMBER` write."""
    plain = whole.replace(",", "")
    return float(plain + decimals) if decimals and decimals.strip(".0") else int(plain)


def _runs(
    text: str, languages: Sequence[str]
) -> tuple[frozenset[tuple[str, ...]], frozenset[tuple[str, ...]]]:
    """Return the runs of words that begin with what is written as a name, and all; no stop word."""
    found = list(_WORD.finditer(text))
    folded = folded_words(text)
    language = question_language(text, {"de", *languages})
    telling = {word.casefold() for word in content_words(text, language=language)}
    stops = {word.casefold() for word in plain_words(text)} - telling
    names: set[tuple[str, ...]] = set()
    runs: set[tuple[str, ...]] = set()
    has_case = not text.isupper()
    for at, word in enumerate(found):
        if word[0].casefold() in stops:
            continue
        own = {folded[at:end] for end in range(at + 1, at + 1 + _MAX_RUN_WORDS)}
        runs |= own
        is_first = at == 0 or _SENTENCE_END.search(text[found[at - 1].end() : word.start()])
        # What has a capital here for no other reason than that it names something.
        named = word[0][1:] if is_first or language == "de" else word[0]
        if re.search(r"\d", word[0]) or (
            has_case and len(word[0]) > 1 and any(map(str.isupper, named))
        ):
            names |= own
    return frozenset(names), frozenset(runs)


_SHOWN_CHARS = 60
_SAME = {"==": "=", "in": "="}


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition as a model wrote it, before anything in it is checked."""

    field: str
    operator: str
    """"=", ">=" or "<="; another one is left out."""
    values: tuple[str, ...]


def filter_of_conditions(
    conditions: Sequence[Condition],
    *,
    fields: Sequence[QuestionField],
    documents: Sequence[Mapping[str, Scalar]],
) -> tuple[Filter | None, tuple[str, ...]]:
    """Return the filter that conditions make, None for none, and what was left out, for people.

    Args:
        conditions: As a model wrote them.
        fields: What they may be about.
        documents: Metadata of each document.
    """
    known = {one.name.casefold(): one for one in fields}
    kept: dict[tuple[str, str], list[Scalar]] = {}
    left_out: list[str] = []
    for condition in conditions:
        about = known.get(condition.field.strip().casefold())
        operator = _SAME.get(condition.operator.strip(), condition.operator.strip())
        for text in condition.values or ("",):
            meant = [] if about is None else _meant(text, about, operator)
            if about is None or not meant:
                shown = (condition.field, operator, repr(text[:_SHOWN_CHARS]))
                left_out.append(" ".join(part[: _SHOWN_CHARS + 2] for part in shown))
            else:
                kept.setdefault((about.name, operator), []).extend(meant)
    warnings = list(_warnings(left_out))
    parts: list[Filter] = []
    for about in fields:
        own = [
            part
            for operator in ("=", ">=", "<=")
            if (values := list(dict.fromkeys(kept.get((about.name, operator), ()))))
            for part in _parts(about, operator, values)
        ]
        lost = [value for value in about.said if not _keeps(own, about, value)]
        if lost:
            warnings.append(
                f"the condition `{reduce(and_, own)}` was left out of the filter: the question "
                f"also says {lost[0]!r}"
            )
        else:
            parts += own
    if not parts:
        return None, tuple(warnings)
    where = reduce(and_, parts)
    if not any(matches(where, metadata) for metadata in documents):
        return None, (*warnings, f"the filter `{where}` was left out: no document passes it")
    return where, tuple(warnings)


def _meant(text: str, about: QuestionField, operator: str) -> list[Scalar]:
    """Return the values of a field that are said and that a text of a model means."""
    if about.kind == "text":
        if operator != "=":
            return []
        return [value for value in about.said if folded_words(str(value)) == folded_words(text)]
    read = (DAY if about.kind == "day" else NUMBER).fullmatch(text.strip())
    if read is None or operator not in ("=", ">=", "<="):
        return []
    number = int(read[1]) if about.kind == "day" else read_number(read[1], read[2])
    return [value for value in about.said if value == number]


def _parts(about: QuestionField, operator: str, values: Sequence[Scalar]) -> list[Filter]:
    """Return the filters that hold together, for values that one operator compares with."""
    if operator == "=" and about.kind == "day":
        return [reduce(or_, (_since(about, year) & _until(about, year) for year in values))]
    if operator == "=":
        one = field(about.name)
        return [one == values[0] if len(values) == 1 else one.is_in(values)]
    bound = _since if operator == ">=" else _until
    return [bound(about, value) for value in values]


def _keeps(parts: Sequence[Filter], about: QuestionField, value: Scalar) -> bool:
    """Return whether filters on a field keep the documents with a value, or with days of a year."""
    stored = f"{int(value):04d}-06" if about.kind == "day" else value
    return all(matches(part, {about.name: stored}) for part in parts)


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
        f"{what} left out of the filter: the question says no such value of a field that the "
        "documents have",
    )
