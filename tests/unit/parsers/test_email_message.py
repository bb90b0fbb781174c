"""E-mails give headers, body and quoted messages as text; attachments are members."""

from __future__ import annotations

import time

import pytest
from tests.archives import build_mail
from tests.unit.parsers.test_containers import unpack

from spanwise.errors import ParseError
from spanwise.parsers.mail import parse_email
from spanwise.parsers.parsed import Parsed, Source


def parse(data: bytes) -> Parsed:
    return parse_email(Source(data=data, name="a.eml"))


def test_headers_are_text_and_fields() -> None:
    """The title is the subject; what a mail lacks is left out."""
    parsed = parse(
        build_mail(
            "Hello Bob.\n",
            Subject="Größe des Budgets",
            From="Ann Lee <ann@a.org>",
            To="Bob <bob@b.org>, carl@c.org",
            Date="Mon, 12 Feb 2018 10:00:00 +0100",
            Message_ID="<2@a.org>",
            In_Reply_To="<1@b.org>",
            References="<0@a.org> <1@b.org>",
        )
    )
    assert parsed.text == (
        "Größe des Budgets\n\n"
        "From: Ann Lee <ann@a.org>\nTo: Bob <bob@b.org>, carl@c.org\n"
        "Date: Mon, 12 Feb 2018 10:00:00 +0100\n\n"
        "Hello Bob."
    )
    assert parsed.title == "Größe des Budgets"
    assert parsed.media_type == "message/rfc822"
    assert parsed.metadata == {
        "author": "Ann Lee",
        "to": "Bob, carl@c.org",
        "date": "2018-02-12",
        "message_id": "2@a.org",
        "thread": "0@a.org",
    }
    assert [(one.level, one.title) for one in parsed.headings] == [(1, "Größe des Budgets")]


def test_a_message_that_begins_a_thread_names_it() -> None:
    """By its own id, so that the field is the same in the whole thread."""
    assert parse(build_mail("x", Message_ID="<1@a>")).metadata["thread"] == "1@a"
    assert parse(build_mail("x", Message_ID="<2@a>", In_Reply_To="<1@a>")).metadata["thread"] == (
        "1@a"
    )


def test_plain_text_goes_before_html() -> None:
    assert parse(build_mail("plain", html="<p>markup</p>", Subject="S")).text == "S\n\nplain"


def test_html_is_read_where_there_is_no_plain_text() -> None:
    """With its headings one level below the subject, and its tables."""
    html = "<h1>Terms</h1><p>text</p><table><tr><td>a</td><td>b</td></tr></table>"
    parsed = parse(build_mail(html=html, Subject="S"))
    assert parsed.text == "S\n\nTerms\n\ntext\n\na | b"
    assert [(one.level, one.title) for one in parsed.headings] == [(1, "S"), (2, "Terms")]
    (block,) = parsed.blocks
    assert parsed.text[block.start : block.end] == "a | b"


def test_quoted_messages_are_sections() -> None:
    """Each as deep as it is quoted; an attribution may be broken in two lines."""
    parsed = parse(
        build_mail(
            "Yes.\n\n"
            "On Sun, Feb 11, 2018, Bob wrote:\n> Is it?\n>\n"
            "> On Sat, Feb 10, 2018 at 1:00 PM Ann Lee <ann@a.org>\n> wrote:\n>> Maybe.\n",
            Subject="S",
        )
    )
    found = [(one.level, parsed.text[one.start : one.end], one.title) for one in parsed.headings]
    assert found == [
        (1, "S", "S"),
        (2, "On Sun, Feb 11, 2018, Bob wrote:", "On Sun, Feb 11, 2018, Bob wrote:"),
        (
            3,
            "> On Sat, Feb 10, 2018 at 1:00 PM Ann Lee <ann@a.org>\n> wrote:",
            "On Sat, Feb 10, 2018 at 1:00 PM Ann Lee <ann@a.org> wrote:",
        ),
    ]


def test_attachments_are_members_and_named_in_the_text() -> None:
    data = build_mail("body", attachments={"größe.md": b"# A", "../x.csv": b"a,b"}, Subject="S")
    parsed = parse(data)
    assert "Attachments: größe.md; x.csv" in parsed.text
    assert parsed.metadata["attachments"] == 2
    assert unpack(data, "a.eml").texts == {"größe.md": b"# A", "x.csv": b"a,b"}


def test_two_attachments_of_one_name_are_two_members() -> None:
    mail = build_mail("body", attachments={"a.txt": b"first", "b.txt": b"second"}, Subject="S")
    found = unpack(mail.replace(b"b.txt", b"a.txt"), "a.eml")
    assert found.texts == {"a.txt": b"first", "3-a.txt": b"second"}


def test_an_attached_message_is_a_member_and_no_part_of_the_text() -> None:
    inner = build_mail("inner body", Subject="Inner/subject", From="c@c.org")
    data = build_mail("outer body", messages=[inner], Subject="S")
    assert "inner body" not in parse(data).text
    (name, content), *others = unpack(data, "a.eml").texts.items()
    assert (name, others) == ("Inner subject.eml", [])
    assert parse(content).text.endswith("inner body")


RELATED = b"""Subject: S
MIME-Version: 1.0
Content-Type: multipart/related; boundary="r"

--r
Content-Type: text/html

<p>shown <img src="cid:1"></p>
--r
Content-Type: image/png
Content-ID: <1>

png
--r
Content-Type: application/pdf; name="scan.pdf"

pdf
--r--
"""


def test_pictures_that_the_body_shows_are_left_out() -> None:
    """What lies beside them without being shown is an attachment."""
    assert unpack(RELATED, "a.eml").texts == {"scan.pdf": b"pdf"}
    assert parse(RELATED).text == "S\n\nAttachments: scan.pdf\n\nshown"


def test_an_attachment_with_an_id_is_not_shown_inside() -> None:
    """Some programs give every part an id."""
    data = RELATED.replace(
        b'name="scan.pdf"',
        b'name="scan.pdf"\nContent-Disposition: attachment; filename="scan.pdf"\nContent-ID: <2>',
    )
    assert unpack(data, "a.eml").texts == {"scan.pdf": b"pdf"}


ALTERNATIVE = b"""Subject: S
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary="a"

--a
Content-Type: text/plain

See the file.
--a
Content-Type: multipart/mixed; boundary="m"

--m
Content-Type: text/html

<p>See the file.</p>
--m
Content-Type: text/csv; name="fees.csv"
Content-Disposition: inline; filename="fees.csv"

a,b
--m
Content-Type: text/html

<p>Regards</p>
--m--
--a--
"""


def test_attachments_in_an_alternative_that_is_not_read() -> None:
    """Apple Mail writes files between the parts of a formatted text."""
    assert unpack(ALTERNATIVE, "a.eml").texts == {"fees.csv": b"a,b"}
    assert parse(ALTERNATIVE).text == "S\n\nAttachments: fees.csv\n\nSee the file."


def test_signatures_of_programs_are_no_attachments() -> None:
    """Unlike a file that is called so."""
    data = build_mail("body", attachments={"signature.asc": b"x"}, Subject="S")
    assert list(unpack(data, "a.eml").texts) == ["signature.asc"]
    signed = data.replace(b"application/octet-stream", b"application/pgp-signature")
    assert unpack(signed, "a.eml").texts == {}
    assert "attachments" not in parse(signed).metadata


@pytest.mark.parametrize(
    ("content_type", "body", "text"),
    [
        ("text/plain; charset=x-bogus", "größe".encode(), "größe"),
        ("text/plain; charset=iso-8859-1", "größe".encode("latin-1"), "größe"),
        ("text/plain; charset=koi8-r", "привет".encode("koi8-r"), "привет"),
        (
            "text/plain; format=flowed",
            b"one \ntwo\n> a \n> b\n-- \nAnn",
            "one two\n> a b\n-- \nAnn",
        ),
        ("multipart/mixed", b"no boundary is named", "no boundary is named"),
        ('multipart/mixed; boundary="b"', b"no boundary follows", "no boundary follows"),
        ("nonsense", b"text", "text"),
    ],
)
def test_damaged_and_odd_bodies_are_read(content_type: str, body: bytes, text: str) -> None:
    head = b"Subject: S\nContent-Type: " + content_type.encode() + b"\n\n"
    assert parse(head + body).text == f"S\n\n{text}"


def test_headers_that_are_damaged_are_read() -> None:
    """Words that cannot be decoded stand as they are; long ones are cut; bytes may be anything."""
    parsed = parse(
        b"Subject: =?utf-8?q?caf=C3=A9?= =?x-none?q?=ff?=\nFrom: \xff\xfe <>,,;\nDate: never\n"
        b"To: " + b"a@b.org, " * 100_000 + b"\nMessage-ID: none\n\nbody"
    )
    assert "café" in parsed.text
    assert parsed.text.endswith("body")
    assert len(parsed.text) < 5_000
    assert not {"date", "message_id", "thread"}.intersection(parsed.metadata)


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Type: text/plain; charset*=u%00x''utf-8",
        b"Content-Disposition: inline; filename*=u%00x''a.txt",
        b"Content-Disposition: inline; filename*" + b"9" * 5_000 + b"*=a.txt",
        b"Content-Type: text/plain; a=" + b'"' + b";" * 20_000 + b'"',
        b"Content-Disposition: inline; filename*=a; filename*0*=a",
        b"From: " + b"(" * 5_000,
    ],
)
def test_headers_that_break_parsers_cost_nothing_else(head: bytes) -> None:
    """NULs, numbers without end, quotes and brackets that take quadratic time or recursion."""
    started = time.process_time()
    assert parse(head + b"\nSubject: S\n\nbody").text.endswith("\n\nbody")
    assert time.process_time() - started < 1


def test_parts_that_cannot_be_told_apart_are_an_error() -> None:
    with pytest.raises(ParseError) as caught:
        parse(b"Content-Type: multipart/mixed; boundary*=a; boundary*0*=a\n\n--a\n\ntext")
    assert caught.value.code == "corrupt"


def test_a_part_of_the_body_that_is_no_text_is_said() -> None:
    """The rest is read."""
    mail = b"Subject: S\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nread\n--b\n\n"
    parsed = parse(mail + bytes(range(32)) * 9 + b"\n--b--\n")
    assert (parsed.text, parsed.status) == ("S\n\nread", "partial")
    assert "a part of the body cannot be read" in parsed.warnings[0]


def test_parts_that_are_nested_for_ever_are_refused() -> None:
    depth = 3_000
    heads = b"".join(
        b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (n, n) for n in range(depth)
    )
    with pytest.raises(ParseError) as caught:
        parse(b"MIME-Version: 1.0\n" + heads + b"\ntext")
    assert caught.value.code == "corrupt"


def test_what_has_no_headers_is_no_mail() -> None:
    with pytest.raises(ParseError) as caught:
        parse(b"\n\njust text")
    assert caught.value.code == "corrupt"


def test_a_mail_without_a_body_has_its_headers() -> None:
    assert parse(build_mail("", Subject="S", From="a@b.org")).text == "S\n\nFrom: a@b.org"
