"""Packs: what is known of a kind of document before any question is asked.

A pack names landmarks (places that documents of its kind have, told by their titles and by what
stands in them), intents (words of questions that point to a landmark) and a glossary (words of
questions, and what documents say instead). `core.landmarks` finds the places in a document,
`core.intents` reads a question, `core.lifts` makes scores of both.

Rules:
    Phrases are plain words, compared by their terms: case, spacing and endings do not count.
    A pack says nothing of a document that is not of its kind, or has none of its landmarks.

Packs as text: the file that people write, and what a knowledge base keeps of it.

A file is TOML, and comes from anywhere: its size and the number and length of its phrases are
limited, phrases are plain words, and every key is known, or it is an error that names the line.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from spanwise.core.text.terms import text_terms
from spanwise.errors import PackError
from spanwise.types.plain import shown

Phrase = tuple[str, ...]
"""Terms of a phrase, in order."""


@lru_cache(maxsize=20_000)
def phrase_terms(text: str, *, language: str) -> Phrase:
    """Return the terms of a phrase."""
    return tuple(text_terms(text, language=language))


@dataclass(frozen=True, slots=True, kw_only=True)
class Landmark:
    """A kind of place that documents of a pack have."""

    key: str
    """Its table in the file."""
    name: str
    """How it is called for people."""
    titles: tuple[str, ...]
    """How the line over it may read; a document without one of these lines has no such place."""
    items: tuple[str, ...]
    """What usually stands there."""
    numbers: bool = False
    """Whether it is a table of numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """How a question points to a landmark."""

    landmark: str
    """Its key."""
    names: tuple[str, ...] = ()
    """What the place itself is called; a question that has one is after no other place."""
    words: tuple[str, ...] = ()
    """What is asked for that stands there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """Landmarks, intents and glossary of one kind of document."""

    name: str
    description: str
    language: str
    """Of its phrases (ISO 639-1)."""
    throughout: tuple[str, ...]
    """What its documents say again and again: one of these in a third of their chunks.

    Empty where landmarks alone tell whether a document is of this kind.
    """
    landmarks: tuple[Landmark, ...]
    intents: tuple[Intent, ...]
    glossary: Mapping[str, tuple[str, ...]] = field(hash=False)
    """By word of a question, what documents say."""
    text: str = field(repr=False)
    """The file it was read from."""

    def signal(self, landmark: str) -> str:
        """Return the name under which the signal of a landmark is kept."""
        return f"{self.name}/{landmark}"


MAX_BYTES = 256 * 1024
"""Of a file, in UTF-8."""
_MAX_PACKS = 16
_MAX_LANDMARKS = 32
_MAX_PHRASES = 200
_MAX_GLOSSARY = 1_000
_MAX_PHRASE_CHARS = 120
_MAX_POINTS = 100
"""In a line: what a dotted key takes to read grows with the square of its parts."""
_SHOWN_CHARS = 80
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_TABLE = re.compile(r"""\s*\[\s*([^\[\]]+?)\s*\]""")
_TOP = ("name", "description", "language", "throughout", "landmarks", "intents", "glossary")


@dataclass(frozen=True, slots=True)
class NamedPack:
    """A pack of a knowledge base."""

    pack: Pack
    origin: str
    """Where it came from: a path, or "spanwise" for one that comes with it."""


def pack_record(packs: Sequence[NamedPack]) -> str:
    """Return what a knowledge base records of its packs: where from, and their whole files.

    Raises:
        PackError: If two have one name, or there are too many.
    """
    names = [named.pack.name for named in packs]
    if len(names) > _MAX_PACKS:
        raise PackError(f"{len(names)} packs are named; use at most {_MAX_PACKS}")
    for name in names:
        if names.count(name) > 1:
            raise PackError(f"two packs have the name {name!r}; rename one of them")
    rows = [{"origin": named.origin, "text": named.pack.text} for named in packs]
    return json.dumps(rows, ensure_ascii=False) if rows else ""


@lru_cache(maxsize=8)
def recorded_packs(record: str) -> tuple[NamedPack, ...]:
    """Return the packs of a record, in its order; none of an empty one.

    Raises:
        PackError: If the record is damaged.
    """
    if not record:
        return ()
    try:
        rows = [(str(row["text"]), str(row["origin"])) for row in json.loads(record)]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise PackError(f"the packs that are recorded cannot be read: {shown(error)}") from error
    return tuple(NamedPack(read_pack(text, place=origin), origin) for text, origin in rows)


def read_pack(text: str, *, place: str) -> Pack:
    """Return the pack of a file.

    Args:
        text: Of the file.
        place: Its name, for messages.

    Raises:
        PackError: If it is too large, no TOML, or a key or value in it is not usable; the message
            names the line.
    """
    if len(text.encode("utf-8", errors="replace")) > MAX_BYTES:
        raise PackError(f"{place} is larger than {MAX_BYTES:,} bytes; shorten it")
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > _MAX_POINTS:
            raise PackError(
                f"{place}:{number}: the line has {line.count('.'):,} points; at most {_MAX_POINTS}"
            )
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PackError(f"{place} is no TOML: {error}; correct it") from error
    return _Reader(text, place, data).pack()


@dataclass(frozen=True, slots=True)
class _Reader:
    """Checks one file."""

    text: str
    place: str
    data: Mapping[str, object]

    def pack(self) -> Pack:
        self.check_keys("", self.data, _TOP)
        name = self.one_text("", self.data, "name")
        if not _NAME.fullmatch(name):
            raise self.error("name", f"is {shown(name)}; use small letters, digits, - and _")
        language = self.one_text("", self.data, "language", default="en")
        if not _LANGUAGE.fullmatch(language):
            raise self.error("language", f'is {shown(language)}; give a code such as "en"')
        landmarks = self.tables("landmarks")
        if not 1 <= len(landmarks) <= _MAX_LANDMARKS:
            raise self.error(
                "landmarks",
                f"has {len(landmarks)} tables; a pack has 1 to {_MAX_LANDMARKS} landmarks, such as "
                "[landmarks.termination], which say in which documents it counts",
            )
        intents = self.tables("intents")
        for key in intents:
            if key not in landmarks:
                known = _or(landmarks)
                raise self.error(f"intents.{key}", f"has no landmark; the landmarks are {known}")
        return Pack(
            name=name,
            description=self.one_text("", self.data, "description"),
            language=language,
            throughout=self.phrases("", self.data, "throughout", language),
            landmarks=self.landmarks(language),
            intents=tuple(self.intent(key, language) for key in intents),
            glossary=self.glossary(language),
            text=self.text,
        )

    def landmarks(self, language: str) -> tuple[Landmark, ...]:
        found: list[Landmark] = []
        for key in self.tables("landmarks"):
            names = [landmark.name for landmark in found]
            found.append(self.landmark(key, language, names=names))
        return tuple(found)

    def landmark(self, key: str, language: str, *, names: Sequence[str]) -> Landmark:
        table = f"landmarks.{key}"
        values = self.tables("landmarks")[key]
        if not _NAME.fullmatch(key):
            raise self.error(table, "is no name; use small letters, digits, - and _")
        self.check_keys(table, values, ("name", "titles", "items", "numbers"))
        name = self.one_text(table, values, "name", default=key.replace("_", " "))
        if name in names:
            raise self.error(f"{table}.name", f"is {name!r}, as that of another one; rename it")
        numbers = values.get("numbers", False)
        if not isinstance(numbers, bool):
            raise self.error(f"{table}.numbers", f"is {shown(numbers)}; give true or false")
        return Landmark(
            key=key,
            name=name,
            titles=self.phrases(table, values, "titles", language, least=1),
            items=self.phrases(table, values, "items", language, least=1),
            numbers=numbers,
        )

    def intent(self, key: str, language: str) -> Intent:
        table = f"intents.{key}"
        values = self.tables("intents")[key]
        self.check_keys(table, values, ("names", "words"))
        return Intent(
            landmark=key,
            names=self.phrases(table, values, "names", language),
            words=self.phrases(table, values, "words", language),
        )

    def glossary(self, language: str) -> dict[str, tuple[str, ...]]:
        values = self.table("glossary")
        if len(values) > _MAX_GLOSSARY:
            raise self.error("glossary", f"has {len(values)} words; at most {_MAX_GLOSSARY} count")
        for word in values:
            self.check_phrase(f"glossary.{word}", word, language)
        return {word: self.phrases("glossary", values, word, language, least=1) for word in values}

    def table(self, name: str) -> Mapping[str, object]:
        found = self.data.get(name, {})
        if not isinstance(found, Mapping):
            raise self.error(name, f"is {shown(found)}; make it a table, [{name}]")
        return found

    def tables(self, name: str) -> dict[str, Mapping[str, object]]:
        found: dict[str, Mapping[str, object]] = {}
        for key, values in self.table(name).items():
            if not isinstance(values, Mapping):
                raise self.error(
                    f"{name}.{key}",
                    f"is {shown(values)}; make a table of it, such as [{name}.place]",
                )
            found[key] = values
        return found

    def one_text(
        self, table: str, values: Mapping[str, object], key: str, *, default: str | None = None
    ) -> str:
        name = f"{table}.{key}".lstrip(".")
        value = values.get(key, default)
        if value is None:
            raise self.error(name, "is missing; give a text", at=table)
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise self.error(name, f"is {shown(value)}; give a text of one line")
        return value

    def phrases(
        self,
        table: str,
        values: Mapping[str, object],
        key: str,
        language: str,
        *,
        least: int = 0,
    ) -> tuple[str, ...]:
        name = f"{table}.{key}".lstrip(".")
        found = values.get(key, [])
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise self.error(name, f"is {shown(found)}; give a list of texts")
        if not least <= len(found) <= _MAX_PHRASES:
            raise self.error(
                name, f"has {len(found)} texts; give {least} to {_MAX_PHRASES}", at=table
            )
        for phrase in found:
            self.check_phrase(name, phrase, language)
        return tuple(dict.fromkeys(found))

    def check_phrase(self, name: str, phrase: str, language: str) -> None:
        if len(phrase) > _MAX_PHRASE_CHARS:
            raise self.error(
                name, f"holds {shown(phrase)}, of {len(phrase)} characters; give a few words"
            )
        if not phrase_terms(phrase, language=language):
            raise self.error(name, f"holds {shown(phrase)}, which has no word; leave it out")

    def check_keys(self, table: str, values: Mapping[str, object], known: Sequence[str]) -> None:
        for key in values:
            if key not in known:
                near = difflib.get_close_matches(key, known, 1) or known
                raise self.error(f"{table}.{key}".lstrip("."), f"is no key; give {_or(near)}")

    def error(self, name: str, problem: str, *, at: str | None = None) -> PackError:
        """Return the error of a key, with its line; `at` names another that stands in the file."""
        line = _line_of(name, self.text) or _line_of(at or name.rpartition(".")[0], self.text) or 1
        if len(name) > _SHOWN_CHARS or not name.isprintable():
            name = shown(name)
        return PackError(f"{self.place}:{line}: {name} {problem}")


def _or(names: Sequence[str] | Mapping[str, object]) -> str:
    return " or ".join(names)


def _line_of(name: str, text: str) -> int:
    """Return the line of a key or table, from 1; 0 where it is not found."""
    table, _, key = name.rpartition(".")
    if not key:
        return 0
    if name.startswith("glossary."):  # words may hold points
        table, key = "glossary", name.removeprefix("glossary.")
    current = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = _TABLE.match(line)
        if header is not None:
            current = header.group(1).replace('"', "").replace(" ", "")
            if current == name.replace(" ", ""):
                return number
        elif current == table and line.partition("=")[0].strip().strip("\"'") == key:
            return number
    return 0
