"""Parsers that packages register by name: the adapters of Spanwise, and those of users.

A package registers a function from `Source` to `Parsed` as an entry point of the group
`spanwise.parsers`. It runs in the parsing process, under the same limits as built-in parsers.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from importlib.util import find_spec

from spanwise.errors import DocumentError, OptionError
from spanwise.parsers.parsed import Parsed, Source

OWN_PARSERS = "spanwise"
"""Parser name that selects the built-in parsers."""
_GROUP = "spanwise.parsers"
_EXTRAS = ("docling", "unstructured")
"""Adapters that need an installed package of the same name."""


def check_parser(name: str) -> None:
    """Raise if no installed package registers a parser of this name.

    Raises:
        OptionError: If there is no such parser, or its package is not installed.
    """
    if name == OWN_PARSERS:
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
        ParseError: "no_text" if it finds none; "crashed" if it fails or returns another type;
            or the error that the parser raises itself.
    """
    try:
        parse: Callable[[Source], object] = next(iter(entry_points(group=_GROUP, name=name))).load()
        parsed = parse(source)
    except (DocumentError, MemoryError):
        raise
    except Exception as exc:  # third-party code may raise anything
        cause = f"{type(exc).__name__}: {exc}"
        raise source.error("crashed", f"the parser {name!r} failed: {cause}") from exc
    if not isinstance(parsed, Parsed):
        kind = type(parsed).__name__
        raise source.error("crashed", f"the parser {name!r} returned a {kind}, not a Parsed")
    if not parsed.text.strip():
        raise source.error(
            "no_text", f"the parser {name!r} found no text in it; try the built-in parser"
        )
    return parsed
