"""What a caller gives, checked before anything is spent on it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from spanwise.errors import OptionError
from spanwise.filters import MAX_DIGITS, kind_of
from spanwise.types import Durability, GivenParts, Scalar
from spanwise.types.plain import shown

_MAX_ID_CHARS = 1_000
_NOT_IN_ID = re.compile("[\x00-\x1f\ud800-\udfff]")


def checked_id(given: str, *, called: str = "document_id") -> str:
    """Return an id of a document or a conversation that can be stored.

    Raises:
        OptionError: If it is empty, too long, or has control characters or half a character.
    """
    if not isinstance(given, str) or not given.strip():
        raise OptionError(f"{called} is {shown(given)}; give a text that is not empty")
    if len(given) > _MAX_ID_CHARS or _NOT_IN_ID.search(given):
        raise OptionError(
            f"{called} is {shown(given)}; it must have at most {_MAX_ID_CHARS} "
            "characters, and no control characters or lone surrogates"
        )
    return given


def checked_path(path: str | Path) -> Path:
    """Return the folder of a knowledge base.

    Raises:
        OptionError: If it is not a path, empty, or has a zero byte.
    """
    if not isinstance(path, str | Path) or not str(path).strip() or "\0" in str(path):
        raise OptionError(f"the path of the knowledge base is {shown(path)}; name a folder")
    return Path(path)


def checked_durability(given: Durability) -> Durability:
    """Return a durability.

    Raises:
        OptionError: If it is none.
    """
    if given not in get_args(Durability):
        raise OptionError(f"durability is {given!r}; it must be one of {get_args(Durability)}")
    return given


def checked_media_type(
    media_type: Literal["text/plain", "text/markdown"],
) -> Literal["text/plain", "text/markdown"]:
    """Return a media type that a given text may have.

    Raises:
        OptionError: If it is another one.
    """
    if media_type not in ("text/plain", "text/markdown"):
        raise OptionError(
            f'media_type is {shown(media_type)}; give "text/plain" or "text/markdown"'
        )
    return media_type


def checked_title(title: str) -> str:
    """Return a title that can be stored.

    Raises:
        OptionError: If it is not a text.
    """
    if not isinstance(title, str):
        raise OptionError(f"title is {shown(title)}; give a text, an empty one for none")
    return title


def checked_list(name: str, values: Sequence[str]) -> tuple[str, ...]:
    """Return texts that are given one by one.

    Raises:
        OptionError: If they are one text, whose characters would be taken for them, or no texts.
    """
    if isinstance(values, str):
        raise OptionError(f"{name} is the text {shown(values)}; give a list of texts")
    given = tuple(values) if isinstance(values, Iterable) else (values,)
    if not all(isinstance(value, str) for value in given):
        raise OptionError(f"{name} is {shown(values)}; give a list of texts")
    return given


def checked_text(text: str, document_id: str) -> str:
    """Return a text that can be stored.

    Raises:
        OptionError: If it is not a text, or has half a character (a lone surrogate).
    """
    if not isinstance(text, str):
        raise OptionError(
            f"the text of {shown(document_id)} is a {type(text).__name__}; give a str"
        )
    _check_characters(text, called=f"the text of {shown(document_id)}")
    return text


def _check_characters(text: str, *, called: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise OptionError(
            f"{called} has a lone surrogate at character {error.start}; "
            "decode it with errors='replace' first"
        ) from error


def checked_metadata(metadata: Mapping[str, Scalar] | None) -> dict[str, Scalar]:
    """Return metadata that can be stored and filtered by.

    Raises:
        OptionError: If a name is not a text, a value is not a text, finite number or boolean, or
            either has half a character (a lone surrogate).
    """
    if metadata is not None and not isinstance(metadata, Mapping):
        raise OptionError(f"metadata is {shown(metadata)}; give a mapping of names to values")
    checked = dict(metadata or {})
    for name, value in checked.items():
        if not isinstance(name, str) or not name:
            raise OptionError(f"a metadata field is named {shown(name)}; give a text")
        _check_characters(name, called=f"the name of metadata field {shown(name)}")
        if kind_of(value) is None:
            raise OptionError(
                f"metadata field {shown(name)} is {shown(value)}; give a text, a boolean or a "
                f"finite number of at most {MAX_DIGITS} digits"
            )
        if isinstance(value, str):
            _check_characters(value, called=f"metadata field {shown(name)}")
    return checked


def checked_given(given: Mapping[str, GivenParts] | None) -> dict[str, GivenParts]:
    """Return parts of documents that can be stored; whether they fit to their texts is not known.

    Raises:
        OptionError: If they are no mapping of ids to parts, or a text in them has half a character.
    """
    if given is not None and not isinstance(given, Mapping):
        raise OptionError(f"given is {shown(given)}; give a mapping of document ids to GivenParts")
    checked = dict(given or {})
    for document_id, parts in checked.items():
        if not isinstance(parts, GivenParts):
            raise OptionError(
                f"what is given for {shown(document_id)} is {shown(parts)}; give GivenParts"
            )
        texts = [parts.title, parts.summary, *(context.text for context in parts.contexts)]
        for section in parts.sections:
            texts += [section.title, section.summary, *section.path]
        for text in texts:
            checked_text(text, document_id)
    return checked
