"""What opens an address is no part of its id, and in no message."""

from __future__ import annotations

import pytest

from spanwise.ingest.locations import unsigned


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("https://a.org/b?page=2&key=k#c", "https://a.org/b?page=2&key=k#c"),
        ("https://a.org/b?se=1&policy=x", "https://a.org/b?se=1&policy=x"),
        ("https://a.org/b?", "https://a.org/b?"),
        (
            "https://s3.org/b.pdf?X-Amz-Credential=A%2F1&versionId=3&X-Amz-Expires=60"
            "&X-Amz-Security-Token=T&X-Amz-Signature=S#page=2",
            "https://s3.org/b.pdf?versionId=3#page=2",
        ),
        ("https://g.org/b?GoogleAccessId=a&Expires=1&Signature=s", "https://g.org/b"),
        ("https://z.org/b?sv=2022&sp=r&sig=s%3D&comp=x", "https://z.org/b?comp=x"),
        ("https://a.org/b?id=1&Access_Token=t", "https://a.org/b?id=1"),
    ],
)
def test_what_signs_an_address_is_left_out(address: str, kept: str) -> None:
    assert unsigned(address) == kept
    assert unsigned(kept) == kept
