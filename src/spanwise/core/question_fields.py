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
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spanwise.core.languages import question_language
from spanwise.core.terms import content_words
from spanwise.core.terms import words as plain_words
from spanwise.filters.tree import kind_of

if TYPE_CHECKING:
    from spanwise.filters import Kind
    from spanwise.types import Scalar

__all__ = ["DAY", "NUMBER", "QuestionField", "folded_words", "question_fields", "read_number"]

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
