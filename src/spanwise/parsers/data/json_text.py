"""Values of JSON as text: records, conversations, lines "path: value"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spanwise.parsers.data.records import LONG_CHARS, Field, field_lines, write_record
from spanwise.parsers.writer import TextWriter

__all__ = ["flatten", "write_value"]

_MAX_PATH_CHARS = 80
_MAX_ITEM_CHARS = 60
_SPEAKERS = ("role", "from", "speaker", "sender", "author")
_SAID = ("content", "value", "text", "message", "body")

_Object = Mapping[str, object]


def write_value(writer: TextWriter, value: object, *, level: int = 1) -> None:
    """Append a whole value.

    Args:
        writer: The text so far.
        value: As `JsonReader` reads it.
        level: Of the headings of its records.
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
    """Append an object: its plain fields as a record, each part that is more under its name."""
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
    """Return whether a field of the outermost object is a section: objects, or a long one."""
    if isinstance(value, dict):
        return sum(len(text) for _, text in flatten(value)) > LONG_CHARS
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _write_item(writer: TextWriter, value: _Object, *, level: int) -> None:
    """Append an object inside another value: a record, and the conversations that it holds."""
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
        and all(isinstance(item, dict) and _speaker(item) and _said(item) for item in value)
    )


def _speaker(message: _Object) -> str:
    """Return the name of the field that says who speaks; empty where there is none."""
    names = (name for name in _SPEAKERS if isinstance(message.get(name), str))
    return next((name for name in names if message[name]), "")


def _said(message: _Object) -> str:
    """Return the name of the field that says what is said; empty where there is none."""
    return next((name for name in _SAID if message.get(name)), "")


def _write_conversation(writer: TextWriter, messages: object) -> None:
    """Append messages, a paragraph each: who, in brackets what else is known of it, and what."""
    for message in messages if isinstance(messages, list) else ():
        speaker, said = _speaker(message), _said(message)
        others = {n: item for n, item in message.items() if n not in (speaker, said)}
        more = "; ".join(f"{path}: {text}" for path, text in flatten(others))
        who = f"{message[speaker]} ({more})" if more else f"{message[speaker]}"
        writer.separate(2)
        writer.write(field_lines(who, _content(message[said])))
    writer.separate(2)


def _content(value: object) -> str:
    """Return what a message says: a text, or parts of which some are texts."""
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else [value]
    texts = []
    for part in parts:
        fields = flatten(part)
        said = [text for path, text in fields if path in ("", "text")]
        others = [field_lines(path, text) for path, text in fields if path not in ("", "text")]
        is_plain = others == ["type: text"]
        texts += said if is_plain else others + said
    return "\n".join(texts)


def flatten(value: object) -> list[Field]:
    """Return each value below a value with its path, in order, but for those that say nothing.

    A list without objects in it is one value. The path of a value that is no object is empty.
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
    """Return a path without the beginning of a long one: in deep trees it would outgrow them."""
    return path if len(path) <= _MAX_PATH_CHARS else f"…{path[-_MAX_PATH_CHARS:]}"


def _holds_object(value: Sequence[object]) -> bool:
    return any(
        isinstance(item, dict) or (isinstance(item, list) and _holds_object(item)) for item in value
    )


def _inline(value: object) -> str:
    """Return a value without objects: a list on one line, or with a line for each long item."""
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
