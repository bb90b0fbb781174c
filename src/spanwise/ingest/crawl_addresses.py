"""Addresses of web pages: normal forms and sites. Nothing is requested here.

Rules of the normal form:
    1. Scheme and host are in lower case, without the default port. Dot segments are resolved, and
       escapes of unreserved characters are decoded.
    2. There is no fragment, no parameter that only tracks visitors, and no empty query.
    3. The order of the remaining parameters stays, because it may matter to the server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import httpx

_TRACKING = re.compile(
    r"utm_\w+|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|igshid|mc_cid|mc_eid|"
    r"_hsenc|_hsmi|mkt_tok|vero_id|_ga|_gl|jsessionid|phpsessid|aspsessionid\w*",
    re.IGNORECASE,
)
"""Query parameters that identify a visitor or a campaign and not a page."""
_SESSION_IN_PATH = re.compile(r";jsessionid=[^/?#]*", re.IGNORECASE)
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SKIPPED = frozenset(
    "7z avi bin bmp bz2 css deb dmg eot exe flac gif gz ico iso jar jpeg jpg js json map mjs mkv "
    "mov mp3 mp4 mpeg mpg msi ogg otf png rar rpm rss svg tar tgz tif tiff ttf wav webm webp woff "
    "woff2 xml xz zip".split()
)
"""Extensions of files that a crawl does not request."""
_READABLE = frozenset(
    (
        "text/html", "application/xhtml+xml", "text/plain", "text/markdown", "text/x-rst",
        "application/pdf", "application/rtf", "text/rtf", "application/epub+zip",
    )
)  # fmt: skip
_READABLE_PREFIXES = (
    "application/vnd.openxmlformats-officedocument.",
    "application/vnd.oasis.opendocument.",
)
_MAX_CHARS = 2_048


def normal_address(address: str, *, base: str = "") -> str | None:
    """Return the normal form of an address; None if it is not a valid http or https URL.

    Args:
        address: Address as it is written in a page.
        base: Address that a relative one refers to; empty if it must be absolute.
    """
    try:
        url = httpx.URL(base).join(address.strip()) if base else httpx.URL(address.strip())
    except (httpx.InvalidURL, UnicodeError, ValueError):
        return None
    if url.scheme not in ("http", "https") or not url.host or url.userinfo:
        return None
    path, _, query = url.raw_path.decode("ascii", "replace").partition("?")
    pieces = [piece for piece in query.split("&") if piece and not _is_tracking(piece)]
    path = _escaped(_SESSION_IN_PATH.sub("", path)) or "/"
    authority = url.netloc.decode("ascii", "replace")
    mark = "?" if pieces else ""
    normal = f"{url.scheme}://{authority}{path}{mark}{_escaped('&'.join(pieces))}"
    return normal if len(normal) <= _MAX_CHARS else None


def _is_tracking(piece: str) -> bool:
    return _TRACKING.fullmatch(piece.partition("=")[0]) is not None


def _escaped(text: str) -> str:
    """Return a part of an address with unreserved characters decoded, and escapes in capitals."""

    def decode(match: re.Match[str]) -> str:
        byte = int(match[1], 16)
        return chr(byte) if byte in _UNRESERVED else match[0].upper()

    return _ESCAPE.sub(decode, text)


def page_key(address: str) -> str:
    """Return a key that is equal for all addresses of the same page.

    Scheme, "www." and a slash at the end of the path make no difference.
    """
    before, mark, query = address.partition("?")
    rest = before.partition("://")[2].removeprefix("www.")
    return f"{rest.rstrip('/')}{mark}{query}"


def site_of(address: str) -> str:
    """Return the host of an address without "www.", with its port if it is not the default one."""
    return page_key(address).partition("/")[0].partition("?")[0]


def pattern_path(address: str) -> str:
    """Return the path of an address for include and exclude patterns, without outer slashes."""
    return httpx.URL(address).path.strip("/")


def may_be_page(address: str) -> bool:
    """Return whether an address does not have the extension of an image, archive or program."""
    name = address.partition("?")[0].partition("://")[2].partition("/")[2].rpartition("/")[2]
    return "." not in name or name.rpartition(".")[2].lower() not in _SKIPPED


def is_readable(media_type: str | None) -> bool:
    """Return whether a crawl reads documents of a media type; None if the server sent none."""
    return (
        media_type is None or media_type in _READABLE or media_type.startswith(_READABLE_PREFIXES)
    )


def sites_of(addresses: Iterable[str]) -> frozenset[str]:
    """Return the sites of some addresses."""
    return frozenset(map(site_of, addresses))
