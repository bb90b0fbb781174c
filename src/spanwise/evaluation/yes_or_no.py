"""Answers that are a yes or a no: their other words need not stand in what proves them."""

from __future__ import annotations

import re

__all__ = ["is_yes_or_no"]

_BEGIN = re.compile(r"\W*(?:yes|no|ja|nein|oui|non|sí|si)\b", re.IGNORECASE)


def is_yes_or_no(answer: str) -> bool:
    """Return whether an answer begins with yes or no, in English, German, French or Spanish."""
    return _BEGIN.match(answer) is not None
