"""Members of a container (archive, mailbox, e-mail), extracted to a folder with limits.

Rules
    1. A member is written to a file whose name is a number. Its own name is only an id, so that
       "../x" is harmless. Of members with the same name the last is used, as unpackers do.
    2. Bytes are counted while they are written; declared sizes are not trusted.
    3. A fault of one member loses that member. A fault of the container, or a limit on all members,
       loses the members after it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from spanwise.core.text.file_names import name_to_id
from spanwise.errors import DocumentErrorCode, FetchError, ParseError
from spanwise.parsers.parsed import Source, Step

MAX_RATIO = 1000
"""Ratio of unpacked to packed bytes that ordinary files stay below."""

_FLOOR_BYTES = 50_000_000
"""Size up to which the ratio is not checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Limit on members or bytes, or the part of it that is still available."""

    most: int
    """Largest allowed number."""
    option: str
    """Option that sets the limit, with its value, for error messages."""

    def less(self, count: int) -> Self:
        """Return the limit minus a used count; at least 0."""
        return replace(self, most=max(0, self.most - count))


def is_bomb(size: int, *, packed_bytes: int) -> bool:
    """Return whether data that unpacks to `size` bytes is a decompression bomb."""
    return size > _FLOOR_BYTES and size > MAX_RATIO * packed_bytes


_MAX_NAME_CHARS = 500
_CONTROLS = re.compile("[\x00-\x1f\x7f]")


class ContainerError(ParseError):
    """A source contains documents and is not a document itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Member that was written to the folder."""

    name: str
    """Sanitised name, the end of the id: a path with "/" between parts, unique in the container."""
    file_name: str
    """Name of its file in the folder."""
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LostMember:
    """Member that could not be extracted."""

    name: str
    code: DocumentErrorCode
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpackBudget:
    """Target folder of the members, and limits on their number and total size."""

    into: Path
    members: Limit
    unpacked: Limit
    """Limit on the total unpacked size of the members, in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """Members of a source."""

    is_container: bool
    is_document: bool = True
    """Whether the source has a text of its own."""
    members: tuple[Member, ...] = ()
    lost: tuple[LostMember, ...] = ()
    remarks: tuple[str, ...] = ()
    """Messages about members that were left out or renamed."""
    stopped: LostMember | None = None
    """Cause of an early stop of the extraction, with "" as `name`; None if it was complete."""


class _StoppedError(Exception):
    """A limit on the whole container is reached."""


@dataclass(slots=True, kw_only=True)
class MemberFolder:
    """Container that a reader extracts, and the members that it extracted so far."""

    path: Path
    """Path of the container."""
    source: Source
    """Container with its bytes, for formats that are not read as a stream."""
    budget: UnpackBudget
    max_member_bytes: int
    is_document: bool
    """Whether the container has a text of its own."""
    _members: dict[str, Member] = field(default_factory=dict)
    _lost: dict[str, LostMember] = field(default_factory=dict)
    _remarks: Counter[str] = field(default_factory=Counter)
    _written: int = 0
    _entries: int = 0

    def filled_by(self, unpack: Callable[[MemberFolder], None]) -> Unpacked:
        """Return the members that a reader extracts.

        Raises:
            ParseError: If it extracts nothing, because the container cannot be read.
            FetchError: If the folder cannot be written.
        """
        stopped = None
        try:
            unpack(self)
        except _StoppedError as exc:
            stopped = LostMember(name="", code="too_large", cause=str(exc))
        except ParseError as error:
            if not self._members:
                raise
            cause = str(error).removeprefix(f"{self.source.name}: ")
            stopped = LostMember(name="", code=error.code, cause=cause)
        if not (self._members or self._lost or stopped or self.is_document):
            self.remark("it has no members")
        return Unpacked(
            is_container=True,
            is_document=self.is_document,
            members=tuple(self._members.values()),
            lost=tuple(lost for name, lost in self._lost.items() if name not in self._members),
            remarks=tuple(f"{remark} ({number})" for remark, number in self._remarks.items()),
            stopped=stopped,
        )

    def take(self, name: str, pieces: Iterable[bytes], *, packed_bytes: int | None = None) -> None:
        """Write one member; a damaged or too large one is recorded as lost.

        Args:
            name: Name in the container; sanitised here.
            pieces: Bytes of the member; raises ParseError if they are damaged.
            packed_bytes: Packed size of the member; None to use the size of the container.
        """
        self._count()
        cleaned = self._clean(name)
        if cleaned in self._members:
            self.remark("of several members with one name only the last was read")
            (self.budget.into / self._members.pop(cleaned).file_name).unlink()
        file = self.budget.into / str(self._entries)
        packed = len(self.source.data) if packed_bytes is None else packed_bytes
        try:
            size = self._write(file, pieces, packed_bytes=packed)
        except ParseError as error:
            file.unlink()
            cause = str(error).removeprefix(f"{self.source.name}: ")
            self._lost[cleaned] = LostMember(name=cleaned, code=error.code, cause=cause)
        except OSError as exc:
            raise FetchError(
                f"{self.source.name}: its members cannot be written to {self.budget.into.parent}: "
                f"{exc.strerror or exc}; make room there, or set TMPDIR to a larger disk",
                source=self.source.name,
                code="unreadable",
            ) from exc
        else:
            self._members[cleaned] = Member(name=cleaned, file_name=file.name, bytes=size)

    def _count(self) -> None:
        self._entries += 1
        limit = self.budget.members
        if self._entries > limit.most:
            raise _StoppedError(
                f"it has more than the {limit.most} members that are left of {limit.option}; "
                "raise that limit, or unpack it and add the folder"
            )

    def _write(self, file: Path, pieces: Iterable[bytes], *, packed_bytes: int) -> int:
        size = 0
        with file.open("wb") as stream:
            for piece in pieces:
                size += len(piece)
                self._written += len(piece)
                limit = self.budget.unpacked
                if self._written > limit.most:
                    raise _StoppedError(
                        f"its members have more than the {limit.most} bytes that are left of "
                        f"{limit.option}; raise that limit, or unpack it and add the folder"
                    )
                self._check_size(size, packed_bytes)
                stream.write(piece)
        self.source.on_step(Step.of_bytes(self._written))
        return size

    def _check_size(self, size: int, packed_bytes: int) -> None:
        if size > self.max_member_bytes:
            raise self.source.error(
                "too_large", f"it has more than max_file_bytes={self.max_member_bytes} bytes"
            )
        if is_bomb(size, packed_bytes=packed_bytes):
            raise self.source.error(
                "too_large",
                f"it unpacks to more than {MAX_RATIO} times its size, which suggests an attack",
            )

    def lose(self, name: str, code: DocumentErrorCode, cause: str) -> None:
        """Record a member that cannot be extracted."""
        self._count()
        cleaned = self._clean(name)
        self._lost[cleaned] = LostMember(name=cleaned, code=code, cause=cause)

    def leave_out(self, remark: str = "") -> None:
        """Skip an entry that is not a member, such as a folder; record the remark, if any."""
        self._count()
        if remark:
            self.remark(remark)

    def remark(self, remark: str) -> None:
        """Count a remark for users."""
        self._remarks[remark] += 1

    def _clean(self, name: str) -> str:
        """Return a name as the end of an id: relative, below the container, on one line."""
        parts = [part for part in name.split("/") if part not in ("", ".")]
        inside = [part for part in parts if part != ".."]
        if len(inside) < len(parts) or name.startswith("/"):
            self.remark("names of members pointed outside of the container and were shortened")
        joined = _CONTROLS.sub(lambda found: f"%{ord(found.group()):02X}", "/".join(inside))
        cleaned = name_to_id(joined) or "unnamed"
        if len(cleaned) > _MAX_NAME_CHARS:
            self.remark(f"names of members were cut to their last {_MAX_NAME_CHARS} characters")
        return cleaned[-_MAX_NAME_CHARS:].lstrip("/")
