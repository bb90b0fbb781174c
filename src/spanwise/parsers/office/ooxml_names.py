"""Names of Office Open XML, shortened for the transitional and the strict namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

_LANGUAGES = {
    "w": "wordprocessingml/{}main",
    "s": "spreadsheetml/{}main",
    "p": "presentationml/{}main",
    "a": "drawingml/{}main",
    "c": "drawingml/{}chart",
    "d": "drawingml/{}diagram",
    "m": "officeDocument/{}math",
}
_PREFIXES = {
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc:",
    **{
        root + path.format(year): f"{prefix}:"
        for prefix, path in _LANGUAGES.items()
        for root, year in (
            ("http://schemas.openxmlformats.org/", "2006/"),
            ("http://purl.oclc.org/ooxml/", ""),
        )
    },
}
_RELATIONS = (
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    "http://purl.oclc.org/ooxml/officeDocument/relationships",
)


@lru_cache(maxsize=4096)
def short_name(name: str) -> str:
    """Return a name with its usual prefix, such as "w:p"; "" for an irrelevant name."""
    namespace, _, local = name.rpartition(" ")
    prefix = _PREFIXES.get(namespace)
    return prefix + local if prefix else ""


def value_of(attributes: Mapping[str, str], local_name: str = "val") -> str | None:
    """Return an attribute by its local name in any namespace; None if it is absent."""
    for name, value in attributes.items():
        if name.rpartition(" ")[2] == local_name:
            return value
    return None


def level_of(attributes: Mapping[str, str], local_name: str = "val") -> int | None:
    """Return a level from 0 to 9; None if the attribute is invalid."""
    written = value_of(attributes, local_name) or ""
    return int(written) if written.isdecimal() and len(written) == 1 else None


def number_of(attributes: Mapping[str, str], local_name: str, *, default: int = 0) -> int:
    """Return an integer attribute; the default if it is missing or invalid."""
    written = attributes.get(local_name, "")
    digits = written.removeprefix("-")
    return int(written) if digits.isdecimal() and len(digits) < 16 else default


def relation_of(attributes: Mapping[str, str], local_name: str = "id") -> str | None:
    """Return the id of the relation (`r:id`) of an element; None if it has none."""
    for namespace in _RELATIONS:
        found = attributes.get(f"{namespace} {local_name}")
        if found is not None:
            return found
    return None


def is_on(attributes: Mapping[str, str]) -> bool:
    """Return whether a switch such as `<w:vanish/>` is on."""
    return value_of(attributes) not in {"0", "false", "off"}
