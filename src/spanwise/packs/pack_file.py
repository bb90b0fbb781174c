"""Domain packs, their TOML files, and their record in a knowledge base.

A pack describes a kind of document. It has landmarks (places in such documents, identified by their
titles and typical items), intents (words of questions that point to a landmark), a glossary
(words of questions with the terms that documents use), and topics (words of questions that ask for
documents, with the phrases of these documents). `packs.landmarks` finds landmarks in documents;
`packs.intents` matches questions and adjusts scores; `packs.topics` adds the phrases of topics.

Rules:
    Phrases are plain words, compared by their terms: case, spacing and endings are ignored.
    A pack has no effect on documents of another kind or without any of its landmarks.
    Files are untrusted: size, number and length of phrases are limited, and an unknown key or an
    invalid value is an error that names the line.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from spanwise.core.text.terms import text_terms
from spanwise.errors import PackError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence


Phrase = tuple[str, ...]
"""Terms of a phrase, in order."""


@lru_cache(maxsize=20_000)
def phrase_terms(text: str, *, language: str) -> Phrase:
    """Return the terms of a phrase, in order."""
    return tuple(text_terms(text, language=language))


class Landmark(NamedTuple):
    """A place that documents of one kind have, such as the cash flow statement."""

    key: str
    """Key of the landmark's table in the file."""
    name: str
    """Display name."""
    titles: tuple[str, ...]
    """Possible titles of the place; a document without any of them does not have the landmark."""
    items: tuple[str, ...]
    """Phrases that typically occur at the place."""
    numbers: bool = False
    """Whether the place is a table of numbers."""


class Intent(NamedTuple):
    """Phrases of questions that point to a landmark."""

    landmark: str
    """Key of the landmark."""
    names: tuple[str, ...] = ()
    """Names of the place. A question with such a name ignores the `words` of all intents."""
    words: tuple[str, ...] = ()
    """Words for information at the place."""


class Topic(NamedTuple):
    """A clause or subject that a question may ask for: "Which contracts ...?"."""

    key: str
    """Key of the topic's table in the file."""
    about: tuple[str, ...]
    """Descriptions in everyday words. Their vectors are compared with the question if no phrase of
    `asks` matches."""
    asks: tuple[str, ...]
    """Phrases of questions. A phrase matches if the question has all of its words, in any order."""
    says: tuple[str, ...]
    """Phrases that documents use for the topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """Landmarks, intents, glossary and topics of one kind of document."""

    name: str
    description: str
    language: str
    """Language of the phrases (ISO 639-1)."""
    throughout: tuple[str, ...]
    """Phrases; a third of a document's chunks must contain at least one of them.

    Empty if landmarks alone identify the kind of document.
    """
    landmarks: tuple[Landmark, ...]
    intents: tuple[Intent, ...]
    glossary: Mapping[str, tuple[str, ...]] = field(hash=False)
    """Terms that documents use, by the word of a question."""
    text: str = field(repr=False)
    """Content of the file."""
    nouns: tuple[str, ...] = ()
    """Plural nouns for documents of this kind, such as "contracts"."""
    topics: tuple[Topic, ...] = ()
    """Topics of questions that ask for documents of this kind."""

    def signal(self, landmark: str) -> str:
        """Return the name under which the signal of a landmark is stored."""
        return f"{self.name}/{landmark}"


MAX_BYTES = 256 * 1024
"""Maximum size of a file, in bytes of UTF-8."""
_MAX_PACKS = 16
_MAX_LANDMARKS = 32
_MAX_TOPICS = 256
_MAX_PHRASES = 200
_MAX_GLOSSARY = 1_000
_MAX_PHRASE_CHARS = 120
_MAX_DOTS = 100
"""Maximum dots in a line: the time to parse a dotted key grows with the square of its parts."""
_SHOWN_CHARS = 80
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_TABLE = re.compile(r"""\s*\[\s*([^\[\]]+?)\s*\]""")
_TOP = (
    "name",
    "description",
    "language",
    "nouns",
    "throughout",
    "landmarks",
    "intents",
    "glossary",
    "topics",
)


class NamedPack(NamedTuple):
    """A pack with its origin."""

    pack: Pack
    origin: str
    """Path of the file, or "spanwise" for a shipped pack."""


def pack_record(packs: Sequence[NamedPack]) -> str:
    """Return the record of packs for a knowledge base: JSON with the origin and file of each pack.

    Raises:
        PackError: If two packs have the same name, or there are too many.
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
    """Return the packs of a record in order; empty for an empty record.

    Raises:
        PackError: If the record is damaged.
    """
    if not record:
        return ()
    try:
        rows = [(str(row["text"]), str(row["origin"])) for row in json.loads(record)]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise PackError(f"the recorded packs cannot be read: {shown(error)}") from error
    return tuple(NamedPack(read_pack(text, place=origin), origin) for text, origin in rows)


def joined_record(records: Sequence[str]) -> str:
    """Return the record of the packs of several knowledge bases; each pack is listed once.

    Raises:
        PackError: If two different packs have the same name, or there are too many.
    """
    first, *others = records
    if all(record == first for record in others):
        return first
    packs = {named.pack.text: named for record in records for named in recorded_packs(record)}
    return pack_record(list(packs.values()))


def read_pack(text: str, *, place: str) -> Pack:
    """Return the pack of a file.

    Args:
        text: Content of the file.
        place: Name of the file for error messages.

    Raises:
        PackError: If the file is too large, is not TOML, or has an invalid key or value; the
            message names the line.
    """
    if len(text.encode("utf-8", errors="replace")) > MAX_BYTES:
        raise PackError(f"{place} is larger than {MAX_BYTES:,} bytes; shorten it")
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > _MAX_DOTS:
            raise PackError(
                f"{place}:{number}: the line has {line.count('.'):,} dots; at most {_MAX_DOTS}"
            )
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PackError(f"{place} is no TOML: {error}; correct it") from error
    return _Reader(text, place, data).pack()


@dataclass(frozen=True, slots=True)
class _Reader:
    """Validates the parsed TOML of one file."""

    text: str
    place: str
    data: Mapping[str, object]

    def pack(self) -> Pack:
        self.check_keys("", self.data, _TOP)
        name = self.one_line("", self.data, "name")
        if not _NAME.fullmatch(name):
            raise self.error("name", f"is {shown(name)}; use small letters, digits, - and _")
        language = self.one_line("", self.data, "language", default="en")
        if not _LANGUAGE.fullmatch(language):
            raise self.error("language", f'is {shown(language)}; give a code such as "en"')
        landmarks = self.tables("landmarks")
        if not 1 <= len(landmarks) <= _MAX_LANDMARKS:
            raise self.error(
                "landmarks",
                f"has {len(landmarks)} tables; a pack has 1 to {_MAX_LANDMARKS} landmarks, such as "
                "[landmarks.termination], which determine the documents it applies to",
            )
        intents = self.tables("intents")
        for key in intents:
            if key not in landmarks:
                known = _or(landmarks)
                raise self.error(f"intents.{key}", f"has no landmark; the landmarks are {known}")
        return Pack(
            name=name,
            description=self.one_line("", self.data, "description"),
            language=language,
            throughout=self.phrases("", self.data, "throughout", language),
            landmarks=self.landmarks(language),
            intents=tuple(self.intent(key, language) for key in intents),
            glossary=self.glossary(language),
            text=self.text,
            nouns=self.phrases("", self.data, "nouns", language),
            topics=self.topics(language),
        )

    def landmarks(self, language: str) -> tuple[Landmark, ...]:
        landmarks: list[Landmark] = []
        for key in self.tables("landmarks"):
            names = [landmark.name for landmark in landmarks]
            landmarks.append(self.landmark(key, language, names=names))
        return tuple(landmarks)

    def landmark(self, key: str, language: str, *, names: Sequence[str]) -> Landmark:
        table = f"landmarks.{key}"
        values = self.tables("landmarks")[key]
        if not _NAME.fullmatch(key):
            raise self.error(table, "is no name; use small letters, digits, - and _")
        self.check_keys(table, values, ("name", "titles", "items", "numbers"))
        name = self.one_line(table, values, "name", default=key.replace("_", " "))
        if name in names:
            raise self.error(
                f"{table}.name", f"is {name!r}, the name of another landmark; rename it"
            )
        numbers = values.get("numbers", False)
        if not isinstance(numbers, bool):
            raise self.error(f"{table}.numbers", f"is {shown(numbers)}; give true or false")
        return Landmark(
            key=key,
            name=name,
            titles=self.phrases(table, values, "titles", language, minimum=1),
            items=self.phrases(table, values, "items", language, minimum=1),
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
            raise self.error("glossary", f"has {len(values)} words; give at most {_MAX_GLOSSARY}")
        for word in values:
            self.check_phrase(f"glossary.{word}", word, language)
        return {
            word: self.phrases("glossary", values, word, language, minimum=1) for word in values
        }

    def topics(self, language: str) -> tuple[Topic, ...]:
        tables = self.tables("topics")
        if len(tables) > _MAX_TOPICS:
            raise self.error("topics", f"has {len(tables)} tables; give at most {_MAX_TOPICS}")
        topics = []
        for key, values in tables.items():
            table = f"topics.{key}"
            self.check_keys(table, values, ("about", "asks", "says"))
            about = self.phrases(table, values, "about", language)
            asks = self.phrases(table, values, "asks", language, minimum=1)
            says = self.phrases(table, values, "says", language, minimum=1)
            topics.append(Topic(key=key, about=about, asks=asks, says=says))
        return tuple(topics)

    def table(self, name: str) -> Mapping[str, object]:
        table = self.data.get(name, {})
        if not isinstance(table, Mapping):
            raise self.error(name, f"is {shown(table)}; make it a table, [{name}]")
        return table

    def tables(self, name: str) -> dict[str, Mapping[str, object]]:
        tables: dict[str, Mapping[str, object]] = {}
        for key, values in self.table(name).items():
            if not isinstance(values, Mapping):
                raise self.error(
                    f"{name}.{key}",
                    f"is {shown(values)}; make a table of it, such as [{name}.place]",
                )
            tables[key] = values
        return tables

    def one_line(
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
        minimum: int = 0,
    ) -> tuple[str, ...]:
        name = f"{table}.{key}".lstrip(".")
        phrases = values.get(key, [])
        if not isinstance(phrases, list) or not all(isinstance(text, str) for text in phrases):
            raise self.error(name, f"is {shown(phrases)}; give a list of texts")
        if not minimum <= len(phrases) <= _MAX_PHRASES:
            raise self.error(
                name, f"has {len(phrases)} texts; give {minimum} to {_MAX_PHRASES}", at=table
            )
        for phrase in phrases:
            self.check_phrase(name, phrase, language)
        return tuple(dict.fromkeys(phrases))

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
        """Return an error with the line of a key, or of the key `at` if the key is missing."""
        line = _line_of(name, self.text) or _line_of(at or name.rpartition(".")[0], self.text) or 1
        if len(name) > _SHOWN_CHARS or not name.isprintable():
            name = shown(name)
        return PackError(f"{self.place}:{line}: {name} {problem}")


def _or(names: Sequence[str] | Mapping[str, object]) -> str:
    return " or ".join(names)


def _line_of(name: str, text: str) -> int:
    """Return the line number of a key or table, from 1; 0 if it is not found."""
    table, _, key = name.rpartition(".")
    if not key:
        return 0
    if name.startswith("glossary."):  # words may contain dots
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


SHIPPED = "spanwise"
"""Origin of packs shipped with Spanwise."""


@lru_cache(maxsize=1)
def shipped_packs() -> tuple[NamedPack, ...]:
    """Return the packs shipped with Spanwise, ordered by name."""
    files = Path(__file__).parent.glob("*.toml")
    packs = (read_pack(file.read_text("utf-8"), place=file.name) for file in files)
    return tuple(NamedPack(pack, SHIPPED) for pack in sorted(packs, key=lambda pack: pack.name))


def default_record() -> str:
    """Return the record for a new knowledge base: all packs shipped with Spanwise."""
    return pack_record(shipped_packs())


def open_pack(name: str | Path) -> NamedPack:
    """Return a shipped pack by its name, or the pack of a file by its path.

    Raises:
        PackError: If there is no such pack, or it cannot be read.
    """
    shipped = {named.pack.name: named for named in shipped_packs()}
    if isinstance(name, str) and name in shipped:
        return shipped[name]
    path = Path(name)
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise PackError(
            f"the pack {str(name)!r} cannot be read: {reason}; name a file or a shipped pack: "
            f"{', '.join(shipped)}"
        ) from error
    return NamedPack(read_pack(text, place=str(path)), str(path.absolute()))


def record_of(names: Sequence[str | Path]) -> str:
    """Return the record of packs, each given by name or path.

    Raises:
        PackError: If a pack cannot be read, two packs have the same name, or there are too many.
    """
    if isinstance(names, str | Path):
        raise PackError(f"packs is {names!r}; give a list of names and paths")
    return pack_record([open_pack(name) for name in names])
