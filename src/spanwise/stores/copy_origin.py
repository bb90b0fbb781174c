"""Setting of a knowledge base that is a copy of another one, and its warning while incomplete."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

COPY_OF = "copy_of"
"""Name of the setting with the source of a copy."""
INCOMPLETE = " (incomplete)"
"""Suffix of the setting `copy_of` until the copy is complete."""


def unfinished_copy(settings: Mapping[str, str]) -> str:
    """Return a warning if settings are those of an unfinished copy, otherwise an empty text."""
    origin = settings.get(COPY_OF, "")
    if not origin.endswith(INCOMPLETE):
        return ""
    source = origin.removesuffix(INCOMPLETE).rpartition(" ")[0]
    return (
        f"this knowledge base is an incomplete copy of {source!r}: documents may be missing or "
        "outdated; run the same `spanwise copy` again to complete it"
    )
