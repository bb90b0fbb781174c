"""What one source may expand to, counted over all containers that are nested in it.

Rules
    1. A source is what was named, or lies in a folder that was named. All that is in it counts for
       it, at whatever depth: an archive of archives has one budget.
    2. Members, their unpacked bytes and the text of documents are counted. Bytes and text may be
       `max_expansion` times as large as the source; the first 20 MB are always allowed.
    3. The budget is read and changed in the order of the documents, in one thread. The documents
       that are read ahead are counted when it is their turn, so that the outcome does not depend
       on time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from spanwise.errors import FetchError
from spanwise.ingest.sources import MEMBER_MARK, Source
from spanwise.parsers.containers import UnpackBudget
from spanwise.parsers.expansion import Limit

if TYPE_CHECKING:
    from spanwise.errors import DocumentError
    from spanwise.options import ParseOptions
    from spanwise.parsers.containers import Unpacked
    from spanwise.types import Document


_FLOOR_BYTES = 20_000_000
"""Bytes and text that a source of any size may expand to."""
_REFUSED_BYTES = 20_000_000
"""Text that a document counts for which is refused for its size: reading it took as long."""


@dataclass(slots=True, kw_only=True)
class SourceBudget:
    """What is left of the limits of one source."""

    source: Source
    limits: ParseOptions
    members: int
    unpacked: Limit
    """Bytes of members that are left."""
    text: Limit
    """Bytes of text that are left."""

    @classmethod
    def of(cls, source: Source, path: Path, *, limits: ParseOptions) -> Self:
        """Return the whole budget of a source.

        Args:
            source: The source.
            path: Its bytes, which say how large it is.
            limits: The limits.

        Raises:
            FetchError: If the file cannot be read.
        """
        try:
            size = path.stat().st_size
        except OSError as exc:
            raise FetchError(
                f"{source.location}: {exc.strerror or exc}; check the path and its permissions",
                source=source.location,
                code="unreadable",
            ) from exc
        expanded = Limit(
            most=max(_FLOOR_BYTES, limits.max_expansion * size),
            option=f"max_expansion={limits.max_expansion} for a source of {size} bytes",
        )
        return cls(
            source=source,
            limits=limits,
            members=limits.max_members,
            unpacked=_lower(expanded, limits, "max_container_bytes"),
            text=_lower(expanded, limits, "max_total_text_bytes"),
        )

    def closed(self, level: int) -> str:
        """Return why no container at this level is opened; empty where it is opened.

        Args:
            level: How many containers it is in.
        """
        if level >= self.limits.max_nesting:
            return f"it is a container in max_nesting={self.limits.max_nesting} others, or more"
        if self.members <= 0:
            return f"max_members={self.limits.max_members} of the container it is in was reached"
        if self.unpacked.most <= 0:
            return f"the limit of the container it is in was reached: {self.unpacked.option}"
        return self.exhausted

    @property
    def exhausted(self) -> str:
        """Why no document of the source is read any more; empty where they are read."""
        if self.text.most > 0:
            return ""
        return f"the text of its documents reached the limit {self.text.option}"

    def text_limit(self) -> Limit:
        """Return what the text of the next document may have."""
        return _lower(self.text, self.limits, "max_text_bytes")

    def spend_text(self, document: Document) -> None:
        """Count the text of a document."""
        text = document.text
        self.text = self.text.less(len(text) if text.isascii() else len(text.encode()))

    def spend_failure(self, error: DocumentError) -> None:
        """Count a document that could not be read, where that was for its size."""
        if error.code == "too_large":
            self.text = self.text.less(_REFUSED_BYTES)

    def spend_members(self, unpacked: Unpacked) -> None:
        """Count what was taken out of one of its containers."""
        self.members -= len(unpacked.members) + len(unpacked.lost)
        self.unpacked = self.unpacked.less(sum(member.bytes for member in unpacked.members))

    def for_container(self, folder: Path) -> UnpackBudget:
        """Return what one of its containers, or it itself, may take in a folder."""
        return UnpackBudget(
            into=folder,
            members=Limit(most=self.members, option=f"max_members={self.limits.max_members}"),
            unpacked=self.unpacked,
        )

    def pattern_path(self, member_id: str) -> str:
        """Return what patterns are matched against: containers are folders."""
        start = 0 if self.source.from_folder else len(self.source.document_id + MEMBER_MARK)
        return member_id[start:].replace(MEMBER_MARK, "/")


def _lower(limit: Limit, limits: ParseOptions, option: str) -> Limit:
    """Return the lower one of a limit and an option."""
    most: int = getattr(limits, option)
    return limit if limit.most <= most else Limit(most=most, option=f"{option}={most}")
