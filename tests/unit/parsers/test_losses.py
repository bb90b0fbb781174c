"""What cannot be read is said, and what can be is kept."""

from __future__ import annotations

import pytest

from spanwise.errors import ParseError
from spanwise.parsers.parsed import Losses, Source

SOURCE = Source(data=b"", name="a")


def test_damage_is_noted_and_other_errors_pass() -> None:
    """Limits and passwords concern the whole document."""
    losses = Losses(SOURCE)
    with losses.noted("slide 3"):
        raise SOURCE.error("corrupt", "its part x is missing")
    assert losses.status == "partial"
    assert losses.warnings == ("slide 3 could not be read completely: its part x is missing",)
    with pytest.raises(ParseError) as caught, losses.noted("slide 4"):
        raise SOURCE.error("too_large", "it is")
    assert caught.value.code == "too_large"


def test_document_without_text_is_refused_for_its_first_damage() -> None:
    """Else for having none."""
    losses = Losses(SOURCE)
    losses.require_text("text", "")
    losses.add("a formula is missing")
    with pytest.raises(ParseError, match="a: are its pages pictures\\?; a formula is") as caught:
        losses.require_text("", "are its pages pictures?")
    assert caught.value.code == "no_text"
    with losses.noted("x"):
        raise SOURCE.error("corrupt", "first")
    with losses.noted("y"):
        raise SOURCE.error("corrupt", "second")
    with pytest.raises(ParseError, match="first"):
        losses.require_text("", "")


def test_many_losses_are_counted() -> None:
    """A thousand sheets may each miss something."""
    losses = Losses(SOURCE)
    for number in range(103):
        losses.add(f"sheet {number}")
    assert len(losses.warnings) == 101
    assert losses.warnings[-1] == "and 3 more"
