"""What a caller gives, checked before anything is spent on it."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from spanwise.errors import OptionError
from spanwise.types import Scalar

__all__ = ["checked_id", "checked_metadata", "checked_text"]

_MAX_ID_CHARS = 1_000


def checked_id(document_id: str) -> str:
    """Return an id that can be stored.

    Raises:
        OptionError: If it is empty, too long or has control characters.
    """
    if not isinstance(document_id, str) or not document_id.strip():
        raise OptionError(f"document_id is {document_id!r}; give a text that is not empty")
    if len(document_id) > _MAX_ID_CHARS or any(ord(character) < 32 for character in document_id):
        raise OptionError(
            f"document_id is {document_id[:80]!r}; it must have at most {_MAX_ID_CHARS} "
            "characters and no control characters"
        )
    return document_id


def checked_text(text: str, document_id: str) -> str:
    """Return a text that can be stored.

    Raises:
        OptionError: If it is no text, or has half a character (a lone surrogate).
    """
    if not isinstance(text, str):
        raise OptionError(f"the text of {document_id!r} is a {type(text).__name__}; give a str")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise OptionError(
            f"the text of {document_id!r} has a lone surrogate at character {error.start}; "
            "decode it with errors='replace' first"
        ) from error
    return text


def checked_metadata(metadata: Mapping[str, Scalar] | None) -> dict[str, Scalar]:
    """Return metadata that can be stored and filtered by.

    Raises:
        OptionError: If a name is no text, or a value no text, finite number or boolean.
    """
    checked = dict(metadata or {})
    for name, value in checked.items():
        if not isinstance(name, str) or not name:
            raise OptionError(f"a metadata field is named {name!r}; give a text")
        if not isinstance(value, str | int | float | bool) or (
            isinstance(value, float) and not isfinite(value)
        ):
            raise OptionError(
                f"metadata field {name!r} is {value!r}; give a text, a finite number or a boolean"
            )
    return checked
