"""Locations of sources in ids, records and messages: URLs without signatures and secrets.

A signed URL gives access to anyone who reads it, and differs each time it is signed. Without the
signature, a document keeps its id. Parameters such as `token` and `key` stay, because they may
identify the page.
"""

from __future__ import annotations

from spanwise.errors import DocumentErrorCode, FetchError

_SIGNED_BY = {
    "x-amz-signature": ("x-amz-",),
    "x-goog-signature": ("x-goog-",),
    "x-oss-signature": ("x-oss-",),
    "signature": (
        "signature", "expires", "policy", "key-pair-id", "awsaccesskeyid", "googleaccessid",
        "ossaccesskeyid", "security-token", "x-amz-",
    ),
    "sig": (
        "sig", "sv", "ss", "srt", "sp", "se", "st", "spr", "sr", "si", "sip", "sdd", "skoid",
        "sktid", "skt", "ske", "sks", "skv",
    ),
}  # fmt: skip
"""Query parameters to remove, by the parameter that holds the signature; prefixes end with "-".

In order: Amazon; Google; Alibaba; CloudFront and older forms of the first three; Azure.
"""
_SECRETS = frozenset(("access_token", "api_key", "apikey", "auth_token", "password"))


def unsigned(address: str) -> str:
    """Return a URL without the signature and the secrets in its query."""
    before, mark, rest = address.partition("?")
    query, hash_mark, fragment = rest.partition("#")
    pieces = query.split("&")
    names = [piece.partition("=")[0].lower() for piece in pieces]
    dropped = {
        part for signature in _SIGNED_BY.keys() & set(names) for part in _SIGNED_BY[signature]
    }
    dropped |= _SECRETS
    prefixes = tuple(part for part in dropped if part.endswith("-"))
    remaining = [
        piece
        for piece, name in zip(pieces, names, strict=True)
        if name not in dropped and not name.startswith(prefixes)
    ]
    if len(remaining) == len(pieces):
        return address
    return f"{before}{mark if remaining else ''}{'&'.join(remaining)}{hash_mark}{fragment}"


def fetch_error(location: str, code: DocumentErrorCode, cause: object) -> FetchError:
    """Return the error of a source that cannot be fetched or opened, with its location first."""
    return FetchError(f"{location}: {cause}", source=location, code=code)
