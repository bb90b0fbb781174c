"""Addresses of stores on servers, such as "postgresql://db/reports".

An address may contain a password. Messages, reports and logs show `str(address)`, which has none.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from spanwise.errors import OptionError, shown

KINDS = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "qdrant": "qdrant",
    "qdrants": "qdrant",
}
"""Kind of store by scheme of the address."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):[/\\]")
"""Scheme at the start of an address. One slash is enough, because `Path` merges slashes. A single
letter is a Windows drive."""
_ADDRESS = re.compile(
    r"[a-z]+://(?:(?P<user>[^:@/?#]*)(?::(?P<password>[^@/?#]*))?@)?"
    r"(?P<hosts>(?:[^@/?#:\[\]]|\[[^@/?#\[\]]*\]|:\d*(?=[,/?]|$))*)"
    r"(?:/(?P<path>[^@?#]*))?(?:\?(?P<query>[^@#]*))?",
    re.IGNORECASE,
)
_INVALID = re.compile(r"%(?![0-9A-Fa-f]{2})|[\s\x00-\x1f\x7f]")
_SECRET = re.compile("pass|pwd|secret|token|key|credential", re.IGNORECASE)
_DEFAULT_SCHEMA = "spanwise"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StoreAddress:
    """Address of a store on a server; its text form has no password."""

    kind: str
    """Kind of the store: a value of `KINDS`."""
    name: str
    """Name of the knowledge base for results, messages and clients of a server: the schema or
    database."""
    _full: str = field(repr=False)
    _shown: str

    def reveal(self) -> str:
        """Return the complete address, which may contain a password."""
        return self._full

    def __str__(self) -> str:
        return self._shown

    def __repr__(self) -> str:
        return f"StoreAddress({self._shown!r})"


Location = Path | StoreAddress
"""Place of a knowledge base: a folder, ":memory:" or the address of a store."""


def find_location(text: str | Path | StoreAddress) -> Location:
    """Return the place of a knowledge base that a caller names.

    Raises:
        OptionError: If it is neither a path nor an address of a known kind. The message contains no
            password.
    """
    if isinstance(text, StoreAddress):
        return text
    if not isinstance(text, str | Path) or not str(text).strip() or not is_file_name(str(text)):
        raise OptionError(f"the path of the knowledge base is {shown(text)}; name a folder")
    scheme = _SCHEME.match(str(text))
    return Path(text) if scheme is None else _parse(str(text), scheme[1].lower())


def is_file_name(text: str) -> bool:
    """Return whether the system can encode a text as a path."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def revealed(location: Location) -> str:
    """Return a path, or an address with its password, as `find_location` reads it."""
    return location.reveal() if isinstance(location, StoreAddress) else str(location)


def is_address(text: str) -> bool:
    """Return whether a text is an address, of any kind and valid or not."""
    return _SCHEME.match(text) is not None


def local_folder(path: str | Path | StoreAddress) -> Path:
    """Return the path of a knowledge base, which is a local folder or ":memory:".

    Raises:
        OptionError: If it is not a path, is empty, contains a zero byte, or is an address.
    """
    location = find_location(path)
    if isinstance(location, StoreAddress):
        raise OptionError(f"{location} is the address of a store; name a local folder")
    return location


def shown_location(text: str) -> str:
    """Return a path or address without its password, also if the address is not valid."""
    try:
        return str(find_location(text))
    except OptionError:
        scheme = _SCHEME.match(text)
        return text if scheme is None else f"{scheme[1]}://..."


def _parse(text: str, scheme: str) -> StoreAddress:
    if scheme not in KINDS:
        hint = "use spanwise.connect for a server of Spanwise, or " * scheme.startswith("http")
        raise OptionError(
            f"stores of the kind {scheme!r} are not known: {hint}name a local folder, "
            '":memory:", or an address that begins with postgresql://, qdrant:// or qdrants:// '
            "(documents from an address are added to a knowledge base with `add`)"
        )
    if not text[len(scheme) :].startswith("://"):
        raise OptionError(
            f"the address of the knowledge base begins with {scheme}:/ and one slash; write "
            f"{scheme}://, and give it as a text, because a Path merges slashes"
        )
    parts = _ADDRESS.fullmatch(text)
    if parts is None or _INVALID.search(text):
        raise OptionError(
            f"the address of the knowledge base ({scheme}://...) is not valid; it has the form "
            f"{scheme}://user:password@host:port/name?option=value, with special characters of "
            "names and passwords in percent-encoding, such as %40 for @ and %2F for /"
        )
    user, hosts, path, query = parts["user"], parts["hosts"], parts["path"], parts["query"]
    kept = [part for part in (query or "").split("&") if not _SECRET.search(part.partition("=")[0])]
    options = dict(parse_qsl(query or ""))
    schema = options.get("schema", _DEFAULT_SCHEMA)
    name = (
        (schema if schema != _DEFAULT_SCHEMA else "")
        or unquote(path or "").strip("/")
        or options.get("dbname")
        or options.get("service")
        or unquote(user or "")
        or KINDS[scheme]
    )
    shown_scheme = "postgresql" if scheme == "postgres" else scheme
    login = f"{user}@" if user else ""
    place = "" if path is None else f"/{path}"
    shown_query = f"?{'&'.join(kept)}" if any(kept) else ""
    return StoreAddress(
        kind=KINDS[scheme],
        name=name.replace("/", "-"),
        _full=text,
        _shown=f"{shown_scheme}://{login}{hosts}{place}{shown_query}",
    )
