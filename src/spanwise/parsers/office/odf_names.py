"""Names of OpenDocument: "text:p" for what XML spells with the address of its namespace."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

__all__ = ["attribute", "count_of", "short_name", "white_space"]

_ROOT = "urn:oasis:names:tc:opendocument:xmlns:"
_SPACES = {
    "draw:": f"{_ROOT}drawing:1.0",
    "svg:": f"{_ROOT}svg-compatible:1.0",
    "fo:": f"{_ROOT}xsl-fo-compatible:1.0",
    "xlink:": "http://www.w3.org/1999/xlink",
    **{
        f"{name}:": f"{_ROOT}{name}:1.0"
        for name in ("office", "text", "table", "style", "presentation", "manifest", "chart")
    },
}
_PREFIXES = {space: prefix for prefix, space in _SPACES.items()}
_MAX_SPACES = 1000


@lru_cache(maxsize=4096)
def short_name(name: str) -> str:
    """Return "text:p" for a paragraph; "" for what is of no interest."""
    namespace, _, local = name.rpartition(" ")
    prefix = _PREFIXES.get(namespace)
    return prefix + local if prefix else ""


@lru_cache(maxsize=4096)
def _long_name(name: str) -> str:
    prefix, _, local = name.partition(":")
    return f"{_SPACES[f'{prefix}:']} {local}"


def attribute(attributes: Mapping[str, str], name: str, default: str = "") -> str:
    """Return an attribute by its short name ("text:style-name")."""
    return attributes.get(_long_name(name), default)


def count_of(attributes: Mapping[str, str], name: str, default: int = 1) -> int:
    """Return an attribute that is a count, from 0; the default where it is none."""
    written = attributes.get(_long_name(name), "")
    return int(written) if written.isdecimal() and len(written) < 10 else default


def white_space(name: str, attributes: Mapping[str, str]) -> str:
    """Return the white space that an element stands for; "" for any other element."""
    if name == "text:s":
        return " " * min(count_of(attributes, "text:c"), _MAX_SPACES)
    return {"text:tab": "\t", "text:line-break": "\n"}.get(name, "")
