"""Parsers of users: registered by packages, or passed as functions.

A package registers a function from `Source` to `Parsed` as an entry point of the group
`spanwise.parsers`. It runs in the parsing process, under the same limits as built-in parsers. A
function that is passed in `ParseOptions.parser` runs in the process of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, get_args
from urllib.parse import urlsplit

from spanwise.errors import DocumentError, OptionError, shown
from spanwise.filters import kind_of
from spanwise.parsers.parsed import Parsed, Source
from spanwise.types import DocumentStatus

if TYPE_CHECKING:
    from spanwise.types import Document, DocumentRecord

OWN_PARSERS = "spanwise"
"""Parser name that selects the built-in parsers."""
_GROUP = "spanwise.parsers"
EMAIL = "message/rfc822"
"""Media type of e-mails, which the built-in parser reads because it lists the attachments."""
_EXTRAS = ("docling", "unstructured")
"""Adapters that need an installed package of the same name."""


def check_parser(name: object) -> None:
    """Raise if a parser is named that no installed package registers; functions are accepted.

    Raises:
        OptionError: If there is no such parser, or its package is not installed.
    """
    if not isinstance(name, str) or name == OWN_PARSERS:
        return
    if not entry_points(group=_GROUP, name=name):
        known = ", ".join(
            sorted({OWN_PARSERS} | {entry.name for entry in entry_points(group=_GROUP)})
        )
        raise OptionError(f"parser is {name!r}; no installed package offers it (known: {known})")
    if name in _EXTRAS and find_spec(name) is None:
        raise OptionError(
            f"parser is {name!r}, which is not installed: pip install 'spanwise[{name}]'"
        )


def parse_with(name: str, source: Source) -> Parsed:
    """Return the checked result of a registered parser.

    Raises:
        ParseError: As `call_parser`.
    """

    def parse(source: Source) -> object:
        load = next(iter(entry_points(group=_GROUP, name=name))).load
        return load()(source)

    return call_parser(parse, source, name=name)


def call_parser(parse: Callable[[Source], object], source: Source, *, name: str) -> Parsed:
    """Return the checked result of a parser of a user.

    Raises:
        ParseError: "no_text" if it finds none; "crashed" if it fails or returns something invalid;
            or the error that the parser raises itself.
    """
    try:
        parsed = parse(source)
    except (DocumentError, MemoryError):
        raise
    except (Exception, SystemExit) as exc:  # third-party code may raise anything
        cause = f"{type(exc).__name__}: {exc}"
        raise source.error("crashed", f"the parser {name!r} failed: {cause}") from exc
    if not isinstance(parsed, Parsed):
        kind = type(parsed).__name__
        raise source.error("crashed", f"the parser {name!r} returned a {kind}, not a Parsed")
    problem = _problem(parsed)
    if problem:
        raise source.error("crashed", f"the parser {name!r} returned {problem}")
    if not parsed.text.strip():
        raise source.error(
            "no_text", f"the parser {name!r} found no text in it; try the built-in parser"
        )
    return parsed


def _problem(parsed: Parsed) -> str:
    """Return what is invalid in a result, beyond the checks of `Parsed`; empty for nothing."""
    for name in ("text", "title", "media_type"):
        if not isinstance(getattr(parsed, name), str):
            return f"the {name} {shown(getattr(parsed, name))}; give a text"
    if parsed.status not in get_args(DocumentStatus):
        return f"the status {shown(parsed.status)}; give one of {get_args(DocumentStatus)}"
    for name, value in parsed.metadata.items():
        if not isinstance(name, str) or kind_of(value) is None:
            return (
                f"the metadata field {shown(name)} as {shown(value)}; give a text, a finite number "
                "or a boolean"
            )
    texts = [parsed.title, *parsed.warnings, *(heading.title for heading in parsed.headings)]
    texts += [text for field in parsed.metadata.items() for text in field if isinstance(text, str)]
    try:
        "".join(texts).encode()
    except (TypeError, UnicodeEncodeError) as error:
        return f"a title, warning or field that is not valid text: {error}"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnParser:
    """Parser function of the caller."""

    parse: Callable[[Source], object]
    """Function from `Source` to `Parsed`."""
    takes_all: bool
    """Whether it parses all documents, not only those with its extension."""

    @property
    def name(self) -> str:
        """Name of the parser: its attribute `name`, or the name of the function or class."""
        name = getattr(self.parse, "name", None) or getattr(self.parse, "__qualname__", None)
        return str(name or type(self.parse).__qualname__)

    @property
    def recipe(self) -> str:
        """Name and version of the parser, which are recorded with each document."""
        return f"{self.name} {getattr(self.parse, 'version', '')}".rstrip()


def own_parser(parser: object, *, source: str) -> OwnParser | None:
    """Return the function that parses a source; None if an installed parser does.

    Args:
        parser: Value of `ParseOptions.parser`.
        source: Path, URL or id of the source. Its longest extension in a mapping counts; case is
            ignored.
    """
    if callable(parser):
        return OwnParser(parse=parser, takes_all=True)
    if not isinstance(parser, Mapping):
        return None
    name = (urlsplit(source).path if "://" in source else source).lower()
    for extension in sorted(parser, key=len, reverse=True):
        if name.endswith(extension.lower()):
            return OwnParser(parse=parser[extension], takes_all=False)
    return None


def parser_recipe(parser: object, document: Document | DocumentRecord) -> str:
    """Return name and version of the function that parses a document; empty for other parsers.

    Args:
        parser: Value of `ParseOptions.parser`.
        document: Document, or its record.
    """
    own = own_parser(parser, source=document.source) if document.source else None
    if own is None or (own.takes_all and document.media_type == EMAIL):
        return ""
    return own.recipe
