"""Small writers of archives, mails and mailboxes, so that tests make what they read."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping, Sequence
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

__all__ = ["build_mail", "build_mailbox", "build_tar", "encrypt_members"]


def build_tar(files: Mapping[str, bytes | str], *, mode: str = "w") -> bytes:
    """Return a tar file; a text is the target of a symbolic link.

    Args:
        files: Members by name.
        mode: As `tarfile.open` has it: "w:gz" and the like.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def encrypt_members(archive: bytes) -> bytes:
    """Return a ZIP file whose members say that they need a password."""
    data = bytearray(archive)
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(signature)
        while at >= 0:
            data[at + flags] |= 1
            at = data.find(signature, at + 4)
    return bytes(data)


def build_mail(
    body: str = "",
    *,
    html: str = "",
    attachments: Mapping[str, bytes] | None = None,
    messages: Sequence[bytes] = (),
    **headers: str,
) -> bytes:
    """Return a mail.

    Args:
        body: Plain text; none where it is empty.
        html: The same as HTML.
        attachments: By name.
        messages: Mails that are attached as such.
        headers: By name, "_" for "-".
    """
    mail = EmailMessage()
    for name, value in headers.items():
        mail[name.replace("_", "-")] = value
    if body or not html:
        mail.set_content(body)
        if html:
            mail.add_alternative(html, subtype="html")
    else:
        mail.set_content(html, subtype="html")
    for name, data in (attachments or {}).items():
        mail.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    for message in messages:
        mail.add_attachment(message_from_bytes(message, policy=default))
    return mail.as_bytes()


def build_mailbox(mails: Sequence[bytes]) -> bytes:
    """Return mails in the mbox format."""
    parts = []
    for mail in mails:
        lines = mail.split(b"\n")
        escaped = [
            b">" + line if line.lstrip(b">").startswith(b"From ") else line for line in lines
        ]
        parts.append(b"From a@b.org Mon Jan  1 00:00:00 2018\n" + b"\n".join(escaped) + b"\n")
    return b"\n".join(parts)
