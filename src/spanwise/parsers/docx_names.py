"""Names of WordprocessingML: short ones for both of its namespaces, transitional and strict."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

__all__ = ["is_on", "short_name", "value_of"]

_PREFIXES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w:",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w:",
    "http://schemas.openxmlformats.org/officeDocument/2006/math": "m:",
    "http://purl.oclc.org/ooxml/officeDocument/math": "m:",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc:",
}


@lru_cache(maxsize=4096)
def short_name(name: str) -> str:
    """Return "w:p" for a paragraph in either namespace; "" for what is of no interest."""
    namespace, _, local = name.rpartition(" ")
    prefix = _PREFIXES.get(namespace)
    return prefix + local if prefix else ""


def value_of(attributes: Mapping[str, str], wanted: str = "val") -> str | None:
    """Return an attribute by its local name, whatever its namespace; None where it is absent."""
    for name, value in attributes.items():
        if name.rpartition(" ")[2] == wanted:
            return value
    return None


def is_on(attributes: Mapping[str, str]) -> bool:
    """Return whether a switch such as `<w:vanish/>` is on."""
    return value_of(attributes) not in {"0", "false", "off"}
