"""Removal of signatures and secrets from URLs, for ids, stored sources and messages.

A signed URL gives access to anyone who reads it, and differs each time it is signed. Without its
signature, the document keeps its id. Parameters such as `token` and `key` stay, because they may
identify the page.
"""

from __future__ import annotations

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
"""Signature parameters, and the parameters that belong to each; prefixes end with "-".

In order: Amazon, Google, Alibaba; their older forms and CloudFront; Azure.
"""
_SECRETS = frozenset(("access_token", "api_key", "apikey", "auth_token", "password"))


def unsigned(address: str) -> str:
    """Return a URL without signature and secrets in its query; unchanged if it has none."""
    before, mark, rest = address.partition("?")
    query, hash_mark, fragment = rest.partition("#")
    pieces = query.split("&")
    names = [piece.partition("=")[0].lower() for piece in pieces]
    dropped = {
        part for signature in _SIGNED_BY.keys() & set(names) for part in _SIGNED_BY[signature]
    }
    dropped |= _SECRETS
    prefixes = tuple(part for part in dropped if part.endswith("-"))
    kept = [
        piece
        for piece, name in zip(pieces, names, strict=True)
        if name not in dropped and not name.startswith(prefixes)
    ]
    if len(kept) == len(pieces):
        return address
    return f"{before}{mark if kept else ''}{'&'.join(kept)}{hash_mark}{fragment}"
