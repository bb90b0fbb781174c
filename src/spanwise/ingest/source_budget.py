"""Expansion budget of one source, counted over all containers nested in it.

Rules:
    1. A source is a named file, URL or object, or a file of a named folder. Everything in it counts
       against its budget at any depth: an archive of archives has one budget.
    2. Members, their unpacked bytes and the text of documents are counted. Bytes and text may be
       `max_expansion` times the size of the source; the first 20 MB are always allowed.
    3. The budget is read and changed in the order of the documents, in one thread. Documents that
       are read ahead are counted in their turn, so the outcome does not depend on timing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from spanwise.errors import FetchError
from spanwise.ingest.sources import MEMBER_MARK, Source
from spanwise.parsers.containers import Limit, UnpackBudget

if TYPE_CHECKING:
    from spanwise.errors import DocumentError
    from spanwise.options import ParseOptions
    from spanwise.parsers.containers import Unpacked
    from spanwise.types import Document


_FLOOR_BYTES = 20_000_000
"""Bytes and text that a source of any size may expand to."""
_REFUSED_BYTES = 20_000_000
"""Text bytes counted for a document rejected for its size, which took as long to read."""


@dataclass(slots=True, kw_only=True)
class SourceBudget:
    """Remaining limits of one source."""

    source: Source
    limits: ParseOptions
    members: int
    unpacked: Limit
    """Remaining bytes of members."""
    text: Limit
    """Remaining bytes of text."""

    @classmethod
    def of(cls, source: Source, path: Path, *, limits: ParseOptions) -> Self:
        """Return the full budget of a source.

        Args:
            source: Source of the documents.
            path: File with its bytes.
            limits: Configured limits.

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
        """Return why containers at this level are not opened; empty if they are.

        Args:
            level: Number of containers around them.
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
        """Reason why no more documents of the source are read; empty if they are."""
        if self.text.most > 0:
            return ""
        return f"the text of its documents reached the limit {self.text.option}"

    def text_limit(self) -> Limit:
        """Return the text limit of the next document."""
        return _lower(self.text, self.limits, "max_text_bytes")

    def spend_text(self, document: Document) -> None:
        """Count the text of a document."""
        text = document.text
        self.text = self.text.less(len(text) if text.isascii() else len(text.encode()))

    def spend_failure(self, error: DocumentError) -> None:
        """Count a document that was rejected for its size."""
        if error.code == "too_large":
            self.text = self.text.less(_REFUSED_BYTES)

    def spend_members(self, unpacked: Unpacked) -> None:
        """Count the members unpacked from a container."""
        self.members -= len(unpacked.members) + len(unpacked.lost)
        self.unpacked = self.unpacked.less(sum(member.bytes for member in unpacked.members))

    def for_container(self, folder: Path) -> UnpackBudget:
        """Return the budget for unpacking one container into a folder."""
        return UnpackBudget(
            into=folder,
            members=Limit(most=self.members, option=f"max_members={self.limits.max_members}"),
            unpacked=self.unpacked,
        )

    def pattern_path(self, member_id: str) -> str:
        """Return the path that patterns are matched against; containers are folders."""
        start = 0 if self.source.from_folder else len(self.source.document_id + MEMBER_MARK)
        return member_id[start:].replace(MEMBER_MARK, "/")


def _lower(limit: Limit, limits: ParseOptions, option: str) -> Limit:
    """Return the lower of a limit and an option."""
    most: int = getattr(limits, option)
    return limit if limit.most <= most else Limit(most=most, option=f"{option}={most}")
