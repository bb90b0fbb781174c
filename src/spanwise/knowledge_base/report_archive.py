"""Archive of the evaluation reports of a knowledge base.

The files are in a folder next to the knowledge base (`reports.kb.evaluations`), so that the folder
of the knowledge base has its own files only. A report in the archive has figures, comparisons, and
the value of each question. It has no text of documents and no paths, because the server sends it to
browsers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanwise.knowledge_base.internals import folder_of
from spanwise.stores.disk import replace_file
from spanwise.types.plain import PlainForm

if TYPE_CHECKING:
    from spanwise.knowledge_base.facade import KnowledgeBase

_FORMAT = "spanwise-archived-report-1"
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,120}")
_SUFFIX = ".json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedReport(PlainForm):
    """Description of a report in the archive."""

    name: str
    """Name of the report, unique in its knowledge base."""
    created_at: str
    """Time at which the report was added, in UTC."""
    datasets: tuple[str, ...]
    """Names of the question files."""
    questions: int
    """Number of questions."""
    retrievers: tuple[str, ...]
    """Names of the methods; each is compared with the first one."""
    budgets: tuple[int, ...]
    """Budgets in tokens, ascending."""
    metric: str
    """Name of the main metric."""


@dataclass(frozen=True, slots=True)
class ReportArchive:
    """Reports of one knowledge base on disk."""

    folder: Path

    @classmethod
    def of(cls, base: KnowledgeBase) -> ReportArchive | None:
        """Return the archive of a knowledge base; None if it is no folder on disk."""
        folder = folder_of(base)
        return None if folder is None else cls(folder.with_name(f"{folder.name}.evaluations"))

    def add(self, report: Mapping[str, Any], *, created_at: datetime) -> ArchivedReport:
        """Add a report, and return its description.

        Args:
            report: JSON data with the fields of `ArchivedReport`, and others.
            created_at: Time of the report.

        Raises:
            OSError: If the file cannot be written.
        """
        moment = created_at.astimezone(UTC)
        data = {"format": _FORMAT, "created_at": f"{moment:%Y-%m-%dT%H:%M:%SZ}", **report}
        words = re.sub(r"[^0-9a-z]+", "-", Path(report["datasets"][0]).stem.lower())
        first = f"{moment:%Y-%m-%dT%H-%M-%SZ}-{words.strip('-')[:60]}".rstrip("-")
        self.folder.mkdir(mode=0o700, exist_ok=True)
        name, number = first, 1
        while (self.folder / f"{name}{_SUFFIX}").exists():
            number += 1
            name = f"{first}-{number}"
        path = self.folder / f"{name}{_SUFFIX}"
        replace_file(path, json.dumps(data, allow_nan=False, separators=(",", ":")).encode())
        return _described(name, data)

    def list(self, *, offset: int = 0, limit: int = 100) -> tuple[list[ArchivedReport], int]:
        """Return descriptions of reports, newest first, and the number of all reports.

        A file that is not a report is left out of the descriptions.

        Raises:
            OSError: If the folder cannot be read.
        """
        if not self.folder.is_dir():
            return [], 0
        names = sorted((path.stem for path in self.folder.glob(f"*{_SUFFIX}")), reverse=True)
        found = []
        for name in names[offset : offset + limit]:
            data = self.read(name)
            if data is not None:
                found.append(_described(name, data))
        return found, len(names)

    def read(self, name: str) -> dict[str, Any] | None:
        """Return a report as JSON data; None if there is no report with this name.

        Raises:
            OSError: If the file cannot be read.
        """
        if not _NAME.fullmatch(name):
            return None
        try:
            data = json.loads((self.folder / f"{name}{_SUFFIX}").read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        is_report = isinstance(data, dict) and data.get("format") == _FORMAT
        return {"name": name, **data} if is_report else None


def _described(name: str, data: dict[str, Any]) -> ArchivedReport:
    return ArchivedReport(
        name=name,
        created_at=data["created_at"],
        datasets=tuple(data["datasets"]),
        questions=len(data["questions"]),
        retrievers=tuple(data["retrievers"]),
        budgets=tuple(data["budgets"]),
        metric=data["metric"]["name"],
    )
