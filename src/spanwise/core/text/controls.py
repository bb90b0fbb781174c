"""Removal of terminal control characters from texts of documents, names and servers."""

from __future__ import annotations

import re

LATER_CONTROLS = "\x7f-\x9f\u202a-\u202e\u2066\u2067"
"""Ranges of terminal control characters after ASCII, except Unicode isolates."""
_CONTROLS = re.compile(f"[\x00-\x08\x0b-\x1f{LATER_CONTROLS}]")


def clean(text: str) -> str:
    """Return a text with terminal control characters replaced, except tab and line feed."""
    return _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n").replace("\f", "\n"))
