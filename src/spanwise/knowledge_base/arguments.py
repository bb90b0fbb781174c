"""Checks of the arguments of `KnowledgeBase`, before anything is read, called or written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from spanwise.config import is_file_name
from spanwise.core.text.file_names import MAX_ID_CHARS, id_problem
from spanwise.errors import OptionError, shown, unknown_document
from spanwise.filters import MAX_DIGITS, kind_of, read_filter
from spanwise.options import (
    ExcerptOptions,
    FetchOptions,
    ModelOptions,
    ParseOptions,
    PublishedOptions,
    SearchOptions,
    SegmentOptions,
    method_options,
)
from spanwise.options.checks import check_class
from spanwise.search.scoring import Scope
from spanwise.types import Durability, GivenValue, MetadataValue, Scalar

if TYPE_CHECKING:
    from spanwise.filters import Where
    from spanwise.options import AnswerOptions, Spread
    from spanwise.types import GivenParts, Segment
    from spanwise.types.listener import Listener

_Found = TypeVar("_Found")
_Options = TypeVar("_Options", SearchOptions, ExcerptOptions)


def search_options(
    options: SearchOptions | None,
    *,
    budget_tokens: int,
    method: str,
    preset: str | None,
    segment_options: SegmentOptions | PublishedOptions | None,
    headers: bool,
    tokenizer: str | None,
    abstain: bool,
    deep: bool,
    spread: Spread,
    max_documents: int,
) -> SearchOptions:
    """Return the options of a search, given as one object or as keyword arguments.

    Raises:
        OptionError: If an option is out of range, does not fit another one, or is given both ways.
    """
    segments, published = method_options(method, preset=preset, given=segment_options)
    keywords = SearchOptions(
        budget_tokens=budget_tokens,
        segments=segments,
        published=published,
        headers=headers,
        tokenizer=tokenizer,
        abstain=abstain,
        deep=deep,
        spread=spread,
        max_documents=max_documents,
    )
    return _whole_or_keywords(options, keywords)


def excerpt_options(
    options: ExcerptOptions | None,
    *,
    excerpts: int,
    excerpt_tokens: int,
    preset: str | None,
    segment_options: SegmentOptions | None,
    headers: bool,
    tokenizer: str | None,
    abstain: bool,
    deep: bool,
    spread: Spread,
) -> ExcerptOptions:
    """Return the options of a search for excerpts, given as one object or as keyword arguments.

    Raises:
        OptionError: If an option is out of range or is given both ways.
    """
    keywords = ExcerptOptions(
        excerpts=excerpts,
        excerpt_tokens=excerpt_tokens,
        segments=method_options("exact", preset=preset, given=segment_options)[0],
        headers=headers,
        tokenizer=tokenizer,
        abstain=abstain,
        deep=deep,
        spread=spread,
    )
    return _whole_or_keywords(options, keywords)


def _whole_or_keywords(options: _Options | None, keywords: _Options) -> _Options:
    if options is None:
        return keywords
    kind = type(keywords)
    if not isinstance(options, kind):
        raise OptionError(f"options is {shown(options)}; give {kind.__name__}")
    if keywords != kind():
        raise OptionError(
            "options are given whole and as keywords; set everything in "
            f"{kind.__name__}, or leave `options` out"
        )
    return options


def each_options(options: AnswerOptions | None, budget_tokens: int | None) -> AnswerOptions:
    """Return the options of `ask_each`, with the token budget of each document.

    Raises:
        OptionError: If the options ask for excerpts, or the budget is out of range.
    """
    from spanwise.options.answers import EACH_TOKENS, AnswerOptions

    chosen = AnswerOptions(budget_tokens=EACH_TOKENS) if options is None else options
    if chosen.excerpts:
        raise OptionError(
            f"options ask for {chosen.excerpts} excerpts; ask_each reads passages of each "
            "document: leave excerpts out, and give a larger budget_tokens"
        )
    return chosen if budget_tokens is None else replace(chosen, budget_tokens=budget_tokens)


def make_scope(documents: Sequence[str] | None, where: Where | None) -> Scope:
    """Return the documents to search.

    Raises:
        OptionError: If `documents` is not a list of texts.
        FilterError: If the filter cannot be parsed.
    """
    return Scope(
        where=read_filter(where),
        documents=None if documents is None else checked_list("documents", documents),
    )


def checked_id(value: str, *, name: str = "document_id") -> str:
    """Validate the id of a document or conversation, and return it.

    Raises:
        OptionError: If it is empty, too long, or contains control characters or lone surrogates.
    """
    if not isinstance(value, str) or not value.strip():
        raise OptionError(f"{name} is {shown(value)}; give a text that is not empty")
    problem = id_problem(value)
    if problem:
        raise OptionError(
            f"{name} is {shown(value)}: {problem}; it must have at most {MAX_ID_CHARS:,} "
            "characters, and no control characters or lone surrogates"
        )
    return value


def text_id(document_id: str) -> str:
    """Return an id if it is a text; whether there is such a document is checked later.

    Raises:
        OptionError: If it is not a text.
    """
    if not isinstance(document_id, str):
        raise OptionError(f"document_id is {shown(document_id)}; give the id of one document")
    return document_id


def find_stored(read: Callable[[str], _Found | None], document_id: str) -> _Found:
    """Return what a function of the store reads for the id of a document.

    Raises:
        OptionError: If the id is not a text.
        DocumentNotFoundError: If the function returns nothing.
    """
    value = read(text_id(document_id))
    if not value:
        raise unknown_document(document_id)
    return value


def checked_segment(segment: Segment) -> Segment:
    """Validate a segment, and return it.

    Raises:
        OptionError: If it is another object, such as the `to_dict` of a segment.
    """
    from spanwise.types import Segment

    if not isinstance(segment, Segment):
        raise OptionError(f"segment is {shown(segment)}; give a Segment of a search")
    return segment


def checked_durability(durability: Durability) -> Durability:
    """Validate a durability, and return it.

    Raises:
        OptionError: If the value is unknown.
    """
    if durability not in get_args(Durability):
        raise OptionError(f"durability is {durability!r}; it must be one of {get_args(Durability)}")
    return durability


def check_opening(
    durability: Durability,
    *,
    listener: Listener | None,
    parse: ParseOptions | None,
    fetch: FetchOptions | None,
    models: ModelOptions | None,
) -> None:
    """Validate arguments of a knowledge base before its store is opened.

    Raises:
        OptionError: If one has a wrong value or is an object of another class.
    """
    checked_durability(durability)
    check_class("parse", parse, ParseOptions)
    check_class("fetch", fetch, FetchOptions)
    check_class("models", models, ModelOptions)
    if listener is not None and not callable(getattr(listener, "on_step", None)):
        raise OptionError(f"listener is {shown(listener)}; give an object with a method `on_step`")


def checked_media_type(
    media_type: Literal["text/plain", "text/markdown"],
) -> Literal["text/plain", "text/markdown"]:
    """Validate the media type of a text, and return it.

    Raises:
        OptionError: If it is neither plain text nor Markdown.
    """
    if media_type not in ("text/plain", "text/markdown"):
        raise OptionError(
            f'media_type is {shown(media_type)}; give "text/plain" or "text/markdown"'
        )
    return media_type


def checked_title(title: str) -> str:
    """Validate a document title, which may be empty, and return it.

    Raises:
        OptionError: If it is not a text or contains a lone surrogate.
    """
    if not isinstance(title, str):
        raise OptionError(f"title is {shown(title)}; give a text, an empty one for none")
    _check_characters(title, name="title")
    return title


def checked_path(path: str | Path) -> Path:
    """Validate the path of a folder to create, and return it.

    Raises:
        OptionError: If the file system cannot have a file with this name.
    """
    if not isinstance(path, str | Path) or not str(path).strip() or not is_file_name(str(path)):
        raise OptionError(f"the path is {shown(path)}; name a folder")
    return Path(path)


def checked_list(name: str, values: Sequence[str]) -> tuple[str, ...]:
    """Validate an argument that is a list of texts, and return it.

    Raises:
        OptionError: If it is a single text or contains anything other than texts.
    """
    if isinstance(values, str):
        raise OptionError(f"{name} is the text {shown(values)}; give a list of texts")
    texts = tuple(values) if isinstance(values, Iterable) else (values,)
    if not all(isinstance(text, str) for text in texts):
        raise OptionError(f"{name} is {shown(values)}; give a list of texts")
    return texts


def checked_text(text: str, document_id: str) -> str:
    """Validate the text of a document, and return it.

    Raises:
        OptionError: If it is not a text or contains a lone surrogate.
    """
    if not isinstance(text, str):
        raise OptionError(
            f"the text of {shown(document_id)} is a {type(text).__name__}; give a str"
        )
    _check_characters(text, name=f"the text of {shown(document_id)}")
    return text


def _check_characters(text: str, *, name: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise OptionError(
            f"{name} has a lone surrogate at character {error.start}; "
            "decode it with errors='replace' first"
        ) from error


def checked_metadata(
    metadata: Mapping[str, GivenValue] | None,
) -> dict[str, MetadataValue] | None:
    """Return metadata that can be stored and filtered; None stays None.

    Dates become ISO 8601 texts, and lists become tuples.

    Raises:
        OptionError: If a name is not a text, a value is not a text, finite number, boolean, date or
            list of them, or either contains a lone surrogate.
    """
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        raise OptionError(f"metadata is {shown(metadata)}; give a mapping of names to values")
    for name in metadata:
        if not isinstance(name, str) or not name:
            raise OptionError(f"a metadata field is named {shown(name)}; give a text")
        _check_characters(name, name=f"the name of metadata field {shown(name)}")
    return {
        name: tuple(_checked_scalar(item, name) for item in value)
        if isinstance(value, list | tuple)
        else _checked_scalar(value, name)
        for name, value in metadata.items()
    }


def _checked_scalar(value: object, name: str) -> Scalar:
    """Return a single value of a metadata field, with a date as text."""
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str | int | float) or kind_of(value) is None:
        raise OptionError(
            f"metadata field {shown(name)} is {shown(value)}; give a text, a boolean, a date, a "
            f"finite number of at most {MAX_DIGITS} digits, or a list of them"
        )
    if isinstance(value, str):
        _check_characters(value, name=f"metadata field {shown(name)}")
    return value


def checked_given(given: Mapping[str, GivenParts] | None) -> dict[str, GivenParts]:
    """Return given parts by document id. Whether they fit their documents is checked later.

    Raises:
        OptionError: If it is not a mapping of ids to `GivenParts`, or a text contains a lone
            surrogate.
    """
    from spanwise.types import GivenParts

    if given is not None and not isinstance(given, Mapping):
        raise OptionError(f"given is {shown(given)}; give a mapping of document ids to GivenParts")
    parts_by_id = dict(given or {})
    for document_id, parts in parts_by_id.items():
        if not isinstance(parts, GivenParts):
            raise OptionError(
                f"what is given for {shown(document_id)} is {shown(parts)}; give GivenParts"
            )
        texts = [parts.title, parts.summary, *(context.text for context in parts.contexts)]
        for section in parts.sections:
            texts += [section.title, section.summary, *section.path]
        for text in texts:
            checked_text(text, document_id)
    return parts_by_id
