"""Front matter of Markdown: what stands before the text, of the document.

YAML between lines of three hyphens is read as far as it is plain: scalars and lists of scalars on
the first level. TOML between lines of three plus signs is read whole.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence

from spanwise.core.languages import read_language
from spanwise.parsers.dates import iso_date
from spanwise.parsers.lines import Lines
from spanwise.types import Scalar

__all__ = ["FrontMatter", "front_matter_fields", "read_front_matter"]

FrontMatter = Mapping[str, Sequence[str]]
"""Values by name, in lower case; a scalar is one value."""

_YAML = re.compile(r"---[ \t]*")
_YAML_END = re.compile(r"(?:---|\.\.\.)[ \t]*")
_TOML = re.compile(r"\+\+\+[ \t]*")
_FIELD = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(\S.*))?")
_ITEM = re.compile(r"[ \t]*-[ \t]+(\S.*)")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
_FLOW_ITEM = re.compile(r"\s*(\"[^\"]*\"|'[^']*'|[^,]+)")


def read_front_matter(lines: Lines) -> tuple[FrontMatter, int]:
    """Return the fields and how many lines they take; nothing and 0 without front matter."""
    is_toml = bool(_TOML.fullmatch(lines.line(0)))
    if not is_toml and not _YAML.fullmatch(lines.line(0)):
        return {}, 0
    end_line = _TOML if is_toml else _YAML_END
    end = next((n for n in range(1, len(lines)) if end_line.fullmatch(lines.line(n))), None)
    if end is None:
        return {}, 0
    written = [lines.line(number) for number in range(1, end)]
    fields = _read_toml("\n".join(written)) if is_toml else _read_yaml(written)
    if fields is None:
        return {}, 0
    return fields, min(end + 1, len(lines.starts) - 1)


def front_matter_fields(matter: FrontMatter) -> dict[str, Scalar]:
    """Return author, date, language and tags, as far as they are given.

    Several tags are one value, joined by ", "; so are several authors.
    """
    metadata: dict[str, Scalar] = {}
    author = ", ".join(matter.get("author") or matter.get("authors") or ())
    if author:
        metadata["author"] = author
    dates = (value for value in matter.get("date", ()))
    if day := next((day for date in dates if (day := iso_date(date))), None):
        metadata["date"] = day
    languages = (*matter.get("lang", ()), *matter.get("language", ()))
    if language := next((code for code in map(read_language, languages) if code), ""):
        metadata["language"] = language
    if tags := ", ".join(matter.get("tags") or matter.get("keywords") or ()):
        metadata["tags"] = tags
    return metadata


def _read_yaml(lines: Sequence[str]) -> FrontMatter:
    fields: dict[str, list[str]] = {}
    items: list[str] = []
    for line in map(str.rstrip, lines):
        if match := _FIELD.fullmatch(line):
            items = fields.setdefault(match[1].lower(), [])
            if not items:
                items += _values(match[2] or "")
        elif (match := _ITEM.fullmatch(line)) and (value := _scalar(match[1])):
            items.append(value)
    return {name: values for name, values in fields.items() if values}


def _values(written: str) -> list[str]:
    """Return a scalar, or the scalars of a list in brackets."""
    if written.startswith("[") and "]" in written:
        inside = written[1 : written.rindex("]")]
        return [value for item in _FLOW_ITEM.findall(inside) if (value := _scalar(item.strip()))]
    value = _scalar(written)
    return [value] if value else []


def _scalar(written: str) -> str:
    """Return a plain or quoted scalar; empty for what is no scalar on one line."""
    if written[:1] in ('"', "'"):
        end = written.find(written[0], 1)
        return written[1:end].strip() if end > 0 else ""
    if written[:1] in set("[{|>&*!"):
        return ""
    return _COMMENT.sub("", written).strip()


def _read_toml(text: str) -> FrontMatter | None:
    """Return the fields of a TOML document; None where it is none."""
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError):
        return None
    return {
        name.lower(): [str(item) for item in (value if isinstance(value, list) else [value])]
        for name, value in found.items()
        if not isinstance(value, dict)
    }
