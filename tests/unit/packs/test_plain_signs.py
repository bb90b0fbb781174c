"""Replacement of typographic signs."""

from __future__ import annotations

import pytest

from spanwise.packs.plain_signs import DASHES, DASHES_AND_QUOTES, with_plain_signs


@pytest.mark.parametrize("signs", [DASHES, DASHES_AND_QUOTES])
def test_each_sign_becomes_its_plain_form(signs: dict[str, str]) -> None:
    text = "a\u2010b \u2014 \u201cc\u201d \u2018d\u2019s \u2033 é \U0001f600"
    assert with_plain_signs(text, signs) == text.translate(
        {ord(sign): plain for sign, plain in signs.items()}
    )


def test_no_replacement_is_replaced_again() -> None:
    assert DASHES_AND_QUOTES.keys().isdisjoint(DASHES_AND_QUOTES.values())


def test_quotes_stay_where_only_dashes_are_replaced() -> None:
    assert with_plain_signs("“a”–b", DASHES) == "“a”-b"
