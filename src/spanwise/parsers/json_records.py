"""JSON and JSON Lines: records, conversations, notebooks, and lines "path: value".

Rules
    1. A list of objects is a list of records (`rows.write_record`), and so are the lines of a JSON
       Lines file and the values of an object of objects. Other values are lines "path: value",
       with paths such as `address.city`, `items[0].name`.
    2. A list of messages (speaker, text) is a conversation: one paragraph per message.
    3. Notebooks become Markdown: code in fences, with shortened output.
    4. Nothing is lost: numbers keep their digits, repeated names keep all values, and invalid JSON
       is read as plain text with partial status.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from spanwise.parsers.markup.markdown import read_markdown
from spanwise.parsers.parsed import Parsed, Source
from spanwise.parsers.properties import file_title, first_date, known_fields
from spanwise.parsers.row_writer import LONG_CHARS, Field, field_lines, find_title, write_record
from spanwise.parsers.text import decode_text
from spanwise.parsers.writer import TextWriter
from spanwise.types import Scalar


class JsonReader:
    """JSON reader that returns numbers as strings.

    Numbers are not converted, so a very long one takes no time, and "1.50" keeps its last digit.
    """

    def __init__(self) -> None:
        self.repeated_names = 0
        """Number of names that an object repeats, summed over all objects."""
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object, parse_int=str, parse_float=str, parse_constant=str
        )

    def read(self, text: str) -> object:
        """Return the parsed value of a text.

        Raises:
            ValueError: If it is not JSON.
            RecursionError: If it is nested too deeply.
        """
        return self._decoder.decode(text)

    def _object(self, pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        self.repeated_names += len(pairs) - len(found)
        values: dict[str, list[object]] = {}
        for name, value in pairs:
            values.setdefault(name, []).append(value)
        return {name: held if len(held) > 1 else held[0] for name, held in values.items()}


_MAX_OUTPUT_LINES = 20
_MAX_OUTPUT_CHARS = 1000
_OBJECT = re.compile(r"\s*<[^<>]*>\s*")
"""Default representation of a Python object: <Figure size 640x480 with 1 Axes>."""
_TERMINAL = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
_FENCE = re.compile(r"`{3,}")


def is_notebook(value: object) -> bool:
    """Return whether a JSON value is a notebook, of version 4 or later."""
    return isinstance(value, dict) and "nbformat" in value and isinstance(value.get("cells"), list)


def notebook_markdown(notebook: object) -> str:
    """Return the cells of a notebook as Markdown.

    Of the output of code, only the first lines of text are kept.
    """
    fields = _object(notebook)
    metadata = _object(fields.get("metadata"))
    language = _object(metadata.get("language_info")).get("name")
    name = language if isinstance(language, str) and language.isalnum() else ""
    pieces: list[str] = []
    for cell in _list(fields.get("cells")):
        found = _object(cell)
        text = _joined(found.get("source")).strip("\n")
        if found.get("cell_type") != "code":
            pieces.append(text)
            continue
        pieces.append(_fenced(text, name))
        pieces += (_fenced(output, "") for output in _outputs(found))
    return "\n\n".join(piece for piece in pieces if piece.strip())


def _outputs(cell: dict[str, object]) -> Iterator[str]:
    for output in _list(cell.get("outputs")):
        found = _object(output)
        if found.get("output_type") == "error":
            text = f"{_joined(found.get('ename'))}: {_joined(found.get('evalue'))}"
        else:
            text = _joined(found.get("text")) or _joined(
                _object(found.get("data")).get("text/plain")
            )
        if text.strip() and not _OBJECT.fullmatch(text):
            yield _shortened(_TERMINAL.sub("", text).strip("\n"))


def _shortened(text: str) -> str:
    lines = text[:_MAX_OUTPUT_CHARS].split("\n")[:_MAX_OUTPUT_LINES]
    short = "\n".join(lines)
    return short if short == text else f"{short}\n…"


def _fenced(text: str, language: str) -> str:
    if not text.strip():
        return ""
    fence = max(("```", *(f"{run}`" for run in _FENCE.findall(text))), key=len)
    return f"{fence}{language}\n{text}\n{fence}"


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _joined(value: object) -> str:
    """Return a text that a notebook may store as a list of lines."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


_MAX_PATH_CHARS = 80
_MAX_ITEM_CHARS = 60
_SPEAKERS = ("role", "from", "speaker", "sender", "author")
_CONTENT_NAMES = ("content", "value", "text", "message", "body")

_Object = Mapping[str, object]


def write_value(writer: TextWriter, value: object, *, level: int = 1) -> None:
    """Append a JSON value as records, conversations and lines "path: value".

    Args:
        writer: The text so far.
        value: Value of `JsonReader`.
        level: Level of the headings of its records.
    """
    if isinstance(value, dict):
        _write_object(writer, value, level=level)
    elif _is_conversation(value):
        _write_conversation(writer, value)
    elif isinstance(value, list) and _holds_object(value):
        for item in value:
            if isinstance(item, dict):
                _write_item(writer, item, level=level)
            else:
                write_record(writer, flatten(item), level=level)
    else:
        write_record(writer, flatten(value), level=level)


def _write_object(writer: TextWriter, value: _Object, *, level: int) -> None:
    """Append an object: its plain fields as a record, each nested part under its name."""
    holds_records = len(value) > 1 and all(isinstance(item, dict) for item in value.values())
    parts = {name: item for name, item in value.items() if holds_records or _is_part(item)}
    plain = {name: item for name, item in value.items() if name not in parts}
    if plain:
        write_record(writer, flatten(plain), level=level)
        level += 1
    for name, item in parts.items():
        writer.write_heading(" ".join(name.split()), level=level)
        if isinstance(item, dict):
            _write_item(writer, item, level=level + 1)
        else:
            write_value(writer, item, level=level + 1)


def _is_part(value: object) -> bool:
    """Return whether a field is written as a section: a long object, or a list of objects."""
    if isinstance(value, dict):
        return sum(len(text) for _, text in flatten(value)) > LONG_CHARS
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _write_item(writer: TextWriter, value: _Object, *, level: int) -> None:
    """Append an object of a list or section: a record, then the conversations among its fields."""
    spoken = {name: item for name, item in value.items() if _is_conversation(item)}
    fields = flatten({n: item for n, item in value.items() if n not in spoken} if spoken else value)
    if fields:
        write_record(writer, fields, level=level)
    for item in spoken.values():
        _write_conversation(writer, item)


def _is_conversation(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and _speaker(item) and _content_name(item) for item in value)
    )


def _speaker(message: _Object) -> str:
    """Return the name of the field of the speaker; empty if there is none."""
    names = (name for name in _SPEAKERS if isinstance(message.get(name), str))
    return next((name for name in names if message[name]), "")


def _content_name(message: _Object) -> str:
    """Return the name of the field of the text; empty if there is none."""
    return next((name for name in _CONTENT_NAMES if message.get(name)), "")


def _write_conversation(writer: TextWriter, messages: object) -> None:
    """Append messages, one paragraph each: speaker, other fields in brackets, and text."""
    for message in messages if isinstance(messages, list) else ():
        speaker, content = _speaker(message), _content_name(message)
        others = {n: item for n, item in message.items() if n not in (speaker, content)}
        more = "; ".join(f"{path}: {text}" for path, text in flatten(others))
        who = f"{message[speaker]} ({more})" if more else f"{message[speaker]}"
        writer.write_apart(field_lines(who, _content(message[content])))


def _content(value: object) -> str:
    """Return the text of a message, which may have several parts."""
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else [value]
    texts = []
    for part in parts:
        fields = flatten(part)
        plain = [text for path, text in fields if path in ("", "text")]
        others = [field_lines(path, text) for path, text in fields if path not in ("", "text")]
        is_plain = others == ["type: text"]
        texts += plain if is_plain else others + plain
    return "\n".join(texts)


def flatten(value: object) -> list[Field]:
    """Return the path and text of each non-empty value that is nested in a value, in order.

    A list without objects counts as one value. A value that is not in an object has the path "".
    """
    fields: list[Field] = []
    _collect(value, "", fields)
    return fields


def _collect(value: object, path: str, fields: list[Field]) -> None:
    if isinstance(value, str):
        if text := value.strip():
            fields.append((path, text))
    elif isinstance(value, dict):
        before = f"{_clipped(path)}." if path else ""
        for name, item in value.items():
            _collect(item, before + name, fields)
    elif isinstance(value, list) and _holds_object(value):
        before = _clipped(path)
        for place, item in enumerate(value):
            _collect(item, f"{before}[{place}]", fields)
    elif text := _inline(value):
        fields.append((path, text))


def _clipped(path: str) -> str:
    """Return the last part of a long path, because deep paths would be longer than the values."""
    return path if len(path) <= _MAX_PATH_CHARS else f"…{path[-_MAX_PATH_CHARS:]}"


def _holds_object(value: Sequence[object]) -> bool:
    return any(
        isinstance(item, dict) or (isinstance(item, list) and _holds_object(item)) for item in value
    )


def _inline(value: object) -> str:
    """Return a value without objects: a list on one line, or a line per long item."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        items = [text for item in value if (text := _nested(item))]
        line = ", ".join(items)
        if len(line) <= _MAX_ITEM_CHARS * len(items) and "\n" not in line:
            return line
        return "\n".join(f"- {item}" for item in items)
    return value.strip() if isinstance(value, str) else ""


def _nested(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_nested(item) for item in value)}]"
    return _inline(value)


_SAMPLE_LINES = 50
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_json(source: Source) -> Parsed:
    """Return JSON or JSON Lines as text.

    Raises:
        ParseError: "binary" if the bytes are not text, "no_text" if it has no value.
    """
    decoded = decode_text(source)
    reader = JsonReader()
    warnings = list(decoded.warnings)
    try:
        parsed = _read(source, decoded.text, reader, warnings)
    except (ValueError, RecursionError) as exc:
        cause = "it is nested too deeply" if isinstance(exc, RecursionError) else str(exc)
        warnings.append(f"it is not valid JSON ({cause}) and was read as plain text")
        return Parsed(
            text=decoded.text,
            media_type="application/json",
            status="partial",
            warnings=tuple(warnings),
        )
    if not parsed.text:
        raise source.error("no_text", "it has no values; leave it out")
    if reader.repeated_names:
        warnings.append(
            f"{reader.repeated_names} names are repeated in an object; all values were kept"
        )
    return replace(_mended(parsed), warnings=tuple(warnings))


def _read(source: Source, text: str, reader: JsonReader, warnings: list[str]) -> Parsed:
    try:
        value = reader.read(text)
    except ValueError:
        values = _read_lines(text, reader)
        if not values:
            raise
        return _write_lines(source, values, warnings)
    if is_notebook(value):
        parsed = read_markdown(notebook_markdown(value))
        return replace(parsed, media_type="application/x-ipynb+json")
    writer = TextWriter()
    write_value(writer, value)
    fields = flatten(value) if isinstance(value, dict) else []
    title = find_title(fields)
    return Parsed.of(
        writer,
        media_type="application/json",
        title=title[1] if title else file_title(source.name),
        metadata=_metadata(fields),
    )


def _read_lines(text: str, reader: JsonReader) -> list[tuple[str, object]]:
    """Return the lines of JSON Lines with their values; the value of an invalid line is None.

    Returns:
        The lines; none if fewer than half of the first lines are JSON.
    """
    values: list[tuple[str, object]] = []
    good = 0
    for line in text.split("\n"):
        stripped = line.strip()
        if not stripped:
            continue
        try:
            values.append((stripped, reader.read(stripped)))
            good += 1
        except (ValueError, RecursionError):
            values.append((stripped, None))
        if len(values) == _SAMPLE_LINES and good * 2 < len(values):
            return []
    return values if good * 2 >= len(values) else []


def _write_lines(
    source: Source, values: Sequence[tuple[str, object]], warnings: list[str]
) -> Parsed:
    writer = TextWriter()
    write_value(writer, [line if value is None else value for line, value in values])
    bad = sum(value is None and line != "null" for line, value in values)
    if bad:
        warnings.append(f"{bad} lines are not valid JSON and were read as plain text")
    return Parsed.of(
        writer,
        media_type="application/x-ndjson",
        title=file_title(source.name),
        status="partial" if bad else "ok",
    )


def _metadata(fields: Sequence[tuple[str, str]]) -> dict[str, Scalar]:
    """Return the author and date of a file that is one object."""
    found = {name.lower(): value for name, value in reversed(fields)}
    author = found.get("author") or found.get("author.name") or found.get("authors") or ""
    dates = (found.get(name, "") for name in ("date", "published", "created", "created_at"))
    return known_fields(author="" if "\n" in author else author, date=first_date(dates))


def _mended(parsed: Parsed) -> Parsed:
    """Return the text without lone surrogates, which JSON can contain and UTF-8 cannot."""
    if not _SURROGATE.search(parsed.text):
        return parsed
    return replace(
        parsed,
        text=_SURROGATE.sub("\ufffd", parsed.text),
        title=_SURROGATE.sub("\ufffd", parsed.title),
        headings=tuple(
            replace(heading, title=_SURROGATE.sub("\ufffd", heading.title))
            for heading in parsed.headings
        ),
        metadata={
            name: _SURROGATE.sub("\ufffd", str(value)) for name, value in parsed.metadata.items()
        },
    )
