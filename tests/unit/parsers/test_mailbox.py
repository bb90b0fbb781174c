"""Each message of a mailbox is a member."""

from __future__ import annotations

from tests.archives import build_mail, build_mailbox
from tests.unit.parsers.test_containers import unpack


def mail(text: str, message_id: str = "") -> bytes:
    if message_id:
        return build_mail(text, Subject="S", From="a@b.org", Message_ID=f"<{message_id}>")
    return build_mail(text, Subject="S", From="a@b.org")


def test_messages_are_named_by_their_ids() -> None:
    """So that they keep them when others are deleted; else by number."""
    mails = [
        mail("one", "1@a.org"),
        mail("two"),
        mail("three", "3/x@a.org"),
        mail("4", ".hidden@a"),
    ]
    found = unpack(build_mailbox(mails), "a.mbox").texts
    assert list(found) == ["1@a.org.eml", "2.eml", "3%2Fx@a.org.eml", "4.eml"]
    assert list(unpack(build_mailbox(mails[2:]), "a.mbox").texts) == ["3%2Fx@a.org.eml", "2.eml"]
    assert [content.strip() for content in found.values()] == [one.strip() for one in mails]


def test_a_message_that_comes_twice_is_there_twice() -> None:
    found = unpack(build_mailbox([mail("one", "1@a"), mail("two", "1@a")]), "a.mbox").texts
    assert list(found) == ["1@a.eml", "2.eml"]


def test_an_id_that_is_a_number_takes_no_other_message() -> None:
    mails = [mail("one", "2"), mail("two"), mail("three", "2")]
    assert len(unpack(build_mailbox(mails), "a.mbox").texts) == 3


def test_lines_that_look_like_a_start_are_text() -> None:
    """Escaped, or without a header after them."""
    body = "From here on it is text\n\nFrom nowhere\nit came\n"
    (content,) = unpack(build_mailbox([mail(body)]), "a.mbox").texts.values()
    assert content.strip() == mail(body).strip()
    plain = build_mailbox([mail(body)]).replace(b">From", b"From")
    assert len(unpack(plain, "a.mbox").texts) == 1


def test_line_ends_of_windows() -> None:
    mails = build_mailbox([mail("one"), mail("two")]).replace(b"\n", b"\r\n")
    assert list(unpack(mails, "a.mbox").texts) == ["1.eml", "2.eml"]
